// Records and batches of them, as producers, brokers and consumers share them, and what they take on the
// wire.
#pragma once
#include <bit>
#include <cstdint>

#include "core/base/arena.h"
#include "core/base/ids.h"
#include "core/base/time.h"

namespace mqlab::sim::kafka {

/// One record as a producer gave it.
struct Record {
  MessageId id = 0;
  MessageId cause = 0;
  std::uint32_t key = 0;
  std::uint32_t size = 0;  ///< declared bytes of the value
  std::uint64_t digest = 0;
  Instant timestamp = {};
  const std::byte* payload = nullptr;  ///< in the arena, owned by the batch
  std::uint32_t payload_size = 0;

  bool tombstone() const { return size == 0 && payload_size == 0; }
};

enum class Control : std::uint8_t { none, commit, abort };

/// A record batch. Shared by the producer that may resend it, the leader's log
/// and the followers' logs: counted, given back when the last of them drops it.
/// Offsets are the log's own (see LogEntry on the broker's side).
struct Batch {
  std::uint32_t references = 1;
  std::uint32_t count = 0;     ///< records; 1 for a control batch, which has no records
  std::uint32_t bytes = 0;     ///< encoded size: 61 + per record (see record_bytes)
  std::int64_t producer = -1;  ///< producer id; −1 = not idempotent
  std::int16_t epoch = -1;
  std::int32_t first_sequence = -1;
  bool transactional = false;
  Control control = Control::none;
  bool payloads = false;       ///< some record has a payload to give back
  std::uint32_t capacity = 0;  ///< room in `records`; ≥ count
  Record* records = nullptr;   ///< `count` of them, in the arena
};

/// Drops one reference; the last one gives records and payloads back.
inline void release(Arena& arena, Batch* batch) {
  if (--batch->references > 0) return;
  if (batch->payloads) {
    for (std::uint32_t i = 0; i < batch->count; ++i) {
      const Record& r = batch->records[i];
      if (r.payload_size > 0) arena.deallocate(const_cast<std::byte*>(r.payload), r.payload_size);
    }
  }
  if (batch->capacity > 0) arena.deallocate(batch->records, batch->capacity * sizeof(Record));
  arena.recycle(batch);
}

/// Source of the overheads: kafka DefaultRecord (21 at most, varints in fact),
/// DefaultRecordBatch (61).
inline constexpr std::uint32_t batch_overhead_bytes = 61;

/// Bytes of a zigzag varint of n ≥ 0 (kafka ByteUtils.sizeOfVarint).
constexpr std::uint32_t varint_bytes(std::uint64_t n) {
  return (static_cast<std::uint32_t>(std::bit_width(n << 1 | 1)) + 6) / 7;
}
/// "k<number>"; key number 0 = no key, −1 byte.
constexpr std::int32_t key_bytes(std::uint32_t key) {
  if (key == 0) return -1;
  std::int32_t bytes = 1;
  for (; key > 0; key /= 10) ++bytes;
  return bytes;
}
/// What a value carries of the lab's own goes in a record header where there is no value: its name and 40
/// bytes, each with its length.
inline constexpr std::uint32_t tombstone_header_bytes = 1 + 5 + 1 + 40;
/// Key, value and header count with their lengths; `key_bytes` < 0 = no key; no value bytes = null. Records
/// with a value have no headers (kafka DefaultRecord.sizeOf).
constexpr std::uint32_t record_body_bytes(std::int32_t key_bytes, std::uint32_t value_bytes) {
  const std::uint32_t key = key_bytes < 0 ? 1
                                          : varint_bytes(static_cast<std::uint32_t>(key_bytes)) +
                                                static_cast<std::uint32_t>(key_bytes);
  const std::uint32_t headers = value_bytes == 0 ? tombstone_header_bytes : 0;
  return key + varint_bytes(value_bytes) + value_bytes + 1 + headers;
}
/// Encoded bytes of one record in a batch (kafka DefaultRecord.sizeInBytes):
/// length, attributes, timestamp and offset relative to the batch's first,
/// body.
constexpr std::uint32_t record_bytes(std::int32_t key_bytes, std::uint32_t value_bytes,
                                     std::uint32_t offset_delta, std::uint64_t timestamp_delta_ms) {
  const std::uint32_t inner = 1 + varint_bytes(timestamp_delta_ms) + varint_bytes(offset_delta) +
                              record_body_bytes(key_bytes, value_bytes);
  return varint_bytes(inner) + inner;
}

}  // namespace mqlab::sim::kafka
