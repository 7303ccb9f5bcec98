// One job's part of a search: its own world, its own results, merged at the end.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "search/candidates.h"
#include "search/runner.h"
#include "search/verify.h"

namespace mqlab::search {

/// What all jobs look at while they run.
struct Shared {
  const Options& options;
  std::chrono::steady_clock::time_point end;  ///< of the budget
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> done = 0;
  std::atomic<std::uint64_t> broken = 0;  ///< claims found violated, over all jobs
};

class Share {
 public:
  struct Tally {
    std::uint64_t observed = 0, judged = 0, violations = 0, undecided = 0, vacuous = 0;
    std::optional<std::uint64_t> lowest;  ///< failing schedule
    std::string explanation, undecided_because;
    double value = 0;
  };

  Share(const sim::Setup& setup, const std::vector<ClaimSpec>& claims, Shared& shared, unsigned job);
  void run();

  std::vector<Tally> tallies;  ///< by claim
  std::uint64_t schedules = 0, reached = 0, anchors_reached = 0;
  std::unordered_set<std::uint64_t> shapes;
  Candidates candidates;

 private:
  bool more() const;
  bool mine(std::uint64_t number) const { return number % shared_.options.jobs == job_; }
  void systematic();
  void branch(const AnchorPoint& anchor, std::uint64_t first);
  void random();
  void note(std::uint64_t number, const Outcome& outcome);

  Runner runner_;
  Shared& shared_;
  unsigned job_;
  sim::World::Snapshot snapshot_;
  std::vector<Fault> faults_;
};

}  // namespace mqlab::search
