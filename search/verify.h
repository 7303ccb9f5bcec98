// Searches for schedules that break a scenario's claims.
//
// Schedule 0 has no fault. Then come all single faults of the menu at all anchors of schedule 0, branched off
// from snapshots; then random combinations under seeds of their own. A schedule is known by its number alone,
// so the verdict and the lowest failing schedule are the same for any number of jobs.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/claims/claim.h"
#include "core/faults/schedule.h"
#include "search/candidates.h"
#include "search/runner.h"

namespace mqlab::search {

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t schedules = 2000;   ///< how many at most
  std::optional<Duration> budget;   ///< wall time; whichever ends first
  unsigned jobs = 1;                ///< threads
  std::vector<std::string> claims;  ///< ids to check; empty = all of the scenario
  bool keep_going = false;          ///< go on after every claim has been broken
};

struct Counterexample {
  Schedule schedule;                                      ///< shrunk
  Finding finding;                                        ///< of the shrunk schedule
  std::vector<std::string> story;                         ///< numbered sentences, without the numbers
  std::vector<std::string> story_lanes;                   ///< by sentence: the process it tells of
  std::uint64_t messages_before = 0, messages_after = 0;  ///< requests made, before and after shrinking
  std::uint64_t shrink_runs = 0;
};

struct ClaimReport {
  ClaimSpec claim;
  Verdict verdict = Verdict::undecided;
  std::uint64_t observed = 0;    ///< over all schedules
  std::uint64_t judged = 0;      ///< schedules that were judged and decided
  std::uint64_t violations = 0;  ///< failing schedules
  std::uint64_t vacuous = 0;  ///< schedules in which a fault left nothing to observe; they count for nothing
  std::uint64_t undecided = 0;  ///< schedules without a verdict
  std::optional<std::uint64_t> first_failing_schedule;
  std::string explanation;
  std::optional<Counterexample> counterexample;
  double value = 0;  ///< of schedule 0, where the claim has a number
};

struct Report {
  std::vector<ClaimReport> claims;
  std::uint64_t schedules = 0;
  std::uint64_t systematic = 0;  ///< how many single faults there are
  std::uint64_t reached = 0;     ///< schedules all of whose faults were carried out
  std::uint64_t anchors = 0, anchors_reached = 0;
  std::uint64_t shapes = 0;  ///< distinct histories, times and numbers aside
  double seconds = 0;        ///< wall time of the search, shrinking aside
  bool interrupted = false;
};

struct Progress {
  std::uint64_t schedules = 0;
  std::uint64_t violated_claims = 0;
};
/// Called now and then from one thread; false stops the search with what is known.
using OnProgress = std::function<bool(const Progress&)>;

/// Throws ScenarioError for an unknown claim id.
Report verify(const sim::Setup& setup, const Options& options, const OnProgress& progress = {});

/// The schedule with this number: needs the candidates of schedule 0. Number 0 has no faults.
Schedule schedule_number(std::uint64_t number, std::uint64_t seed, const Candidates& candidates,
                         const Scenario& scenario);
/// Order and kind of all rows, times and numbers aside.
std::uint64_t shape(const History& history);

}  // namespace mqlab::search
