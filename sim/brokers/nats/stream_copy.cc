// Mirrors and sources: a stream that takes its messages from others.
//
// A mirror has its origin's sequences, gaps too, and times; a stream with sources numbers what comes anew,
// stamps it anew, and knows of each message where it came from, so that it can go on behind the last one.
// [nats-server: stream.go processInboundMirrorMsg, processInboundSourceMsg, the header Nats-Stream-Source]
#include "sim/brokers/nats/cluster.h"
#include "sim/brokers/nats/stream.h"
#include "sim/world.h"

namespace mqlab::sim::nats {

std::int64_t Stream::next_of(std::uint32_t origin) const {
  if (values_.mirror) return log_.last() + 1;
  for (std::size_t i = copied_.size(); i-- > 0;) {
    if (copied_[i].origin == origin) return copied_[i].its + 1;
  }
  return 1;
}

void Stream::copy(std::uint32_t origin, const Copies::One& message) {
  Record record = message.record;
  record.form = (values_.origins[origin].form + record.form) & 15u;
  if (values_.mirror) {
    if (!store_takes(record)) return;
    while (log_.last() + 1 < message.sequence) skip();
    return append(record, message.payload);
  }
  if (record.has_id != 0 && first_with(record.id) != 0) return;
  if (!store_takes(record)) return;
  record.stored = cluster_.world().wall();
  copied_.push_back({log_.last() + 1, origin, message.sequence});
  append(record, message.payload);
}

/// The origin has no message of this sequence any more.
void Stream::skip() {
  const std::int64_t sequence = log_.last() + 1;
  const auto i = static_cast<std::uint64_t>(sequence);
  if (i / 64 >= removed_.size()) removed_.resize(i / 64 + 1, 0);
  removed_[i / 64] |= std::uint64_t{1} << (i % 64);
  append({}, {});
}

}  // namespace mqlab::sim::nats
