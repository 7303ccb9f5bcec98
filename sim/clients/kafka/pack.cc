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
