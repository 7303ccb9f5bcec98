// The event queue of the simulated world: exact (time, sequence) order, in the arena.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/base/arena.h"
#include "core/base/check.h"
#include "core/base/ids.h"
#include "core/base/time.h"

namespace mqlab::sim {

/// Something due. 40 bytes, trivially copyable.
struct SimEvent {
  Instant at = {};
  /// Order among events of one instant: rank of the process (8 bits), number (40 bits); then, of no weight in
  /// the order, the sender of what came over the network (16 bits).
  std::uint64_t sequence = 0;
  std::uint32_t life = 0;  ///< of the target's process when this was scheduled: a kill voids it
  std::uint16_t component = 0;
  std::uint16_t kind = 0;  ///< the component's own code
  std::uint64_t a = 0;     ///< the component's own: a number or a pointer into the arena
  std::uint32_t x = 0;
  std::uint32_t y = 0;

  static constexpr unsigned number_shift = 16, rank_shift = 56;
  ProcessId sender() const { return static_cast<ProcessId>(sequence); }  ///< no_process: not from the network
  void sent_by(ProcessId p) { sequence = (sequence & ~std::uint64_t{no_process}) | p; }
};

/// The events due next lie sorted, the very next at the end: most are put and taken within a few cache lines
/// of it. All later ones wait in a four-ary heap.
class Queue {
 public:
  explicit Queue(Arena& arena) : near_(arena), far_(arena) { near_.reserve(near_at_most); }

  bool empty() const { return near_.empty(); }
  std::size_t size() const { return near_.size() + far_.size(); }
  const SimEvent& top() const { return near_.back(); }

  void push(const SimEvent& event) {
    if (near_.size() == near_at_most) make_room();
    if (!far_.empty() && before(near_.front(), event)) return push_far(event);
    near_.push_back(event);
    std::size_t i = near_.size() - 1;
    for (; i > 0 && before(near_[i - 1], event); --i) near_[i] = near_[i - 1];
    near_[i] = event;
  }

  SimEvent pop() {
    const SimEvent next = near_.back();
    near_.pop_back();
    if (near_.empty() && !far_.empty()) refill();
    return next;
  }

  /// i < size(), in no order but that 0 is the next one.
  const SimEvent& operator[](std::size_t i) const {
    return i < near_.size() ? near_[near_.size() - 1 - i] : far_[i - near_.size()];
  }
  SimEvent take(std::size_t i) {
    if (i >= near_.size()) return take_far(i - near_.size());
    const auto at = near_.end() - 1 - static_cast<std::ptrdiff_t>(i);
    const SimEvent taken = *at;
    near_.erase(at);
    if (near_.empty() && !far_.empty()) refill();
    return taken;
  }

  static bool before(const SimEvent& a, const SimEvent& b) {
    return a.at.ns != b.at.ns ? a.at.ns < b.at.ns : a.sequence < b.sequence;
  }

 private:
  static constexpr std::size_t near_at_most = 32;

  /// The later half of what is near goes to what is far.
  void make_room() {
    constexpr std::size_t half = near_at_most / 2;
    for (std::size_t i = half; i-- > 0;) push_far(near_[i]);
    near_.erase(near_.begin(), near_.begin() + half);
  }
  void refill() {
    for (std::size_t i = near_at_most / 2; i > 0 && !far_.empty(); --i) near_.push_back(take_far(0));
    std::reverse(near_.begin(), near_.end());
  }
  void push_far(const SimEvent& event) {
    far_.push_back(event);
    rise(far_.size() - 1, event);
  }
  SimEvent take_far(std::size_t i) {
    const SimEvent taken = far_[i];
    const SimEvent last = far_.back();
    far_.pop_back();
    if (i < far_.size()) rise(sink(i, last), last);
    return taken;
  }
  /// Puts `event` at the hole or above it.
  void rise(std::size_t hole, const SimEvent& event) {
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (!before(event, far_[parent])) break;
      far_[hole] = far_[parent];
      hole = parent;
    }
    far_[hole] = event;
  }
  /// Where below the hole `last` belongs.
  std::size_t sink(std::size_t hole, const SimEvent& last) {
    const std::size_t n = far_.size();
    while (true) {
      const std::size_t child = 4 * hole + 1;
      if (child >= n) break;
      std::size_t least = child;
      const std::size_t end = child + 4 < n ? child + 4 : n;
      for (std::size_t c = child + 1; c < end; ++c) {
        if (before(far_[c], far_[least])) least = c;
      }
      if (!before(far_[least], last)) break;
      far_[hole] = far_[least];
      hole = least;
    }
    return hole;
  }

  Vec<SimEvent> near_;  // latest first; empty only when nothing is due
  Vec<SimEvent> far_;   // a heap of what comes after all that is near
};

}  // namespace mqlab::sim
