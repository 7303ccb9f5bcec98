// A worker's transcript: all that a fresh module needs to be led through the same life again, and what it answered.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/seam/effect.h"
#include "core/seam/event.h"
#include "core/seam/module.h"

namespace mqlab {

/// Appends one event (with its payloads) and the time it came, as bytes that read_transcript understands.
void append_event(std::vector<std::byte>& out, const Now& now, const Event& event);

/// Leads `module` through the recorded events and calls `each(now, event, effects)` after every step. A record cut
/// short by a kill ends the walk quietly. Throws std::runtime_error on bytes that are no transcript.
void replay_transcript(std::span<const std::byte> bytes, Module& module,
                       void (*each)(void* context, const Now&, const Event&, std::span<const Effect>), void* context);

}  // namespace mqlab
