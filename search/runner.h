// One simulated world with the scenario's claims over it: schedule in, findings out. Reused for many
// schedules.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/claims/claim.h"
#include "core/faults/schedule.h"
#include "core/history/history.h"
#include "sim/setup.h"
#include "sim/world.h"

namespace mqlab::search {

/// What came of one schedule. Valid until the runner's next run.
struct Outcome {
  std::span<const Finding> findings;  ///< by claim, in the order of the scenario
  bool faults_reached = true;         ///< every fault of the schedule was carried out
  std::uint64_t steps = 0;
};

class Runner {
 public:
  /// `setup` must outlive the runner. `claims`: those of the scenario, or some of them.
  Runner(const sim::Setup& setup, std::vector<ClaimSpec> claims);

  /// The scenario's own faults, then the schedule's. Throws ScenarioError for a fault that names what is not
  /// there.
  Outcome run(const Schedule& schedule);
  /// The same over a window of the history: rows are given back once the claims have seen them. For long
  /// runs; the findings are the same, witnesses cannot be looked up afterwards.
  Outcome stream(const Schedule& schedule);
  /// From zero up to the first event; step with world().
  void begin(const Schedule& schedule);
  /// Back to a snapshot of the run begun last, with other faults behind the first `keep` of its own. `seen`:
  /// see World::extend.
  void branch(const sim::World::Snapshot& snapshot, std::size_t keep, std::span<const Fault> more,
              std::uint32_t seen);
  /// One more fault, from now on.
  void extend(const Fault& fault);
  std::size_t faults() const { return faults_.size(); }  ///< of the scenario and the schedule
  /// Runs what is left of the world and judges it.
  Outcome finish();

  sim::World& world() { return world_; }
  const History& history() const { return world_.history(); }
  const std::vector<ClaimSpec>& claims() const { return claims_; }
  const sim::Setup& setup() const { return setup_; }

 private:
  const sim::Setup& setup_;
  std::vector<ClaimSpec> claims_;
  std::vector<std::unique_ptr<Checker>> checkers_;
  sim::World world_;
  std::size_t seen_ = 0;  ///< rows that the checkers have observed
  Schedule schedule_;
  std::vector<Fault> faults_;
  std::vector<Finding> findings_;

  void observe();
  void reset();
  Outcome judge();
};

/// Claims about latency, throughput and backlog are judged on runs without faults, unless `under_faults =
/// true`.
bool judged_under_faults(const ClaimSpec& claim);

}  // namespace mqlab::search
