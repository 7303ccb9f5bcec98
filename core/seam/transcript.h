// A worker's transcript: all that a fresh module needs to be led through the same life again, and what it
// answered.
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/seam/effect.h"
#include "core/seam/event.h"
#include "core/seam/module.h"

namespace mqlab {

/// Appends one event (with its payloads) and the time it came. Fixed little-endian layout, no padding.
void append_event(std::vector<std::byte>& out, const Now& now, const Event& event);

using OnStep = std::function<void(const Now&, const Event&, std::span<const Effect>)>;

/// Leads `module` through the recorded events and tells what it answered to each. A record cut short by a
/// kill ends the walk quietly. Throws std::runtime_error on bytes that are no transcript. Returns how many
/// events there were.
std::size_t replay_transcript(std::span<const std::byte> bytes, Module& module, const OnStep& each);

}  // namespace mqlab
