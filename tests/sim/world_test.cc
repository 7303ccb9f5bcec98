// The kernel of the simulated world: order, lives, pauses, partitions, snapshots.
#include "sim/world.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/scenario/reader.h"

namespace mqlab::sim {
namespace {

/// Two broker processes and nothing in them: components of the test live there.
Scenario empty_scenario() {
  Scenario s;
  s.name = "kernel";
  s.network.latency = {DurationSpec::Shape::constant, Duration::millis(1), {}};
  return s;
}

class Probe final : public Component {
 public:
  Probe(World& world, std::string name, std::vector<std::string>& log)
      : world_(world), name_(std::move(name)), log_(log) {}
  void on(const SimEvent& event) override {
    log_.push_back(name_ + std::to_string(event.kind) + "@" + std::to_string(world_.now().ns / 1'000'000));
  }
  void life_changed(ProcessId, LifeChange change) override { changes.push_back(change); }
  std::vector<LifeChange> changes;

 private:
  World& world_;
  std::string name_;
  std::vector<std::string>& log_;
};

struct Kernel : testing::Test {
  Kernel() : setup(empty_scenario()), world(setup, 1 << 20), a(world, "a", log), b(world, "b", log) {
    setup.settle = Duration::seconds(1000);
    world.begin(schedule, {});
    world.add(a, setup.topology.auditor);
    world.add(b, setup.topology.lab);
  }
  sim::Setup setup;
  World world;
  Schedule schedule;
  std::vector<std::string> log;
  Probe a, b;
};

TEST_F(Kernel, TimeThenSequence) {
  world.after(Duration::millis(5), a, 1);
  world.after(Duration::millis(3), b, 2);
  world.after(Duration::millis(5), b, 3);
  world.soon(a, 0);
  world.run();
  EXPECT_EQ(log, (std::vector<std::string>{"a0@0", "b2@3", "a1@5", "b3@5"}));
}

TEST_F(Kernel, AKillVoidsWhatWasUnderWay) {
  world.after(Duration::millis(5), a, 1);
  world.kill(a.owner, false);
  world.start(a.owner);
  world.after(Duration::millis(6), a, 2);
  world.run();
  EXPECT_EQ(log, std::vector<std::string>{"a2@6"});
  EXPECT_EQ(b.changes, (std::vector<LifeChange>{LifeChange::killed, LifeChange::restarted}));
}

TEST_F(Kernel, APauseHoldsEventsInOrder) {
  world.after(Duration::millis(1), a, 1);
  world.after(Duration::millis(2), b, 9);
  world.after(Duration::millis(3), a, 2);
  world.after(Duration::millis(4), b, 9);
  world.pause(a.owner);
  for (int i = 0; i < 4; ++i) world.step();
  world.resume(a.owner);
  world.run();
  EXPECT_EQ(log, (std::vector<std::string>{"b9@2", "b9@4", "a1@4", "a2@4"}));
}

TEST_F(Kernel, ConnectionsAreFirstInFirstOut) {
  world.network().send(a.owner, b, 100, 1, 0, 0, 0, Duration::millis(10));
  world.network().send(a.owner, b, 100, 2, 0);
  world.run();
  EXPECT_EQ(log, (std::vector<std::string>{"b1@11", "b2@11"}));
}

TEST_F(Kernel, ACutConnectionDeliversWhenItIsJoined) {
  world.network().cut(a.owner, b.owner);
  world.network().send(a.owner, b, 100, 1, 0);
  world.network().send(b.owner, a, 100, 2, 0);
  world.after(Duration::millis(50), a, 3);
  world.step();
  world.step();
  world.network().join(a.owner, b.owner);
  world.run();
  EXPECT_EQ(log, (std::vector<std::string>{"a2@1", "a3@50", "b1@51"}));
}

TEST_F(Kernel, BytesForADeadProcessVanish) {
  world.kill(b.owner, false);
  world.network().send(a.owner, b, 100, 1, 0);
  world.start(b.owner);
  world.run();
  EXPECT_TRUE(log.empty());
}

TEST_F(Kernel, RestoreGoesBackToTheSameFuture) {
  for (std::uint16_t i = 0; i < 20; ++i) world.after(Duration::millis(7 * i % 11), a, i);
  for (int i = 0; i < 5; ++i) world.step();
  World::Snapshot snapshot;
  world.save(snapshot);
  world.run();
  const std::vector<std::string> first = log;
  const std::uint64_t hash = world.history().hash();
  log.resize(5);
  world.restore(snapshot);
  world.run();
  EXPECT_EQ(log, first);
  EXPECT_EQ(world.history().hash(), hash);
}

}  // namespace
}  // namespace mqlab::sim
