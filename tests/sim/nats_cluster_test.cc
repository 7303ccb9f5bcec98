#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/brokers/nats/protocol.h"
#include "tests/sim/nats_run.h"

namespace mqlab::sim::nats {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::SizeIs;

const std::string three = "nodes = 3";
const std::string replicated = "replicas = 3";

std::string fault(const std::string& time, const std::string& action, const std::string& target,
                  const std::string& heal) {
  return "[[fault]]\nat = \"" + time + "\"\naction = \"" + action + "\"\ntarget = \"" + target +
         "\"\nheal = \"" + heal + "\"\n";
}

/// One message every 20 ms from 20 ms on; what fails or is unknown is published again with the same id.
Script steady() {
  return [](const Now& now, const Event& e, Effects& effects) {
    if (e.kind == EventKind::tick)
      effects.publish(0, message(static_cast<MessageId>(now.mono.ns / 20'000'000)));
    for (const Settlement& s : e.settlements) {
      if (s.of == Kind::publish && s.outcome != Outcome::ok) effects.publish(0, message(s.message));
    }
  };
}
std::vector<Duration> every_20ms(int n) {
  std::vector<Duration> ticks;
  for (int i = 1; i <= n; ++i) ticks.push_back(Duration::millis(20 * i));
  return ticks;
}

ScenarioRun steady_run(const std::string& faults, int n = 500, const std::string& broker = three,
                       const std::string& producer = "retry_attempts = 20") {
  ScenarioRun run(system(replicated, "ack_wait = \"5s\"", producer, broker, faults));
  run.script("p", steady(), every_20ms(n));
  run.script("c-0", consumer(10, ack));
  return run;
}

/// The longest time without an answered publish.
double gap(ScenarioRun& run) {
  double longest = 0, last = 0;
  for (const Row& row : run.rows(Kind::publish, Phase::ok)) {
    longest = std::max(longest, at(row) - last);
    last = at(row);
  }
  return longest;
}

void expect_all_stored_once(ScenarioRun& run, MessageId n, std::uint64_t seed) {
  const auto stored = run.stored();
  const std::set<MessageId> distinct(stored.begin(), stored.end());
  EXPECT_EQ(stored.size(), distinct.size()) << "seed " << seed;
  for (MessageId id = 1; id <= n; ++id) EXPECT_TRUE(distinct.contains(id)) << id << " seed " << seed;
  const auto delivered = run.delivered("c-0");
  const std::set<MessageId> seen(delivered.begin(), delivered.end());
  for (MessageId id = 1; id <= n; ++id)
    EXPECT_TRUE(seen.contains(id)) << id << " not delivered, seed " << seed;
  EXPECT_TRUE(run.quiet()) << "seed " << seed;
}

TEST(NatsCluster, AReplicatedPublishWaitsForAMajority) {
  ScenarioRun alone(system("", "", "send_asap = true", three)),
      of_three(system(replicated, "", "send_asap = true", three));
  const auto latency = [](ScenarioRun& run) {
    run.script("p", publisher(1));
    run.script("c-0", silent());
    run.run();
    return run.rows(Kind::publish, Phase::ok).at(0).time;
  };
  EXPECT_NEAR(static_cast<double>(latency(of_three) - latency(alone)), 420e3,
              5e3);  // a round trip, and more to do
}

TEST(NatsCluster, ADeliveryWaitsForAMajorityToo) {
  ScenarioRun run(system(replicated, "", "send_asap = true", three));
  run.script("p", publisher(1));
  run.script("c-0", consumer(1, ack));
  run.run();
  const auto deliver = run.rows(Kind::deliver).at(0), stored = run.rows(Kind::publish, Phase::ok).at(0);
  EXPECT_GE(deliver.time, stored.time);
}

// Measured on three real servers: kill -9 of the stream's leader, 5.5 s without an ack, nothing lost.
TEST(NatsCluster, KillingTheLeaderCostsAnElection) {
  double least = 99, most = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    ScenarioRun run = steady_run(fault("2s", "kill", "leader of s", "3s"));
    run.run(seed);
    expect_all_stored_once(run, 500, seed);
    const double g = gap(run);
    least = std::min(least, g);
    most = std::max(most, g);
  }
  EXPECT_GE(least, 3.0);
  EXPECT_LE(most, 10.0);
  EXPECT_LT(least, 5.0);
  EXPECT_GT(most, 5.5);
}

TEST(NatsCluster, WhileNobodyLeadsPublishesHearNoResponders) {
  ScenarioRun run = steady_run(fault("2s", "kill", "nats-1", "30s"), 200, three, "retry_attempts = 2");
  // the producer sits on another server
  ASSERT_TRUE(run_until(run, [&] { return run.rows(Kind::down, "p").empty(); }));
  const auto failed = run.rows(Kind::publish, Phase::fail);
  ASSERT_FALSE(failed.empty());
  EXPECT_EQ(failed[0].code, 34);
  EXPECT_NEAR(at(failed[0]), 2.52, 0.03);  // tried again twice
}

TEST(NatsCluster, KillingAFollowerCostsNothing) {
  ScenarioRun run = steady_run(fault("2s", "kill", "nats-2", "3s"), 300);
  ASSERT_TRUE(run_until(run, [&] { return run.rows(Kind::down, "p").empty(); }));
  EXPECT_LT(gap(run), 0.05);
  expect_all_stored_once(run, 300, 0);
}

// Measured: SIGSTOP of the leader for 10 s with the client connected to it: 10 s without an ack.
TEST(NatsCluster, AClientOnAFrozenLeaderWaitsWithIt) {
  ScenarioRun run = steady_run(fault("2s", "pause", "nats-1", "10s"), 800, three, "ack_timeout = \"3s\"");
  double longest = 0;
  ASSERT_TRUE(run_until(run, [&] {
    double last = longest = 0;
    for (const Row& row : run.rows(Kind::publish, Phase::ok)) {
      longest = std::max(longest, at(row) - last);
      last = at(row);
    }
    return longest >= 9;  // otherwise it is connected to another server
  }));
  EXPECT_NEAR(longest, 10.0, 0.6);
  expect_all_stored_once(run, 800, 0);
}

TEST(NatsCluster, OthersElectANewLeaderOverAFrozenOne) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    ScenarioRun run = steady_run(fault("2s", "pause", "nats-1", "15s"), 1000, three, "ack_timeout = \"2s\"");
    run.run(seed);
    expect_all_stored_once(run, 1000, seed);
  }
}

TEST(NatsCluster, NothingIsAcknowledgedWithoutAMajority) {
  ScenarioRun run =
      steady_run(fault("2s", "kill", "nats-2", "20s") + fault("2s", "kill", "nats-3", "20s"), 200);
  // on the one that is left
  ASSERT_TRUE(run_until(run, [&] { return run.rows(Kind::down, "p").empty(); }));
  for (const Row& row : run.rows(Kind::publish, Phase::ok))
    EXPECT_TRUE(at(row) < 2.1 || at(row) > 22) << at(row);
  expect_all_stored_once(run, 200, 0);
}

TEST(NatsCluster, AMinorityLeaderStepsDownAndCommitsNothing) {
  const std::string cut =
      "[[fault]]\nat = \"2s\"\naction = \"partition\"\nbetween = [\"nats-1\", \"nats-2,nats-3\"]\nheal = "
      "\"20s\"\n";
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ScenarioRun run = steady_run(cut, 600, three, "ack_timeout = \"2s\"");
    run.run(seed);
    expect_all_stored_once(run, 600, seed);
  }
}

// Measured: all three lose power right after the last ack: everything is gone; the leader only: nothing.
TEST(NatsCluster, PowerLossOfAllTakesWhatWasNotSynced) {
  ScenarioRun run(system(replicated, "", "", three,
                         fault("2s", "power_loss", "nats-1", "1s") +
                             fault("2s", "power_loss", "nats-2", "1s") +
                             fault("2s", "power_loss", "nats-3", "1s")));
  run.script("p", publisher(20));
  run.script("c-0", silent());
  run.run();
  EXPECT_THAT(run.acked(), SizeIs(20));
  EXPECT_THAT(run.stored(), ElementsAre());
}

TEST(NatsCluster, PowerLossOfTheLeaderLosesNothing) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ScenarioRun run = steady_run(fault("2s", "power_loss", "leader of s", "3s"));
    run.run(seed);
    expect_all_stored_once(run, 500, seed);
  }
}

TEST(NatsCluster, SyncAlwaysSurvivesPowerLossOfAll) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ScenarioRun run(system(replicated, "", "", three + "\nproperties = { sync_interval = \"always\" }",
                           fault("4ms", "power_loss", "nats-1", "1s") +
                               fault("4ms", "power_loss", "nats-2", "1s") +
                               fault("4ms", "power_loss", "nats-3", "1s")));
    run.script("p", publisher(200));
    run.script("c-0", silent());
    run.run(seed);
    const auto stored = run.stored();
    for (const MessageId id : run.acked()) EXPECT_THAT(stored, testing::Contains(id)) << "seed " << seed;
  }
}

TEST(NatsCluster, AnIdInProcessIsAConflict) {
  // The repeat arrives while the first is on its way to the followers.
  ScenarioRun run(system(replicated, "", "send_asap = true", three));
  run.script("p", [](const Now&, const Event& e, Effects& effects) {
    if (e.kind != EventKind::start) return;
    effects.publish(0, message(1));
    effects.publish(0, message(1));
  });
  run.script("c-0", silent());
  run.run();
  const auto unknown = run.rows(Kind::publish, Phase::unknown);
  ASSERT_THAT(unknown, SizeIs(1));
  EXPECT_EQ(unknown[0].code, code::in_process);
  EXPECT_THAT(run.stored(), ElementsAre(1));
}

TEST(NatsCluster, EverythingAtOnce) {
  const char* actions[] = {"kill", "pause", "power_loss"};
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const std::string first = actions[seed % 3], second = actions[(seed / 3) % 3];
    // One server at a time loses power, so a majority always has what was acknowledged.
    ScenarioRun run =
        steady_run(fault("2s", first, "leader of s", "8s") + fault("14s", second, "leader of s", "8s"), 1200,
                   three, "ack_timeout = \"2s\"");
    run.run(seed);
    expect_all_stored_once(run, 1200, seed);
  }
}

}  // namespace
}  // namespace mqlab::sim::nats
