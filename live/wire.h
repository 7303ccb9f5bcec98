// How the lab's messages look on a real broker: a header of 40 bytes, the payload, padding up to the declared
// size; of a message without value the header alone. Little-endian. The header carries what the simulated
// world keeps beside a message, so that both tell the same.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/seam/message.h"

namespace mqlab::live {

inline constexpr std::size_t wire_header_bytes = 40;

/// Who wrote a record; the auditor names the transaction by it.
struct Writer {
  ProcessId process = no_process;
  Incarnation incarnation = 0;
  std::uint32_t transaction = 0;  ///< number within the incarnation; 0 = none
  bool operator==(const Writer&) const = default;
};

struct WireMessage {
  Message message;  ///< id, cause, key, size, digest, payload (pointing into what was decoded)
  Writer writer;
};

/// The bytes of the value: at least the header and payload, at most those and the declared size's padding.
void encode(const Message& message, const Writer& writer, std::vector<std::byte>& out);
/// Empty when the bytes are no message of the lab's, or cut short.
std::optional<WireMessage> decode(std::span<const std::byte> value);

}  // namespace mqlab::live
