#include "sim/clients/kafka/pack.h"

#include <algorithm>
#include <cstring>

namespace mqlab::sim::kafka::client {

Pack* new_pack(Arena& arena, std::uint32_t capacity) {
  Pack* pack = arena.make<Pack>();
  pack->batch = arena.make<Batch>();
  pack->batch->capacity = capacity;
  pack->batch->bytes = batch_overhead_bytes;
  pack->batch->records = static_cast<Record*>(arena.allocate(capacity * sizeof(Record)));
  pack->ops = static_cast<OpId*>(arena.allocate(capacity * sizeof(OpId)));
  return pack;
}

void free_pack(Arena& arena, Pack* pack) {
  arena.deallocate(pack->ops, pack->batch->capacity * sizeof(OpId));
  release(arena, pack->batch);
  arena.recycle(pack);
}

void grow(Arena& arena, Pack& pack) {
  Batch& batch = *pack.batch;
  const std::uint32_t capacity = batch.capacity * 2;
  auto* records = static_cast<Record*>(arena.allocate(capacity * sizeof(Record)));
  auto* ops = static_cast<OpId*>(arena.allocate(capacity * sizeof(OpId)));
  std::memcpy(static_cast<void*>(records), batch.records, batch.count * sizeof(Record));
  std::memcpy(ops, pack.ops, batch.count * sizeof(OpId));
  arena.deallocate(batch.records, batch.capacity * sizeof(Record));
  arena.deallocate(pack.ops, batch.capacity * sizeof(OpId));
  batch.records = records;
  batch.capacity = capacity;
  pack.ops = ops;
}

void detach(Arena& arena, Pack& pack) {
  if (pack.batch->references == 1) return;
  Batch* copy = arena.make<Batch>(*pack.batch);
  copy->references = 1;
  copy->records = static_cast<Record*>(arena.allocate(copy->capacity * sizeof(Record)));
  std::memcpy(static_cast<void*>(copy->records), pack.batch->records, copy->count * sizeof(Record));
  for (std::uint32_t i = 0; copy->payloads && i < copy->count; ++i) {
    Record& r = copy->records[i];
    if (r.payload_size == 0) continue;
    auto* bytes = static_cast<std::byte*>(arena.allocate(r.payload_size));
    std::memcpy(bytes, r.payload, r.payload_size);
    r.payload = bytes;
  }
  release(arena, pack.batch);
  pack.batch = copy;
}

namespace {

void add(Arena& arena, Pack& to, const Pack& from) {
  Batch& batch = *to.batch;
  for (std::uint32_t i = 0; i < from.batch->count; ++i) {
    Record record = from.batch->records[i];
    const Instant first = batch.count == 0 ? record.timestamp : batch.records[0].timestamp;
    const auto delta = static_cast<std::uint64_t>((record.timestamp - first).ns / 1'000'000);
    batch.bytes += record_bytes(key_bytes(record.key), record.size, batch.count, delta);
    if (record.payload_size > 0) {
      auto* bytes = static_cast<std::byte*>(arena.allocate(record.payload_size));
      std::memcpy(bytes, record.payload, record.payload_size);
      record.payload = bytes;
      batch.payloads = true;
    }
    batch.records[batch.count] = record;
    to.ops[batch.count++] = from.ops[i];
  }
}

}  // namespace

Pack* join(Arena& arena, Pack* first, Pack* second) {
  Pack* both = new_pack(arena, first->batch->count + second->batch->count);
  add(arena, *both, *first);
  add(arena, *both, *second);
  both->partition = first->partition;
  both->reserved = first->reserved + second->reserved;
  both->number = first->number;
  both->created = std::min(first->created, second->created);
  both->attempts = std::max(first->attempts, second->attempts);
  both->retries = std::max(first->retries, second->retries);
  both->retried = first->retried || second->retried;
  both->possibly_stored = first->possibly_stored || second->possibly_stored;
  both->closed = true;
  free_pack(arena, first);
  free_pack(arena, second);
  return both;
}

void insert_sorted(Ring<Pack*>& queue, Pack* pack) {
  queue.push_front(pack);
  for (std::uint32_t i = 0; i + 1 < queue.size() && queue[i + 1]->number < pack->number; ++i) {
    std::swap(queue[i], queue[i + 1]);
  }
}

void remove(Ring<Pack*>& queue, const Pack* pack) {
  std::uint32_t at = 0;
  while (at < queue.size() && queue[at] != pack) ++at;
  if (at == queue.size()) return;
  for (; at > 0; --at) queue[at] = queue[at - 1];
  queue.pop_front();
}

}  // namespace mqlab::sim::kafka::client
