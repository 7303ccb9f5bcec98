// The event queue of the simulated world: exact (time, sequence) order, in the arena.
#pragma once
#include <cstdint>
#include <span>

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

/// A four-ary heap: half the levels of a binary one, and its children share a cache line or two.
class Queue {
 public:
  explicit Queue(Arena& arena) : heap_(arena) { heap_.reserve(256); }

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  const SimEvent& top() const { return heap_.front(); }

  void push(const SimEvent& event) {
    heap_.push_back(event);
    rise(heap_.size() - 1, event);
  }

  SimEvent pop() { return take(0); }

  /// In no order. `i` of take(i) is a place in here.
  std::span<const SimEvent> all() const { return heap_; }
  SimEvent take(std::size_t i) {
    const SimEvent taken = heap_[i];
    const SimEvent last = heap_.back();
    heap_.pop_back();
    if (i < heap_.size()) rise(sink(i, last), last);
    return taken;
  }

  static bool before(const SimEvent& a, const SimEvent& b) {
    return a.at.ns != b.at.ns ? a.at.ns < b.at.ns : a.sequence < b.sequence;
  }

 private:
  /// Puts `event` at the hole or above it.
  void rise(std::size_t hole, const SimEvent& event) {
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (!before(event, heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = event;
  }
  /// Where below the hole `last` belongs.
  std::size_t sink(std::size_t hole, const SimEvent& last) {
    const std::size_t n = heap_.size();
    while (true) {
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
    return hole;
  }

  Vec<SimEvent> heap_;
};

}  // namespace mqlab::sim
