// The driver rule, one function for both worlds.
#pragma once
#include "core/seam/effect.h"
#include "core/seam/event.h"
#include "core/seam/module.h"

namespace mqlab {

/// What a world gives the driver.
class Host {
 public:
  virtual ~Host() = default;
  /// A new row at the end of the history with time, process, incarnation, kind and phase set; the driver fills
  /// the rest at once. Valid until the next call.
  virtual Row& row(Kind kind, Phase phase) = 0;
  /// Tests the armed anchors against a finished row. True: the process ends here, nothing more is carried out.
  /// (A live worker stops itself inside and returns when it is continued.)
  virtual bool anchored(const Row& row) = 0;
  /// Starts an effect. Its result comes back as an event, never from inside this call.
  virtual void carry_out(const Effect& effect) = 0;
  /// For transcripts; called before the event's rows are written.
  virtual void record(const Now&, const Event&) {}
};

/// Append the event's rows; handle; then for each effect in turn append its invoke row, test the armed anchors,
/// carry it out. Returns false when an anchor ended the process. `next_op` is the incarnation's op counter.
bool drive(Module& module, Host& host, Effects& effects, OpId& next_op, const Now& now, const Event& event);

}  // namespace mqlab
