// A producer's record batch on its way from the accumulator to the log, with the ops that wait for it.
#pragma once
#include <cstdint>

#include "core/base/arena.h"
#include "core/base/ids.h"
#include "core/base/ring.h"
#include "core/seam/message.h"
#include "sim/brokers/kafka/protocol.h"
#include "sim/clients/kafka/wire.h"

namespace mqlab::sim::kafka::client {

struct Pack {
  Batch* batch = nullptr;
  OpId* ops = nullptr;          ///< one for each record; room for batch->capacity
  std::uint32_t partition = 0;  ///< index among the producer's partitions
  std::uint32_t reserved = 0;   ///< bytes it holds of the buffer
  std::uint64_t number = 0;     ///< rises in the order of appending, over all partitions
  Instant created = {};
  Instant retry_at = {};       ///< not to be sent before
  std::uint32_t attempts = 0;  ///< times it went out
  std::uint32_t retries = 0;   ///< librdkafka: those that count against the limit
  bool retried = false;        ///< was put back into the queue
  bool closed = false;         ///< takes no more records
  bool has_sequence = false;
  bool renumbered = false;  ///< its sequence was set anew while it may have been in flight
  bool in_flight = false;
  bool possibly_stored = false;  ///< an attempt ended without telling
  bool settled = false;          ///< its ops have been told already (it timed out in flight)
};

/// What a producer keeps of one partition.
struct OutPartition {
  explicit OutPartition(Arena& arena) : queue(arena), numbered(arena) {}

  PlaceId place = no_place;
  NodeIndex lane = no_node;  ///< the node whose list it is on; no_node = none
  bool listed = false;
  Ring<Pack*> queue;       ///< to be sent, first to last
  Pack* open = nullptr;    ///< the last of the queue, when it still takes records
  std::uint32_t hint = 8;  ///< records the latest full batch had
  std::uint32_t packs_in_flight = 0;
  std::uint32_t records_in_flight = 0;
  // idempotence
  Ring<Pack*> numbered;        ///< have a sequence and are not done, in its order
  std::int64_t producer = -1;  ///< whose epoch and sequence these are
  std::int16_t epoch = -1;
  std::int32_t next_sequence = 0;
  std::int32_t acked_sequence = -1;  ///< last of the latest batch that was acknowledged
  bool unresolved = false;  ///< java: a numbered batch timed out; nothing new until the rest is through
  bool drain = false;       ///< librdkafka: nothing is sent until nothing is in flight
  // transactions
  std::uint32_t transaction = 0;  ///< the latest it was added to
};

/// Makes and gives back packs.
Pack* new_pack(Arena& arena, std::uint32_t capacity);
void free_pack(Arena& arena, Pack* pack);
/// Room for one more record.
void grow(Arena& arena, Pack& pack);
/// Replaces a batch that a log may hold already by a copy that can be numbered anew.
void detach(Arena& arena, Pack& pack);

/// Both in one, the second behind the first; gives them back.
Pack* join(Arena& arena, Pack* first, Pack* second);

/// Inserts by `number`, or at the head.
void insert_sorted(Ring<Pack*>& queue, Pack* pack);
void remove(Ring<Pack*>& queue, const Pack* pack);

}  // namespace mqlab::sim::kafka::client
