// The driver rule, one function for both worlds.
#pragma once
#include "core/seam/effect.h"
#include "core/seam/event.h"
#include "core/seam/module.h"

namespace mqlab {

/// What an armed anchor asks of the process whose row set it off.
enum class Gate : std::uint8_t {
  go,    ///< nothing
  hold,  ///< the process is paused: what follows is handed to defer() and carried out later
  die,   ///< the process ends here; nothing more is carried out
};

/// What the driver keeps of one incarnation between calls.
struct DriverState {
  OpId next_op = 1;
  std::uint32_t transaction = 0;  ///< number of the latest transaction begun
  bool in_transaction = false;    ///< from its begin until its commit or abort has settled
};

/// What a world gives the driver.
class Host {
 public:
  virtual ~Host() = default;
  /// A new row at the end of the history with time, process, incarnation, kind and phase set; the driver
  /// fills the rest at once. Valid until the next call.
  virtual Row& row(Kind kind, Phase phase) = 0;
  /// Tests the armed anchors against a finished row. (A live worker stops itself inside and returns `go` when
  /// it is continued.)
  virtual Gate anchored(const Row& row) = 0;
  /// Starts an effect. Its result comes back as an event, never from inside this call.
  virtual void carry_out(const Effect& effect) = 0;
  /// After `hold`: the event still to be handled, or the effects still to be carried out (the first has its
  /// rows already). Both are valid during the call only.
  virtual void defer(const Event&) {}
  virtual void defer(std::span<const Effect>) {}
  /// For transcripts; called before the event's rows are written.
  virtual void record(const Now&, const Event&) {}
};

/// Append the event's rows; handle; then for each effect in turn append its invoke row, test the armed
/// anchors, carry it out. `die` when an anchor ended the process.
Gate drive(Module& module, Host& host, Effects& effects, DriverState& state, const Now& now,
           const Event& event);
/// Goes on with a deferred event: as drive(), but its rows are there already.
Gate drive_deferred(Module& module, Host& host, Effects& effects, DriverState& state, const Now& now,
                    const Event& event);
/// Goes on with deferred effects.
Gate carry_out_deferred(Host& host, DriverState& state, std::span<const Effect> effects);

}  // namespace mqlab
