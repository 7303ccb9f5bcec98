#include "core/seam/partitioner.h"

#include <array>

#include "core/base/draw.h"

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

std::uint32_t partition_of_key(Flavour flavour, std::uint32_t key, std::uint32_t partitions) {
  const std::string text = key_text(key);
  return flavour == Flavour::java ? (murmur2(text) & 0x7fffffffu) % partitions : crc32(text) % partitions;
}

std::uint32_t partition_without_key(std::uint64_t bits, std::uint32_t partitions) {
  return static_cast<std::uint32_t>(below(bits, partitions));
}

}  // namespace mqlab
