// A message as a module sees it.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/base/time.h"

namespace mqlab {

/// Bytes owned by somebody else. In an event or effect they are valid during that call only.
struct Bytes {
  const std::byte* data = nullptr;
  std::uint32_t size = 0;
};

/// Trivially copyable. A module fills the first block; a port fills the second on delivery.
struct Message {
  MessageId id = 0;          ///< the request this message carries; a stage keeps the id of its input
  MessageId cause = 0;       ///< the input message it was made from; 0 = made by a workload
  std::uint32_t key = 0;     ///< key number; equal numbers are equal keys
  std::uint32_t size = 0;    ///< declared bytes of the value; ≥ payload.size, the rest is padding; 0 = none
  std::uint64_t digest = 0;  ///< of the content; a phantom or a corrupted record shows in it
  Bytes payload = {};        ///< the bytes that matter to a module, if any

  PlaceId place = no_place;    ///< where it was read from
  std::uint32_t attempt = 1;   ///< delivery attempt as the broker counts it; 1 where it does not count
  std::int64_t position = -1;  ///< offset or stream sequence
  Instant timestamp = {};      ///< wall time the record carries
  std::uint64_t receipt = 0;   ///< queues: what ack, nack, progress and terminate name

  /// It has no value: Kafka's null, which tells a compacted topic to forget its key.
  bool tombstone() const { return size == 0 && payload.size == 0; }
};

/// A position in a log. For commit: the next position to read.
struct PlacePosition {
  PlaceId place = no_place;
  std::int64_t position = -1;
};

}  // namespace mqlab
