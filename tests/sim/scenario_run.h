// A simulated system under test: a scenario in TOML, processes whose modules a test may write itself.
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/faults/anchor.h"
#include "core/history/audit.h"
#include "core/scenario/reader.h"
#include "sim/world.h"

namespace mqlab::sim {

/// What a scripted process does: the test's own code, called for each event.
using Script = std::function<void(const Now&, const Event&, Effects&)>;

/// Woken by a tick at given times of the run.
class Scripted final : public Module {
 public:
  Scripted(const Script& script, const std::vector<Duration>& ticks) : script_(script), ticks_(ticks) {}
  void handle(const Now& now, const Event& event, Effects& effects) override {
    if (event.kind == EventKind::tick) ++next_;
    script_(now, event, effects);
  }
  Instant deadline() const override {
    return next_ < ticks_.size() ? Instant{} + ticks_[next_] : Instant::never();
  }

 private:
  const Script& script_;
  const std::vector<Duration>& ticks_;
  std::size_t next_ = 0;
};

class ScriptPlan final : public ModulePlan {
 public:
  ScriptPlan(Script script, std::vector<Duration> ticks)
      : script_(std::move(script)), ticks_(std::move(ticks)) {}
  Module* make(Arena& arena, const ModuleContext&) const override {
    return arena.make<Scripted>(script_, ticks_);
  }
  std::vector<Kind> effects() const override { return {}; }

 private:
  Script script_;
  std::vector<Duration> ticks_;
};

class ScenarioRun {
 public:
  explicit ScenarioRun(const std::string& toml)
      : scenario_(read_scenario(toml, "test.toml")), setup_(scenario_) {}

  ProcessId process(const std::string& name) const { return setup_.topology.process(name); }
  void script(const std::string& name, Script script, std::vector<Duration> ticks = {}) {
    setup_.modules[process(name)] = std::make_unique<ScriptPlan>(std::move(script), std::move(ticks));
  }
  World& begin(std::uint64_t seed = 1) {
    schedule_.seed = seed;
    faults_.clear();
    for (const FaultSpec& fault : scenario_.faults)
      faults_.push_back(bind(fault, setup_.scenario, setup_.topology));
    world_ = std::make_unique<World>(setup_, std::size_t{1} << 28);
    world_->begin(schedule_, faults_);
    return *world_;
  }
  World& run(std::uint64_t seed = 1) {
    begin(seed).run();
    return *world_;
  }
  World& world() { return *world_; }
  Setup& setup() { return setup_; }

  std::vector<Row> rows(Kind kind, const std::string& of = "") const {
    std::vector<Row> found;
    const ProcessId only = of.empty() ? no_process : process(of);
    for (std::size_t i = 0; i < world_->history().size(); ++i) {
      const Row& row = world_->history()[i];
      if (row.kind == kind && (only == no_process || row.process == only)) found.push_back(row);
    }
    return found;
  }
  std::vector<Row> rows(Kind kind, Phase phase, const std::string& of = "") const {
    std::vector<Row> found = rows(kind, of);
    std::erase_if(found, [&](const Row& row) { return row.phase != phase; });
    return found;
  }
  /// Message ids in the order they were delivered to a process.
  std::vector<MessageId> delivered(const std::string& of) const {
    std::vector<MessageId> ids;
    for (const Row& row : rows(Kind::deliver, of)) ids.push_back(row.message);
    return ids;
  }
  /// Message ids the auditor found, in order.
  std::vector<MessageId> stored() const {
    std::vector<MessageId> ids;
    for (const Row& row : rows(Kind::audit)) {
      if (is_record_audit(row)) ids.push_back(row.message);
    }
    return ids;
  }
  std::vector<MessageId> acked() const {
    std::vector<MessageId> ids;
    for (const Row& row : rows(Kind::publish, Phase::ok)) ids.push_back(row.message);
    return ids;
  }
  bool quiet() const { return rows(Kind::quiet).front().phase == Phase::ok; }
  /// Ack floor + 1 as the auditor finds it.
  std::int64_t committed() const {
    for (const Row& row : rows(Kind::audit)) {
      if (is_offset_audit(row)) return row.position;
    }
    return -1;
  }

 private:
  Scenario scenario_;
  Setup setup_;
  Schedule schedule_;
  std::vector<Fault> faults_;
  std::unique_ptr<World> world_;
};

/// Seconds of a row.
inline double at(const Row& row) { return static_cast<double>(row.time) / 1e9; }

/// Runs with seeds 1, 2 … up to the first that gives what the test is about, so who sits where. False, and
/// the test has failed, when none of a hundred does.
template <class Wanted>
bool run_until(ScenarioRun& run, Wanted&& wanted) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    run.run(seed);
    if (wanted()) return true;
  }
  ADD_FAILURE() << "no seed gives it";
  return false;
}

}  // namespace mqlab::sim
