#include "core/seam/effect.h"

#include <algorithm>
#include <cstring>

namespace mqlab {
namespace {
constexpr std::size_t chunk_bytes = 1 << 16;
}

std::byte* Effects::room(std::size_t bytes) {
  bytes = (bytes + 15) & ~std::size_t{15};
  std::size_t chunk = used_ / chunk_bytes;
  std::size_t offset = used_ % chunk_bytes;
  if (offset + bytes > chunk_bytes) {
    ++chunk;
    offset = 0;
  }
  while (chunks_.size() <= chunk) chunks_.emplace_back(chunk_bytes);
  if (chunks_[chunk].size() < bytes) chunks_[chunk].resize(bytes);
  // A block larger than a chunk takes a chunk of its own: the next one starts behind it.
  used_ = chunk * chunk_bytes + std::min(offset + bytes, chunk_bytes);
  return chunks_[chunk].data() + offset;
}

template <class T>
std::span<const T> Effects::keep(std::span<const T> values) {
  if (values.empty()) return {};
  std::byte* to = room(values.size_bytes());
  std::memcpy(to, values.data(), values.size_bytes());
  return {reinterpret_cast<const T*>(to), values.size()};
}

Bytes Effects::keep(Bytes bytes) {
  if (bytes.size == 0) return {};
  std::byte* to = room(bytes.size);
  std::memcpy(to, bytes.data, bytes.size);
  return {to, bytes.size};
}

Effect& Effects::add(Kind kind, bool settles) {
  Effect& effect = list_.emplace_back();
  effect.kind = kind;
  effect.op = settles ? next_op_++ : 0;
  return effect;
}

OpId Effects::publish(std::uint8_t output, const Message& message) {
  Effect& e = add(Kind::publish, true);
  e.port = output;
  e.message = message;
  e.message.payload = keep(message.payload);
  e.message.place = no_place;
  e.message.position = -1;
  return e.op;
}

OpId Effects::fetch(std::uint8_t input, std::uint32_t max, Duration wait) {
  Effect& e = add(Kind::fetch, true);
  e.port = input;
  e.max = max;
  e.wait = wait;
  return e.op;
}

OpId Effects::ack(std::span<const std::uint64_t> receipts) {
  Effect& e = add(Kind::ack, true);
  e.receipts = keep(receipts);
  return e.op;
}

OpId Effects::nack(std::span<const std::uint64_t> receipts, Duration delay) {
  Effect& e = add(Kind::nack, true);
  e.receipts = keep(receipts);
  e.wait = delay;
  return e.op;
}

OpId Effects::progress(std::span<const std::uint64_t> receipts) {
  Effect& e = add(Kind::progress, true);
  e.receipts = keep(receipts);
  return e.op;
}

OpId Effects::terminate(std::span<const std::uint64_t> receipts) {
  Effect& e = add(Kind::terminate, true);
  e.receipts = keep(receipts);
  return e.op;
}

OpId Effects::commit(std::span<const PlacePosition> next_positions, bool sync, std::uint32_t generation) {
  Effect& e = add(Kind::commit, true);
  e.places = keep(next_positions);
  e.sync = sync;
  e.generation = generation;
  return e.op;
}

OpId Effects::begin_transaction() { return add(Kind::begin, true).op; }

OpId Effects::offsets_to_transaction(std::span<const PlacePosition> next_positions,
                                     std::uint32_t generation) {
  Effect& e = add(Kind::offsets_to_transaction, true);
  e.places = keep(next_positions);
  e.generation = generation;
  return e.op;
}

OpId Effects::commit_transaction() { return add(Kind::commit_transaction, true).op; }
OpId Effects::abort_transaction() { return add(Kind::abort_transaction, true).op; }

OpId Effects::accept(std::span<const PlacePosition> start, std::uint32_t generation) {
  Effect& e = add(Kind::accept, true);
  e.places = keep(start);
  e.generation = generation;
  return e.op;
}

OpId Effects::release(std::span<const PlacePosition> places, std::uint32_t generation) {
  Effect& e = add(Kind::release, true);
  e.places = keep(places);
  e.generation = generation;
  return e.op;
}

OpId Effects::seek(std::span<const PlacePosition> positions) {
  Effect& e = add(Kind::seek, true);
  e.places = keep(positions);
  return e.op;
}

OpId Effects::pause(std::span<const PlacePosition> places) {
  Effect& e = add(Kind::pause, true);
  e.places = keep(places);
  return e.op;
}

OpId Effects::resume(std::span<const PlacePosition> places) {
  Effect& e = add(Kind::resume, true);
  e.places = keep(places);
  return e.op;
}

OpId Effects::flush() { return add(Kind::flush, true).op; }
OpId Effects::leave() { return add(Kind::leave, true).op; }

void Effects::exit() { add(Kind::stop, false); }

OpId Effects::store_read(std::uint64_t key) {
  Effect& e = add(Kind::store_read, true);
  e.message.receipt = key;
  return e.op;
}

OpId Effects::store_write(std::span<const StoreWrite> batch, std::int64_t expected_version) {
  Effect& e = add(Kind::store_write, true);
  e.expected = expected_version;
  std::byte* to = room(batch.size_bytes());
  auto* writes = reinterpret_cast<StoreWrite*>(to);
  std::memcpy(to, batch.data(), batch.size_bytes());
  for (std::size_t i = 0; i < batch.size(); ++i) writes[i].value = keep(batch[i].value);
  e.writes = {writes, batch.size()};
  return e.op;
}

OpId Effects::call(std::uint8_t service, const Message& request) {
  Effect& e = add(Kind::call, true);
  e.port = service;
  e.message = request;
  e.message.payload = keep(request.payload);
  return e.op;
}

OpId Effects::reply(const Message& message) {
  Effect& e = add(Kind::reply, true);
  e.message = message;
  e.message.payload = keep(message.payload);
  return e.op;
}

void Effects::handle(const Message& message) { add(Kind::handle, false).message = message; }

void Effects::complete(const Message& message, Outcome outcome) {
  Effect& e = add(Kind::complete, false);
  e.message = message;
  e.outcome = outcome;
}

}  // namespace mqlab
