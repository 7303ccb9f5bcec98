// Searches for schedules that break a scenario's claims, in rounds (search/rounds.h). A schedule is known by
// its number alone and what is mutated is fixed between generations, so the verdict and the lowest failing
// schedule are the same for any number of jobs.
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
#include "search/rounds.h"
#include "search/runner.h"

namespace mqlab::search {

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t schedules = 2000;   ///< how many at most
  std::optional<Duration> budget;   ///< wall time; whichever ends first
  unsigned jobs = 1;                ///< threads
  std::vector<std::string> claims;  ///< ids to check; empty = all of the scenario
  bool keep_going = false;          ///< go on after every claim has been broken
  bool first_only = false;          ///< end at the first claim that is broken
  Mix mix;
};

/// A setting as the scenario writes it, and the value with which the claim would hold.
struct Cause {
  std::string setting;  ///< "stages.worker.commit"
  std::string value;
  std::string instead;  ///< "default", or another value
  int line = 0;         ///< of the scenario's file
};

struct Counterexample {
  Scenario scenario;                                      ///< shrunk: fewer processes, nodes, settings …
  Schedule schedule;                                      ///< shrunk
  Finding finding;                                        ///< of the shrunk schedule
  std::vector<std::string> story;                         ///< numbered sentences, without the numbers
  std::vector<std::string> story_lanes;                   ///< by sentence: the process it tells of
  std::uint64_t messages_before = 0, messages_after = 0;  ///< requests made, before and after shrinking
  std::uint64_t shrink_runs = 0;
  std::vector<Cause> causes;  ///< each alone; empty where no single setting is to blame
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

struct RoundReport {
  Round round = Round::reference;
  std::uint64_t schedules = 0;
  double seconds = 0;            ///< of CPU, over all jobs
  std::uint64_t new_shapes = 0;  ///< seen in this round first
};

struct Report {
  std::vector<ClaimReport> claims;
  std::vector<RoundReport> rounds;  ///< those that were done
  std::uint64_t schedules = 0;
  std::uint64_t systematic = 0;  ///< how many single faults there are
  std::uint64_t reached = 0;     ///< schedules all of whose faults were carried out
  std::uint64_t anchors = 0, anchors_reached = 0;
  /// Two faults, one behind the other: tried, and how many there are. The latter is taken from the first
  /// faults that were looked at until all have been.
  std::uint64_t pairs = 0, pairs_total = 0;
  std::uint64_t shapes = 0;  ///< distinct ones; see search/shape.h
  /// How many were known after 1, 2, 4 … schedules, and after the last.
  struct ShapesAfter {
    std::uint64_t schedules, shapes;
  };
  std::vector<ShapesAfter> shapes_over;
  double seconds = 0;  ///< wall time of the search, shrinking aside
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

/// What the search says of the claim of this scope; nothing is shrunk.
Verdict verdict_of(const sim::Setup& setup, const Options& options, const std::string& scope);

/// The scenario's claims with these ids; all where none is named. Throws ScenarioError for an unknown one.
std::vector<ClaimSpec> chosen_claims(const Scenario& scenario, const std::vector<std::string>& ids);

/// The lowest number that breaks a claim; options.first_only is understood.
std::optional<std::uint64_t> first_violation(const sim::Setup& setup, Options options);

/// Schedule `number` of those that depend on nothing but the candidates of schedule 0, which is number 0;
/// then come the single faults.
Schedule single_fault(std::uint64_t number, std::uint64_t seed, const Candidates& candidates);
/// Random faults under a seed and, but for Options::mix, an order of their own.
Schedule random_schedule(std::uint64_t number, const Options& options, const Candidates& candidates,
                         const Scenario& scenario);

}  // namespace mqlab::search
