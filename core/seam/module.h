// The application's side of a pipeline: a state machine without clock, thread, socket, random device or
// global.
#pragma once
#include "core/base/time.h"
#include "core/seam/effect.h"
#include "core/seam/event.h"

namespace mqlab {

class Module {
 public:
  virtual ~Module() = default;
  /// What happened → what to do. Called for one event at a time; results of effects come back as later
  /// events.
  virtual void handle(const Now& now, const Event& event, Effects& effects) = 0;
  /// When to be woken with a tick if nothing happens before; on the monotonic clock.
  virtual Instant deadline() const { return Instant::never(); }
};

}  // namespace mqlab
