// A topic that gets more partitions while it is in use: who learns of them when, and what that does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/scenario/error.h"
#include "tests/sim/scenario_run.h"

namespace mqlab::sim::kafka {
namespace {

using testing::SizeIs;

struct Shape {
  std::string flavour = "librdkafka", reset = "earliest", consumer = {}, faults = {};
  std::string refresh = flavour == "java" ? "metadata.max.age.ms" : "topic.metadata.refresh.interval.ms";
};
/// 200 messages of 20 keys, from 1 s to 3 s, to two partitions, and two more after half a second. The
/// producer looks each 200 ms, the group each second.
std::string growing(const Shape& s) {
  return R"(
name = "growing"
[broker]
kind = "kafka"
version = "4.1"
[broker.properties]
"group.initial.rebalance.delay.ms" = 0
"group.min.session.timeout.ms" = 1000
[client]
flavour = ")" +
         s.flavour + R"("
[[topics]]
name = "requests"
partitions = 2
more_partitions = 2
[workload]
name = "p"
topic = "requests"
rate = "100/s"
messages = 200
keys = { kind = "round_robin", count = 20 }
producer = { "linger.ms" = 0, ")" +
         s.refresh + R"(" = 200 }
[[stages]]
name = "worker"
module = "consumer"
instances = 2
input = "requests"
[stages.consumer]
"auto.offset.reset" = ")" +
         s.reset + R"("
"enable.auto.commit" = false
")" + s.refresh +
         R"(" = 1000
)" + s.consumer +
         R"(
[[observers]]
name = "all"
topic = "requests"
[observers.consumer]
")" + s.refresh +
         R"(" = 1000
[claims]
no_loss = { of = "requests", in = "requests" }
)" + s.faults;
}
const std::string at_1500ms =
    "[[fault]]\nat = \"1500ms\"\naction = \"add_partitions\"\ntarget = \"requests\"\n";
const std::string short_session = "\"session.timeout.ms\" = 2000\n\"heartbeat.interval.ms\" = 200\n";

bool in_new(const Row& row) { return row.place >= 2 && row.place < 4; }
std::vector<Row> in_new_places(const std::vector<Row>& rows) {
  std::vector<Row> found;
  std::ranges::copy_if(rows, std::back_inserter(found), in_new);
  return found;
}
std::set<MessageId> ids(const std::vector<Row>& rows) {
  std::set<MessageId> found;
  for (const Row& row : rows) {
    if (row.message != 0) found.insert(row.message);
  }
  return found;
}

TEST(KafkaGrowth, TheProducerWritesThereFromItsNextLookOn) {
  ScenarioRun run(growing({.faults = at_1500ms}));
  run.run();
  const auto stored = in_new_places(run.rows(Kind::publish, Phase::ok));
  ASSERT_FALSE(stored.empty());
  EXPECT_GT(stored.front().time, 1'500'000'000);
  EXPECT_LT(stored.front().time, 1'800'000'000);
  EXPECT_THAT(run.rows(Kind::fault), SizeIs(1));
  EXPECT_THAT(run.rows(Kind::heal), SizeIs(0));
}

TEST(KafkaGrowth, WhatIsWrittenBeforeTheGroupLooksIsReadFromEarliest) {
  ScenarioRun run(growing({.consumer = short_session, .faults = at_1500ms}));
  run.run();
  EXPECT_THAT(ids(run.rows(Kind::handle)), SizeIs(200));
  const auto read = in_new_places(run.rows(Kind::deliver, "worker-0"));
  const auto too = in_new_places(run.rows(Kind::deliver, "worker-1"));
  EXPECT_GT(read.size() + too.size(), 50u);
}

TEST(KafkaGrowth, FromLatestItIsLost) {
  ScenarioRun run(growing({.reset = "latest", .consumer = short_session, .faults = at_1500ms}));
  run.run();
  const std::set<MessageId> handled = ids(run.rows(Kind::handle));
  EXPECT_LT(handled.size(), 200u);
  for (const Row& row : run.rows(Kind::publish, Phase::ok)) {
    EXPECT_TRUE(handled.contains(row.message) || in_new(row)) << row.message;
  }
}

TEST(KafkaGrowth, AnObserverReadsAllPartitions) {
  ScenarioRun run(growing({.faults = at_1500ms}));
  run.run();
  EXPECT_THAT(ids(run.rows(Kind::deliver, "all")), SizeIs(200));
}

TEST(KafkaGrowth, JavasGroupJoinsAnewWhenItsLeaderKnows) {
  ScenarioRun run(growing({.flavour = "java", .consumer = short_session, .faults = at_1500ms}));
  run.run();
  EXPECT_THAT(ids(run.rows(Kind::handle)), SizeIs(200));
  EXPECT_GT(in_new_places(run.rows(Kind::deliver)).size(), 50u);
}

TEST(KafkaGrowth, TheConsumerProtocolsCoordinatorAssignsThemItself) {
  ScenarioRun run(growing({.consumer = "\"group.protocol\" = \"consumer\"\n", .faults = at_1500ms}));
  run.run();
  EXPECT_THAT(ids(run.rows(Kind::handle)), SizeIs(200));
  EXPECT_GT(in_new_places(run.rows(Kind::deliver, "worker-0")).size() +
                in_new_places(run.rows(Kind::deliver, "worker-1")).size(),
            50u);
}

TEST(KafkaGrowth, WhatWasNeverAddedIsEmptyAndOnceAddedItIsThere) {
  for (const bool twice : {false, true}) {
    ScenarioRun run(growing({.faults = twice ? at_1500ms + at_1500ms : ""}));
    run.run();
    EXPECT_THAT(run.rows(Kind::audit_end), SizeIs(4));
    EXPECT_EQ(in_new_places(run.rows(Kind::audit)).empty(), !twice);
    EXPECT_THAT(run.rows(Kind::fault), SizeIs(twice ? 1 : 0));
    const auto quiet = run.rows(Kind::quiet);
    ASSERT_THAT(quiet, SizeIs(1));
    EXPECT_EQ(quiet[0].phase, Phase::ok);
  }
}

TEST(KafkaGrowth, WhatCannotGrowIsSaid) {
  const auto problem = [](const std::string& target) -> std::string {
    try {
      ScenarioRun run(growing(
          {.faults = "[[fault]]\nat = \"1s\"\naction = \"add_partitions\"\ntarget = \"" + target + "\"\n"}));
      return "";
    } catch (const ScenarioError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(problem("requests"), "");
  EXPECT_THAT(problem("worker"), testing::HasSubstr("no topic with more_partitions"));
}

}  // namespace
}  // namespace mqlab::sim::kafka
