// A laboratory for the Kafka client models: real clients and processes, modules that do what the test says,
// and broker nodes that answer as the test says.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/scenario/scenario.h"
#include "sim/setup.h"
#include "sim/world.h"
#include "tests/sim/kafka_client_fake.h"

namespace mqlab::sim::kafka::client_test {

/// An event as the module got it, with its time in milliseconds.
struct Seen {
  std::int64_t ms = 0;
  EventKind kind = EventKind::tick;
  bool lost = false;
  OpId op = 0;
  std::uint32_t generation = 0;
  std::vector<MessageId> messages;
  std::vector<Settlement> settlements;
  std::vector<PlacePosition> places;
};

using React = std::function<void(const Event&, Effects&)>;

/// What one process's module is to do, and what it saw.
struct Puppet {
  std::multimap<std::int64_t, std::function<void(Effects&)>> script;  ///< by time, ns
  React react = [](const Event&, Effects&) {};
  std::vector<Seen> seen;

  void at(Duration t, std::function<void(Effects&)> f) { script.emplace(t.ns, std::move(f)); }
  std::vector<Seen> of(EventKind kind) const {
    std::vector<Seen> found;
    for (const Seen& s : seen) {
      if (s.kind == kind) found.push_back(s);
    }
    return found;
  }
  /// All ends of effects of this kind, in order.
  std::vector<Settlement> settled(Kind kind) const {
    std::vector<Settlement> found;
    for (const Seen& s : seen) {
      for (const Settlement& x : s.settlements) {
        if (x.of == kind) found.push_back(x);
      }
    }
    return found;
  }
  std::vector<MessageId> delivered() const {
    std::vector<MessageId> ids;
    for (const Seen& s : seen) {
      if (s.kind == EventKind::delivered) ids.insert(ids.end(), s.messages.begin(), s.messages.end());
    }
    return ids;
  }
};

class PuppetModule final : public Module {
 public:
  explicit PuppetModule(Puppet& puppet) : puppet_(puppet) {}
  void handle(const Now& now, const Event& event, Effects& effects) override {
    if (event.kind == EventKind::tick) {
      while (!puppet_.script.empty() && puppet_.script.begin()->first <= now.mono.ns) {
        const auto f = puppet_.script.begin()->second;
        puppet_.script.erase(puppet_.script.begin());
        f(effects);
      }
      return;
    }
    Seen seen;
    seen.ms = now.mono.ns / 1'000'000;
    seen.kind = event.kind;
    seen.lost = event.lost;
    seen.op = event.op;
    seen.generation = event.generation;
    for (const Message& m : event.messages) seen.messages.push_back(m.id);
    seen.settlements.assign(event.settlements.begin(), event.settlements.end());
    seen.places.assign(event.places.begin(), event.places.end());
    puppet_.seen.push_back(seen);
    puppet_.react(event, effects);
  }
  Instant deadline() const override {
    return puppet_.script.empty() ? Instant::never() : Instant{puppet_.script.begin()->first};
  }

 private:
  Puppet& puppet_;
};

class PuppetPlan final : public ModulePlan {
 public:
  explicit PuppetPlan(Puppet& puppet) : puppet_(puppet) {}
  Module* make(Arena& arena, const ModuleContext&) const override {
    return arena.make<PuppetModule>(puppet_);
  }
  std::vector<Kind> effects() const override { return {}; }

 private:
  Puppet& puppet_;
};

/// A scenario whose modules are puppets and whose broker is a fake. Latency 1 ms one way, nothing random.
class Lab {
 public:
  explicit Lab(const Scenario& scenario) : setup(scenario) {
    const Topology& t = setup.topology;
    auto fake = std::make_unique<FakePlan>(fakes, setup.scenario, t);
    plan = fake.get();
    setup.clusters[0] = std::move(fake);
    setup.settle = Duration::seconds(10'000);
    for (std::size_t p = 0; p < t.processes.size(); ++p) {
      if (setup.modules[p] != nullptr)
        setup.modules[p] = std::make_unique<PuppetPlan>(puppets[t.processes[p].name]);
    }
  }
  Puppet& operator[](const std::string& process) { return puppets[process]; }
  ProcessId process(const std::string& name) const { return setup.topology.process(name); }
  FakeCluster& cluster() { return *plan->cluster; }
  World& begin() {
    if (world == nullptr) {
      schedule.zero_jitter = true;
      world = std::make_unique<World>(setup, std::size_t{64} << 20);
      world->begin(schedule, {});
      world->add(stop_, setup.topology.lab);
    }
    return *world;
  }
  void run_until(Duration t) {
    begin();
    passed_ = false;
    world->schedule(Instant{t.ns}, stop_, 0);
    while (!passed_ && world->step()) {
    }
  }

  Fakes fakes;
  sim::Setup setup;
  std::map<std::string, Puppet> puppets;
  FakePlan* plan = nullptr;
  Schedule schedule;
  std::unique_ptr<World> world;

 private:
  class Stop final : public Component {
   public:
    explicit Stop(bool& passed) : passed_(passed) {}
    void on(const SimEvent&) override { passed_ = true; }

   private:
    bool& passed_;
  };
  bool passed_ = false;
  Stop stop_{passed_};
};

inline Scenario base_scenario(Flavour flavour, std::uint32_t nodes) {
  Scenario s;
  s.name = "client";
  s.flavour = flavour;
  BrokerSpec broker;
  broker.name = "kafka";
  broker.version = "4.1";
  broker.nodes = nodes;
  s.brokers.push_back(broker);
  s.network.latency = {DurationSpec::Shape::constant, Duration::millis(1), {}};
  s.limits.horizon = Duration::seconds(3600);
  return s;
}

inline TopicSpec topic(const std::string& name, std::uint32_t partitions) {
  TopicSpec t;
  t.name = name;
  t.broker = "kafka";
  t.partitions = partitions;
  return t;
}

/// One producer process "api" that writes to topic "t": place 0 and on.
inline Scenario producer_scenario(Flavour flavour, const Properties& settings, std::uint32_t partitions = 1,
                                  std::uint32_t nodes = 1) {
  Scenario s = base_scenario(flavour, nodes);
  s.topics.push_back(topic("t", partitions));
  WorkloadSpec w;
  w.name = "api";
  w.topic = "t";
  w.messages = 1;
  w.producer = settings;
  s.workloads.push_back(w);
  return s;
}

/// One process "work-0" that reads topic "in" (place 0 and on) and writes topic "out" (behind it).
inline Scenario stage_scenario(Flavour flavour, const Properties& consumer, std::uint32_t partitions = 1,
                               const Properties& producer = {}, std::uint32_t nodes = 1) {
  Scenario s = base_scenario(flavour, nodes);
  s.topics.push_back(topic("in", partitions));
  s.topics.push_back(topic("out", 1));
  StageSpec stage;
  stage.name = "work";
  stage.module = "stage";
  stage.inputs = {"in"};
  stage.outputs = {"out"};
  stage.consumer = consumer;
  stage.producer = producer;
  s.stages.push_back(stage);
  return s;
}

inline Message message(MessageId id, std::uint32_t size = 100, std::uint32_t key = 0) {
  Message m;
  m.id = id;
  m.key = key;
  m.size = size;
  return m;
}

}  // namespace mqlab::sim::kafka::client_test
