// What every model owes the world: the same history for the same seed, snapshots, no periodic events while
// idle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/sim/nats_run.h"

namespace mqlab::sim::nats {
namespace {

const std::string pipeline = R"(
name = "pipeline"
[broker]
kind = "nats"
nodes = 3
[[streams]]
name = "requests"
replicas = 3
[[streams]]
name = "results"
[network]
latency = { kind = "lognormal", p50 = "200us", p99 = "2ms" }
[workload]
topic = "requests"
rate = "500/s"
messages = 100
arrival = "poisson"
[[stages]]
name = "work"
module = "stage"
instances = 2
input = "requests"
output = "results"
service_time = { kind = "lognormal", p50 = "1ms", p99 = "5ms" }
consumer = { ack_wait = "3s" }
[[observers]]
name = "watch"
topic = "results"
)";

std::string fault(const std::string& time, const std::string& action, const std::string& target) {
  return "[[fault]]\nat = \"" + time + "\"\naction = \"" + action + "\"\ntarget = \"" + target +
         "\"\nheal = \"3s\"\n";
}

TEST(NatsWorld, TheSameSeedGivesTheSameHistory) {
  ScenarioRun first(pipeline + fault("1100ms", "kill", "leader of requests")),
      second(pipeline + fault("1100ms", "kill", "leader of requests"));
  EXPECT_EQ(first.run(7).history().hash(), second.run(7).history().hash());
  const std::uint64_t seven = first.world().history().hash();
  EXPECT_NE(first.run(8).history().hash(), seven);
  EXPECT_EQ(first.run(7).history().hash(), seven);
}

TEST(NatsWorld, EverythingGetsThroughUnderFaults) {
  for (const char* action : {"kill", "pause", "power_loss"}) {
    for (const char* target : {"leader of requests", "nats-1", "nats-2", "work-0"}) {
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        if (std::string(action) == "power_loss" && std::string(target) == "nats-2")
          continue;  // results has one copy, there
        ScenarioRun run(pipeline + fault("1050ms", action, target));
        run.run(seed);
        EXPECT_TRUE(run.quiet()) << action << " " << target << " " << seed;
        // A failed or unknown publish is not repeated by this producer; all others must come out at the end.
        const auto ids = run.delivered("watch");
        const std::set<MessageId> seen(ids.begin(), ids.end());
        const auto ok = run.rows(Kind::publish, Phase::ok, "producer");
        EXPECT_GT(ok.size(), 10u);
        for (const Row& row : ok)
          EXPECT_TRUE(seen.contains(row.message))
              << row.message << " " << action << " " << target << " " << seed;
      }
    }
  }
}

TEST(NatsWorld, ASnapshotGoesOnLikeTheOriginal) {
  ScenarioRun run(pipeline + fault("1100ms", "kill", "leader of requests"));
  World& world = run.begin(3);
  world.run();
  const std::uint64_t whole = world.history().hash();
  const std::uint64_t steps = world.steps();
  for (const std::uint64_t at : {std::uint64_t{10}, steps / 4, steps / 2, steps - 20}) {
    run.begin(3);
    World& again = run.world();
    while (again.steps() < at) again.step();
    World::Snapshot snapshot;
    again.save(snapshot);
    again.run();
    EXPECT_EQ(again.history().hash(), whole);
    again.restore(snapshot);
    again.run();
    EXPECT_EQ(again.history().hash(), whole) << "from step " << at;
  }
}

// 33 s of settling with parked requests, three servers and elections that do not happen: a handful of timers.
TEST(NatsWorld, IdlingCostsNothing) {
  ScenarioRun run(pipeline);
  run.run();
  std::uint64_t late = 0;
  World& world = run.begin();
  std::int64_t last = 0;
  for (const Row& row : run.rows(Kind::deliver)) last = std::max(last, row.time);
  world.run();
  for (const Row& row : run.rows(Kind::deliver)) last = std::max(last, row.time);
  run.begin();
  while (run.world().step()) late += run.world().now().ns > last + 2'000'000 ? 1 : 0;
  EXPECT_LT(late, 15u);
}

// Cut off from everything, then the servers restart unseen: when the network is back, so is the client.
TEST(NatsWorld, ARestartBehindAPartitionIsNoticed) {
  ScenarioRun run(pipeline +
                  "[[fault]]\nat = \"1050ms\"\naction = \"partition\"\ntarget = \"work-0\"\nheal = \"10s\"\n"
                  "[[fault]]\nat = \"2s\"\naction = \"kill\"\ntarget = \"nats\"\nheal = \"1s\"\n");
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    run.run(seed);
    EXPECT_TRUE(run.quiet());
    EXPECT_EQ(run.rows(Kind::up, "work-0").size(), 1u) << seed;
    EXPECT_GT(at(run.rows(Kind::up, "work-0").at(0)), 11.0) << seed;
  }
}

TEST(NatsWorld, APausedConsumerLosesItsMessagesToTheOther) {
  ScenarioRun run(pipeline +
                  "[[fault]]\nat = { process = \"work-0\", step = \"handle\", nth = 5 }\naction = "
                  "\"pause\"\nheal = \"8s\"\n");
  run.run();
  EXPECT_TRUE(run.quiet());
  std::set<MessageId> twice, seen;
  for (const Row& row : run.rows(Kind::handle)) {
    if (!seen.insert(row.message).second) twice.insert(row.message);
  }
  EXPECT_EQ(twice.size(), 1u);  // what it held: handled again by the other one after ack_wait
  EXPECT_EQ(seen.size(), 100u);
}

}  // namespace
}  // namespace mqlab::sim::nats
