#include "live/wire.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace mqlab::live {
namespace {

constexpr std::uint16_t magic = 0x4c4d;  // "ML"

struct Header {
  std::uint16_t magic;
  std::uint16_t process;
  std::uint16_t incarnation;
  std::uint16_t version;
  std::uint32_t id;
  std::uint32_t cause;
  std::uint32_t key;
  std::uint32_t size;
  std::uint32_t payload_bytes;
  std::uint32_t transaction;
  std::uint64_t digest;
};
static_assert(sizeof(Header) == wire_header_bytes);
static_assert(std::endian::native == std::endian::little, "the wire format is the memory format");

}  // namespace

void encode(const Message& m, const Writer& writer, std::vector<std::byte>& out) {
  const Header header{magic,  writer.process, writer.incarnation, 1,       m.id, m.cause, m.key,
                      m.size, m.payload.size, writer.transaction, m.digest};
  const std::size_t carried = sizeof header + m.payload.size;
  out.resize(std::max<std::size_t>(m.size, carried));
  std::memcpy(out.data(), &header, sizeof header);
  if (m.payload.size > 0) std::memcpy(out.data() + sizeof header, m.payload.data, m.payload.size);
  // Padding that does not compress to nothing and costs nothing to make: the digest's bytes over and over.
  for (std::size_t i = carried; i < out.size(); i += sizeof m.digest) {
    std::memcpy(out.data() + i, &m.digest, std::min(sizeof m.digest, out.size() - i));
  }
}

std::optional<WireMessage> decode(std::span<const std::byte> value) {
  Header header{};
  if (value.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, value.data(), sizeof header);
  if (header.magic != magic || header.version != 1) return std::nullopt;
  const std::size_t carried = sizeof header + header.payload_bytes;
  if (value.size() != std::max<std::size_t>(header.size, carried)) return std::nullopt;
  WireMessage wire;
  Message& m = wire.message;
  m.id = header.id;
  m.cause = header.cause;
  m.key = header.key;
  m.size = header.size;
  m.digest = header.digest;
  if (header.payload_bytes > 0) m.payload = {value.data() + sizeof header, header.payload_bytes};
  wire.writer = {header.process, header.incarnation, header.transaction};
  return wire;
}

}  // namespace mqlab::live
