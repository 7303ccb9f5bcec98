#include "sim/network/flows.h"

#include <algorithm>

#include "core/base/check.h"
#include "sim/world.h"

namespace mqlab::sim {

Flows::Flows(World& world, Fabric& fabric, std::uint32_t processes)
    : world_(world),
      fabric_(fabric),
      processes_(processes),
      current_(world.arena()),
      streams_(world.arena()) {
  current_.resize(std::size_t{processes} * processes, nullptr);
}

void Flows::send(ProcessId from, ProcessId to, std::uint32_t bytes, const SimEvent& event, Duration held) {
  Stream*& stream = current_[index(from, to)];
  if (stream == nullptr) stream = world_.arena().make<Stream>(world_.arena(), from, to);
  if (stream->waiting.empty()) streams_.push_back(stream);
  stream->waiting.push_back({event, world_.now() + held, bytes});
  if (stream->waiting.size() == 1) begin(*stream, world_.now());
}

/// The first of those that wait, if its time has come.
void Flows::begin(Stream& stream, Instant now) {
  const Message& first = stream.waiting.front();
  if (first.release > now) return;
  stream.flow = ++flows_;
  fabric_.begin(now, stream.flow, stream.from, stream.to, first.bytes);
}

void Flows::abandon(Stream& stream) {
  if (stream.flow != 0) fabric_.abandon(world_.now(), stream.flow);
  stream.flow = 0;
}

void Flows::ended(const Fabric::Ended& ended) {
  const auto at =
      std::find_if(streams_.begin(), streams_.end(), [&](const Stream* s) { return s->flow == ended.flow; });
  MQLAB_CHECK(at != streams_.end());
  Stream& stream = **at;
  SimEvent event = stream.waiting.front().event;
  event.at = ended.at + fabric_.latency(stream.from, stream.to);
  world_.push(event);
  stream.waiting.pop_front();
  stream.flow = 0;
  if (!stream.waiting.empty()) begin(stream, ended.at);
}

/// When the first of what is held back may go; `until`, if that is sooner.
Instant Flows::first_release(Instant until) const {
  Instant soonest = until;
  for (const Stream* s : streams_) {
    if (s->flow == 0 && !s->waiting.empty()) soonest = std::min(soonest, s->waiting.front().release);
  }
  return soonest;
}

void Flows::forget_idle() {
  std::erase_if(streams_, [](const Stream* s) { return s->waiting.empty(); });
}

void Flows::advance(Instant horizon) {
  for (;;) {
    forget_idle();
    if (streams_.empty()) return;
    const Instant until = world_.next_event(horizon);
    const Instant soonest = first_release(until);
    if (const Fabric::Ended flow = fabric_.next(soonest); flow.flow != 0) {
      ended(flow);
      continue;
    }
    bool begun = false;
    for (Stream* s : streams_) {
      if (s->flow != 0 || s->waiting.empty() || s->waiting.front().release > soonest) continue;
      begin(*s, soonest);
      begun = true;
    }
    if (!begun) return;
  }
}

}  // namespace mqlab::sim
