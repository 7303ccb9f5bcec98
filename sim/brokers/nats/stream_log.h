// The messages of a stream by sequence, in chunks that never move.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/base/arena.h"
#include "core/base/check.h"
#include "sim/brokers/nats/protocol.h"

namespace mqlab::sim::nats {

class StreamLog {
 public:
  explicit StreamLog(Arena& arena) : arena_(arena), chunks_(arena), payloads_(arena) {}

  std::int64_t last() const { return last_; }
  /// 1 ≤ sequence ≤ last().
  const Record& operator[](std::int64_t sequence) const {
    const auto i = static_cast<std::uint64_t>(sequence - 1);
    return chunks_[i / chunk_records][i % chunk_records];
  }
  Bytes payload(std::int64_t sequence) const {
    if (payloads_.empty()) return {};
    const auto at = std::ranges::lower_bound(payloads_, sequence, {}, &Payload::sequence);
    return at != payloads_.end() && at->sequence == sequence ? at->bytes : Bytes{};
  }

  /// The new message gets sequence last() + 1.
  void push(const Record& record, Bytes payload) {
    const auto i = static_cast<std::uint64_t>(last_++);
    if (i / chunk_records == chunks_.size()) {
      chunks_.push_back(static_cast<Record*>(arena_.allocate(chunk_records * sizeof(Record))));
    }
    chunks_[i / chunk_records][i % chunk_records] = record;
    if (payload.size > 0) payloads_.push_back({last_, payload});
  }
  /// Forgets messages above `last`.
  void truncate(std::int64_t last) {
    MQLAB_CHECK(last >= 0 && last <= last_);
    last_ = last;
    while (!payloads_.empty() && payloads_.back().sequence > last) payloads_.pop_back();
  }

 private:
  static constexpr std::uint64_t chunk_records = 128;
  struct Payload {
    std::int64_t sequence;
    Bytes bytes;
  };
  Arena& arena_;
  std::int64_t last_ = 0;
  Vec<Record*> chunks_;
  Vec<Payload> payloads_;  ///< of the messages that have one, by sequence
};

}  // namespace mqlab::sim::nats
