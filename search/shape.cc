#include "search/shape.h"

#include <algorithm>

#include "core/base/draw.h"

namespace mqlab::search {
namespace {

std::uint64_t rounded(std::uint32_t count) {
  if (count <= 3) return count;
  if (count < 8) return 4;
  if (count < 16) return 8;
  if (count < 32) return 16;
  return count < 128 ? 32 : 128;
}

}  // namespace

Shapes::Shapes(const Topology& topology) : last_(topology.processes.size()) {
  for (const ProcessInfo& process : topology.processes) {
    const auto role = static_cast<std::uint64_t>(process.role);
    group_.push_back(static_cast<std::uint32_t>(mix(role << 32 | process.index)));
  }
}

std::uint64_t Shapes::of(const History& history) {
  constexpr std::uint16_t telling = flag::duplicate | flag::lost | flag::aborted | flag::dead_letter;
  std::fill(last_.begin(), last_.end(), 0);
  history.for_each(history.first(), [&](std::span<const Row> rows) {
    for (const Row& row : rows) {
      if (row.process >= last_.size()) continue;
      const std::uint32_t step = static_cast<std::uint32_t>(row.kind) << 10 |
                                 static_cast<std::uint32_t>(row.phase) << 8 | (row.flags & telling);
      std::uint32_t& last = last_[row.process];
      const std::uint32_t hash =
          (group_[row.process] ^ last * 0x9e3779b1u ^ step * 0x85ebca6bu) * 0xc2b2ae35u;
      last = step;
      const std::uint32_t at = hash >> 20;
      if (counts_[at]++ == 0) touched_.push_back(at);
    }
  });
  std::uint64_t shape = 0;
  for (const std::uint32_t at : touched_) {
    shape += mix(std::uint64_t{at} << 8 | rounded(counts_[at]));
    counts_[at] = 0;
  }
  touched_.clear();
  return shape;
}

}  // namespace mqlab::search
