#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/nats_run.h"

namespace mqlab::sim::nats {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

const std::string observer = "[[observers]]\nname = \"o\"\ntopic = \"s\"\n";

std::vector<MessageId> up_to(MessageId n) {
  std::vector<MessageId> ids;
  for (MessageId id = 1; id <= n; ++id) ids.push_back(id);
  return ids;
}

TEST(NatsOrdered, EachReaderGetsEverythingInOrder) {
  ScenarioRun run(system(
      "", "ordered = true", "", "",
      "[[stages]]\nname = \"d\"\nmodule = \"consumer\"\ninput = \"s\"\nconsumer = { ordered = true }\n" +
          observer));
  run.script("p", publisher(20));
  for (const char* name : {"c-0", "d-0"}) run.script(name, consumer(3, ack));
  run.run();
  for (const char* name : {"c-0", "d-0", "o"})
    EXPECT_THAT(run.delivered(name), ElementsAreArray(up_to(20))) << name;
  EXPECT_TRUE(run.quiet());
  EXPECT_EQ(run.committed(), -1);  // nothing durable to look into
}

/// The first message that comes of a creation is lost.
const std::string loss =
    "[[fault]]\nat = { process = \"c-0\", step = \"request.pull\" }\naction = \"drop_response\"\n";

TEST(NatsOrdered, AMissingMessageIsNoticedByTheNextOne) {
  ScenarioRun run(system("", "ordered = true", "", "", loss));
  run.script("p", steady(), tenths(5));
  run.script("c-0", consumer(1, ack));
  EXPECT_EQ(run.run().faults_fired(), 1u);
  EXPECT_THAT(run.delivered("c-0"), ElementsAreArray(up_to(5)));
  EXPECT_NEAR(at(run.rows(Kind::deliver, "c-0")[0]), at(run.rows(Kind::publish, Phase::ok)[1]), 0.01);
  EXPECT_TRUE(run.quiet());
}

TEST(NatsOrdered, TheLastOneMissingIsNoticedByAHeartbeat) {
  ScenarioRun run(system("", "ordered = true", "", "", loss));
  run.script("p", publisher(1));
  run.script("c-0", consumer(1, ack));
  EXPECT_EQ(run.run().faults_fired(), 1u);
  EXPECT_THAT(run.delivered("c-0"), ElementsAreArray(up_to(1)));
  EXPECT_NEAR(at(run.rows(Kind::deliver, "c-0")[0]), 5, 0.1);
  EXPECT_TRUE(run.quiet());
}

TEST(NatsOrdered, AfterAReconnectItGoesOnBehindTheLastGoodOne) {
  ScenarioRun run(
      system("", "ordered = true", "", "",
             "[[fault]]\nat = \"300ms\"\naction = \"kill\"\ntarget = \"nats-1\"\nheal = \"2s\"\n" + loss));
  run.script("p", steady(), tenths(50));
  run.script("c-0", consumer(10, ack));
  EXPECT_EQ(run.run().faults_fired(), 2u);
  EXPECT_THAT(run.delivered("c-0"), ElementsAreArray(up_to(50)));
}

TEST(NatsOrdered, SurvivesARestartOfTheServer) {
  ScenarioRun run(
      system("", "ordered = true", "", "",
             "[[fault]]\nat = \"300ms\"\naction = \"kill\"\ntarget = \"nats-1\"\nheal = \"2s\"\n"));
  run.script("p", steady(), tenths(50));
  run.script("c-0", consumer(10, ack));
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAreArray(up_to(50)));
  EXPECT_THAT(run.stored(), ElementsAreArray(up_to(50)));
}

// State is the client's: a new process reads from the start.
TEST(NatsOrdered, ARestartedReaderBeginsAnew) {
  ScenarioRun run(system("", "ordered = true", "", "",
                         "[[fault]]\nat = \"3s\"\naction = \"kill\"\ntarget = \"c-0\"\nheal = \"1s\"\n"));
  run.script("p", publisher(3));
  run.script("c-0", consumer(1, ack));
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1, 2, 3, 1, 2, 3));
}

// It begins when the process subscribes, so one that was away misses what came meanwhile.
TEST(NatsOrdered, DeliverPolicyNewSkipsWhatIsThere) {
  ScenarioRun run(system("", "ordered = true, deliver_policy = \"new\"", "", "",
                         "[[fault]]\nat = \"300ms\"\naction = \"kill\"\ntarget = \"c-0\"\nheal = \"1s\"\n"));
  MessageId id = 0;
  run.script("p",
             [&](const Now&, const Event& e, Effects& effects) {
               if (e.kind == EventKind::tick) effects.publish(0, message(++id));
             },
             {Duration::millis(100), Duration::millis(500), Duration::seconds(3)});
  run.script("c-0", consumer(1, ack));
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1, 3));
}

}  // namespace
}  // namespace mqlab::sim::nats
