// One job of a search: its own world, its own results, put together with the others' after each generation.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "search/candidates.h"
#include "search/rounds.h"
#include "search/runner.h"
#include "search/shape.h"
#include "search/verify.h"

namespace mqlab::search {

/// Where a shape was first seen.
struct Sight {
  std::uint64_t number = 0;
  Round round = Round::reference;
};
using Sights = std::unordered_map<std::uint64_t, Sight>;

/// What all jobs look at while they run.
struct Shared {
  explicit Shared(const Options& o) : options(o) {}
  const Options& options;
  std::chrono::steady_clock::time_point end;  ///< of the budget
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> done = 0;
  std::atomic<std::uint64_t> next = 0;                              ///< unit that nobody has taken yet
  std::vector<std::unique_ptr<std::atomic<std::uint64_t>>> lowest;  ///< failing schedule, by claim
  /// Whether the schedule with this number still matters: it may be the lowest to break some claim.
  bool wants(std::uint64_t number) const;

  // Changed between generations only.
  const Rounds* rounds = nullptr;
  Candidates candidates;         ///< of the run without faults
  Sights shapes;                 ///< all seen before this generation
  std::vector<Schedule> corpus;  ///< schedules that reached new shapes, oldest first
};
constexpr std::uint64_t none_yet = ~std::uint64_t{0};

class Job {
 public:
  struct Tally {
    std::uint64_t observed = 0, judged = 0, violations = 0, undecided = 0, vacuous = 0;
    std::uint64_t lowest = none_yet;  ///< failing schedule
    Schedule schedule;                ///< that one
    std::string explanation, undecided_because;
    std::uint64_t undecided_at = none_yet;
    double value = 0;
  };
  struct RoundTally {
    std::uint64_t schedules = 0;
    double seconds = 0;
  };
  struct Find {
    std::uint64_t number;
    Schedule schedule;
  };

  Job(const sim::Setup& setup, const std::vector<ClaimSpec>& claims, Shared& shared);
  /// Schedule 0; fills shared.candidates.
  void reference();
  /// Takes units until `end`.
  void work(std::uint64_t end);

  std::vector<Tally> tallies;  ///< by claim
  std::uint64_t reached = 0;   ///< schedules whose faults were all carried out
  std::array<RoundTally, static_cast<std::size_t>(Round::count_)> rounds;
  std::vector<bool> anchors_reached;
  std::uint64_t pairs = 0;                          ///< tried
  std::map<std::uint64_t, std::uint64_t> pairs_of;  ///< by first fault: how many second ones there are
  Sights shapes;                                    ///< of this generation
  std::vector<Find> finds;                          ///< that showed them

 private:
  /// A schedule that branches off: picks are candidates, in rising order.
  struct Branch {
    std::vector<std::uint64_t> picks;
  };
  struct Where {
    Round round = Round::reference;
    std::uint64_t number = 0;
  };

  bool more(std::uint64_t number) const;
  void singles(const Unit& unit);
  void pairs_behind(const Unit& unit);
  void random(const Unit& unit);
  void mutation(const Unit& unit);
  /// Numbers of a unit from `from` on, as schedules of their own.
  void straight(const Unit& unit, std::uint64_t from);
  std::vector<std::uint64_t> random_picks(const Unit& unit, const Candidates& found,
                                          std::uint64_t number) const;
  /// Runs the branches, sorted, as numbers `first` and on.
  void fan(const Schedule& base, const Candidates& found, std::vector<Branch>& branches, Where first);
  Schedule joined(const Schedule& base, const Candidates& found, const Branch& branch) const;
  template <class MakeSchedule>
  void note(Where where, const Outcome& outcome, bool plain, MakeSchedule&& schedule);
  void note_claim(std::size_t claim, std::uint64_t number, const Finding& finding);

  Runner runner_;
  Shared& shared_;
  Shapes shape_;
  sim::World::Snapshot snapshot_;
  std::vector<Fault> faults_;
};

}  // namespace mqlab::search
