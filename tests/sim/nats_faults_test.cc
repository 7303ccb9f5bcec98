// Faults of old versions, each found there and absent in the version that mended it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/nats_run.h"

namespace mqlab::sim::nats {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

std::string fault(const std::string& time, const std::string& action, const std::string& target,
                  const std::string& heal) {
  return "[[fault]]\nat = \"" + time + "\"\naction = \"" + action + "\"\ntarget = \"" + target +
         "\"\nheal = \"" + heal + "\"\n";
}
std::string cluster(const std::string& version, const std::string& properties = "") {
  return "nodes = 3\nversion = \"" + version + "\"\nproperties = { sync_interval = \"always\"" + properties +
         " }";
}

/// How many of 20 seeds lose something that was acknowledged.
int losses(const std::string& broker, const std::string& faults, const Script& publishes,
           const std::vector<Duration>& ticks) {
  int lost = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ScenarioRun run(system("replicas = 3", "", "ack_timeout = \"1s\"", broker, faults));
    run.script("p", publishes, ticks);
    run.script("c-0", silent());
    run.run(seed);
    const auto stored = run.stored();
    for (const MessageId id : run.acked()) {
      if (std::ranges::find(stored, id) != stored.end()) continue;
      ++lost;
      break;
    }
  }
  return lost;
}

/// One message every 100 ms; what is not acknowledged is tried again after a while.
Script patient() {
  return [](const Now& now, const Event& e, Effects& effects) {
    const auto id = static_cast<MessageId>(now.mono.ns / 100'000'000);
    if (e.kind == EventKind::tick) effects.publish(0, message(id));
    for (const Settlement& s : e.settlements) {
      if (s.of == Kind::publish && s.outcome != Outcome::ok) effects.publish(0, message(s.message));
    }
  };
}

TEST(NatsFaults, KilledServersForgetAStreamUntil21023) {
  const std::string kills = fault("2s", "kill", "nats-1", "1s") + fault("2s", "kill", "nats-2", "1s");
  EXPECT_GT(losses(cluster("2.10.22"), kills, publisher(5), {}), 5);
  EXPECT_EQ(losses(cluster("2.10.23"), kills, publisher(5), {}), 0);
  EXPECT_EQ(losses(cluster("2.10.19"), kills, publisher(5), {}), 0);
  const std::string one = fault("2s", "kill", "nats-1", "1s");
  EXPECT_EQ(losses(cluster("2.10.22"), one, publisher(5), {}), 0) << "the others know";
}

TEST(NatsFaults, AMinoritysLeaderRemovesTheOthersUntil2123) {
  const std::string cut =
      "[[fault]]\nat = \"2s\"\naction = \"partition\"\nbetween = [\"nats-1\", \"nats-2,nats-3\"]\nheal = "
      "\"15s\"\n";
  const std::string remove = ", peer_remove_after = \"2s\"";
  EXPECT_GT(losses(cluster("2.12.2", remove), cut, patient(), tenths(100)), 2);
  EXPECT_EQ(losses(cluster("2.12.3", remove), cut, patient(), tenths(100)), 0);
  EXPECT_EQ(losses(cluster("2.12.2"), cut, patient(), tenths(100)), 0) << "nobody removes anything";
}

// persist_mode = "async": answered first, written within 8 ms.
TEST(NatsFaults, WhatIsWrittenLaterIsLostByAKill) {
  for (const bool later : {false, true}) {
    ScenarioRun run(system(later ? "properties = { persist_mode = \"async\" }" : "", "", "send_asap = true",
                           "", fault("1010ms", "kill", "nats-1", "1s")));
    run.script("p",
               [](const Now&, const Event& e, Effects& effects) {
                 static MessageId id = 0;
                 if (e.kind == EventKind::start) id = 0;
                 if (e.kind == EventKind::tick) effects.publish(0, message(++id));
               },
               {Duration::millis(990), Duration::millis(1003), Duration::millis(1006)});
    run.script("c-0", silent());
    run.run();
    EXPECT_THAT(run.acked(), SizeIs(3));
    if (later)
      EXPECT_THAT(run.stored(), ElementsAre(1));
    else
      EXPECT_THAT(run.stored(), ElementsAre(1, 2, 3));
  }
}

/// How often the consumer starts when two faults hit it in one flush, at its second pull and its first ack.
std::size_t starts(const std::string& first, const std::string& first_heal, const std::string& second,
                   const std::string& second_heal) {
  const auto at = [](const std::string& step, int nth, const std::string& action, const std::string& heal) {
    return "[[fault]]\nat = { process = \"c\", step = \"request." + step +
           "\", nth = " + std::to_string(nth) + " }\naction = \"" + action + "\"\nheal = \"" + heal + "\"\n";
  };
  ScenarioRun run(system("", "durable = \"c\", ack_policy = \"explicit\"", "", "",
                         at("pull", 2, first, first_heal) + at("ack", 1, second, second_heal)));
  run.script("p", publisher(3));
  run.script("c-0", consumer(1, [](const Message& m, Effects& effects) { effects.ack({&m.receipt, 1}); }));
  EXPECT_EQ(run.run().faults_fired(), 2u);
  return run.rows(Kind::start, "c-0").size();
}

TEST(NatsFaults, AKilledProcessCannotBePausedAndAPausedOneCanBeKilled) {
  EXPECT_EQ(starts("kill", "2s", "pause", "2s"), 2u);
  EXPECT_EQ(starts("kill", "1s", "pause", "3s"), 2u);
  EXPECT_EQ(starts("pause", "3s", "kill", "1s"), 2u);
  EXPECT_EQ(starts("pause", "1s", "kill", "3s"), 2u);
}

TEST(NatsFaults, AProcessThatIsToldToStopStaysAwayUntilItsRestart) {
  ScenarioRun run(
      system("", "durable = \"c\", ack_policy = \"explicit\"", "", "", fault("2s", "restart", "c-0", "5s")));
  run.script("p", publisher(3));
  run.script("c-0", consumer(1, [](const Message& m, Effects& effects) { effects.ack({&m.receipt, 1}); }));
  run.run();
  const std::vector<Row> starts = run.rows(Kind::start, "c-0");
  ASSERT_THAT(starts, SizeIs(2));  // no supervisor starts anew what its operator stopped
  EXPECT_EQ(starts[1].time - run.rows(Kind::fault).front().time, 5'000'000'000);
}

// As through a proxy that loses the first message that comes of the pull: the client waits for a tenth that
// the server believes to have sent, and gets the first one again when its ack is due.
TEST(NatsFaults, AnAnswerThatIsLostIsTheFirstMessageOfABatch) {
  ScenarioRun run(
      system("", "ack_wait = \"2s\"", "", "",
             "[[fault]]\nat = { process = \"c-0\", step = \"request.pull\" }\naction = \"drop_response\"\n"));
  run.script("p", publisher(10));
  run.script("c-0",
             [](const Now&, const Event& e, Effects& effects) {
               for (const Message& m : e.messages) ack(m, effects);
               if (e.kind == EventKind::tick || e.kind == EventKind::delivered) effects.fetch(0, 10);
             },
             {Duration::millis(200)});
  EXPECT_EQ(run.run().faults_fired(), 1u);
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(2, 3, 4, 5, 6, 7, 8, 9, 10, 1));
  const auto rows = run.rows(Kind::deliver, "c-0");
  EXPECT_NEAR(at(rows[0]), 1.19, 0.01);
  EXPECT_NEAR(at(rows[9]), 2.2, 0.01);
  EXPECT_TRUE(run.quiet());
}

}  // namespace
}  // namespace mqlab::sim::nats
