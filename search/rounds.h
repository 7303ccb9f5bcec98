// Which schedules there are, by number. docs/search.md is the page for users.
//
// Number 0 is the run without faults. Then come all single faults of the menu at all anchors of that run, in
// order. Everything behind is dealt in units of consecutive numbers: pairs (a second fault behind each
// first), random (a seed, an order and a random subset of the menu per unit), mutation (around schedules that
// reached new shapes). The schedules of a unit share a beginning and are branched off it.
#pragma once
#include <cstdint>
#include <string_view>

namespace mqlab::search {

enum class Round : std::uint8_t { reference, singles, pairs, random, mutation, count_ };
std::string_view name_of(Round round);

struct Unit {
  Round round = Round::random;
  std::uint64_t index = 0;  ///< among the units of its round
  std::uint64_t first = 0;  ///< number of its first schedule
  std::uint64_t count = 0;
};

/// Rounds that a search does; for benchmarks that compare them.
struct Mix {
  bool singles = true, pairs = true, random = true, mutation = true;
  bool swarm = true;  ///< random: with orders of their own and subsets of the menu
};

class Rounds {
 public:
  static constexpr std::uint64_t unit_schedules = 64;
  /// Units between two moments at which what was found is put together. Mutation builds on what was known at
  /// the latest of them, which makes it the same for any number of jobs.
  static constexpr std::uint64_t generation = 16;

  /// `singles`: how many single faults there are. `at_most`: faults of one schedule.
  Rounds(std::uint64_t singles, std::uint32_t at_most, Mix mix);

  std::uint64_t singles() const { return singles_; }
  Unit unit(std::uint64_t k) const;
  /// The unit behind the last of the generation that begins with unit k.
  std::uint64_t generation_end(std::uint64_t k) const;

 private:
  Round slot(std::uint64_t k) const;

  std::uint64_t singles_, single_units_;
  bool pairs_, random_, mutation_;
};

/// The j-th of n ≥ 1 in an order that spreads: j ↦ j × s mod n, s near the golden section and prime to n.
std::uint64_t spread(std::uint64_t j, std::uint64_t n);

}  // namespace mqlab::search
