#include "core/scenario/partitioner.h"

#include <array>

#include <stdexcept>
#include <string>

#include "core/base/draw.h"
#include "core/scenario/subject.h"

namespace mqlab {
namespace {

constexpr std::array<std::uint32_t, 256> crc_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) != 0 ? 0xedb88320u : 0u);
    table[i] = c;
  }
  return table;
}();

std::uint32_t byte_at(std::string_view bytes, std::size_t i) { return static_cast<unsigned char>(bytes[i]); }

}  // namespace

std::uint32_t murmur2(std::string_view bytes) {
  constexpr std::uint32_t m = 0x5bd1e995;
  const std::size_t length = bytes.size();
  std::uint32_t h = 0x9747b28cu ^ static_cast<std::uint32_t>(length);
  std::size_t i = 0;
  for (; i + 4 <= length; i += 4) {
    std::uint32_t k = byte_at(bytes, i) | byte_at(bytes, i + 1) << 8 | byte_at(bytes, i + 2) << 16 |
                      byte_at(bytes, i + 3) << 24;
    k *= m;
    k ^= k >> 24;
    k *= m;
    h = (h * m) ^ k;
  }
  if (i < length) {
    for (std::size_t tail = length - i; tail > 0; --tail)
      h ^= byte_at(bytes, i + tail - 1) << (8 * (tail - 1));
    h *= m;
  }
  h ^= h >> 13;
  h *= m;
  return h ^ (h >> 15);
}

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t c = 0xffffffffu;
  for (std::size_t i = 0; i < bytes.size(); ++i) c = crc_table[(c ^ byte_at(bytes, i)) & 0xff] ^ (c >> 8);
  return ~c;
}

std::uint32_t fnv1a(std::string_view bytes) {
  std::uint32_t h = 0x811c9dc5;
  for (std::size_t i = 0; i < bytes.size(); ++i) h = (h ^ byte_at(bytes, i)) * 0x01000193u;
  return static_cast<std::int32_t>(h) < 0 ? 0u - h : h;
}

Partitioner partitioner_named(std::string_view name) {
  constexpr std::array<std::string_view, 7> names = {
      "random", "consistent", "consistent_random", "murmur2", "murmur2_random", "fnv1a", "fnv1a_random"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Partitioner>(i);
  }
  throw std::out_of_range("partitioner " + std::string(name));
}

bool hashes(Partitioner partitioner, bool keyed) {
  switch (partitioner) {
    case Partitioner::random:
    case Partitioner::any_key:
      return false;
    case Partitioner::consistent:
    case Partitioner::murmur2:
    case Partitioner::fnv1a:
      return true;
    case Partitioner::consistent_random:
    case Partitioner::murmur2_random:
    case Partitioner::fnv1a_random:
      return keyed;
  }
  return keyed;
}

std::uint32_t partition_of_key(Partitioner partitioner, std::uint32_t key, std::uint32_t partitions) {
  const std::string text = key == 0 ? "" : key_text(key);
  switch (partitioner) {
    case Partitioner::murmur2:
    case Partitioner::murmur2_random:
      return (murmur2(text) & 0x7fffffffu) % partitions;
    case Partitioner::fnv1a:
    case Partitioner::fnv1a_random:
      return fnv1a(text) % partitions;
    default:
      return crc32(text) % partitions;
  }
}

std::uint32_t partition_from(std::uint64_t bits, std::uint32_t partitions) {
  return static_cast<std::uint32_t>(below(bits, partitions));
}

}  // namespace mqlab
