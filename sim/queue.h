// The event queue of the simulated world: exact (time, sequence) order, in the arena.
#pragma once
#include <cstdint>

#include "core/base/arena.h"
#include "core/base/check.h"
#include "core/base/time.h"

namespace mqlab::sim {

/// Something due. 40 bytes, trivially copyable.
struct SimEvent {
  Instant at = {};
  std::uint64_t sequence = 0;  ///< order among events of one instant
  std::uint32_t life = 0;      ///< of the target's process when this was scheduled: a kill voids it
  std::uint16_t component = 0;
  std::uint16_t kind = 0;  ///< the component's own code
  std::uint64_t a = 0;     ///< the component's own: a number or a pointer into the arena
  std::uint32_t x = 0;
  std::uint32_t y = 0;
};

/// A four-ary heap: half the levels of a binary one, and its children share a cache line or two.
class Queue {
 public:
  explicit Queue(Arena& arena) : heap_(arena) { heap_.reserve(256); }

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  const SimEvent& top() const { return heap_.front(); }

  void push(const SimEvent& event) {
    std::size_t hole = heap_.size();
    heap_.push_back(event);
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (!before(event, heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = event;
  }

  SimEvent pop() {
    const SimEvent first = heap_.front();
    const SimEvent last = heap_.back();
    heap_.pop_back();
    const std::size_t n = heap_.size();
    std::size_t hole = 0;
    while (n > 0) {
      const std::size_t child = 4 * hole + 1;
      if (child >= n) break;
      std::size_t least = child;
      const std::size_t end = child + 4 < n ? child + 4 : n;
      for (std::size_t c = child + 1; c < end; ++c) {
        if (before(heap_[c], heap_[least])) least = c;
      }
      if (!before(heap_[least], last)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    if (n > 0) heap_[hole] = last;
    return first;
  }

 private:
  static bool before(const SimEvent& a, const SimEvent& b) {
    return a.at.ns != b.at.ns ? a.at.ns < b.at.ns : a.sequence < b.sequence;
  }
  Vec<SimEvent> heap_;
};

}  // namespace mqlab::sim
