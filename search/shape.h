// The shape of a history: what kinds of things happened, times and numbers aside.
//
// Of each process the row before and the row now make a transition: (group, step before, step now), where a
// step is kind, phase and whether the row says "duplicate", "aborted", "lost" or "dead letter". A history's
// shape is the set of its transitions, each with its count rounded down to 1, 2, 3, 4, 8, 16, 32 or 128. Two
// runs that do the same things in another interleaving, or a few times more often, have one shape; a run in
// which a process does something after something else for the first time has a new one.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "core/history/history.h"
#include "core/scenario/topology.h"

namespace mqlab::search {

class Shapes {
 public:
  explicit Shapes(const Topology& topology);
  std::uint64_t of(const History& history);

 private:
  static constexpr std::size_t table_size = 4096;
  std::vector<std::uint32_t> group_;                ///< by process: salt of its group
  std::vector<std::uint32_t> last_;                 ///< by process: its latest step
  std::array<std::uint32_t, table_size> counts_{};  ///< by transition, hashed; zero between calls
  std::vector<std::uint32_t> touched_;
};

}  // namespace mqlab::search
