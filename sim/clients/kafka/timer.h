// One deadline of a client that moves often and fires seldom: moving it later costs nothing, and there is at
// most one event in the queue that counts.
#pragma once
#include <cstdint>

#include "core/base/time.h"
#include "sim/queue.h"
#include "sim/world.h"

namespace mqlab::sim::kafka::client {

class Timer {
 public:
  Instant due() const { return due_; }
  void cancel() { due_ = Instant::never(); }

  /// Fires at `at`, earlier or later than it would have.
  void set(World& world, Component& target, std::uint16_t kind, Instant at) {
    due_ = at;
    arm(world, target, kind);
  }
  /// Fires at `at` at the latest.
  void set_by(World& world, Component& target, std::uint16_t kind, Instant at) {
    if (at < due_) set(world, target, kind, at);
  }
  /// For the target's on(): whether this event means that the deadline has come.
  bool fired(World& world, Component& target, const SimEvent& event) {
    if (event.y != generation_) return false;
    armed_ = Instant::never();
    if (due_ > world.now()) {
      arm(world, target, event.kind);
      return false;
    }
    due_ = Instant::never();
    return true;
  }

 private:
  void arm(World& world, Component& target, std::uint16_t kind) {
    if (due_ >= armed_) return;  // what is in the queue comes first and moves itself
    armed_ = due_ < world.now() ? world.now() : due_;
    world.schedule(armed_, target, kind, 0, 0, ++generation_);
  }

  Instant due_ = Instant::never();
  Instant armed_ = Instant::never();
  std::uint32_t generation_ = 0;
};

}  // namespace mqlab::sim::kafka::client
