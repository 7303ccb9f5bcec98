// The row: one fact of a run, the same 80 bytes in both worlds and for all brokers.
// docs/history.md is the page of meanings: what position and aux say for each kind.
#pragma once
#include <cstdint>
#include <string_view>

#include "core/base/ids.h"

namespace mqlab {

/// Append only: stored histories name kinds by number.
enum class Kind : std::uint8_t {
  // the life of a process and of its connection
  start,
  stop,
  up,
  down,
  blocked,
  unblocked,
  // the workload's request reaches a process; a record reaches it; its handler starts; it is done
  invoke,
  deliver,
  handle,
  complete,
  // effects on a broker
  publish,
  fetch,
  ack,
  nack,
  progress,
  terminate,
  commit,
  begin,
  offsets_to_transaction,
  commit_transaction,
  abort_transaction,
  seek,
  pause,
  resume,
  flush,
  leave,
  claim,
  list_pending,
  // the handshake of a rebalance
  assigned,
  accept,
  revoking,
  release,
  // stores, services, answers
  store_read,
  store_write,
  call,
  reply,
  // what the lab did: a fault, its end, the quiet point, and what the auditor found
  fault,
  heal,
  quiet,
  audit,
  audit_end,
  // a client library's request on the wire (anchor for "sent, answer unseen")
  request,
  // broker-internal, on request only
  append,
  high_watermark,
  marker,
  truncate,
  elect,
  // how many bytes the lab found a place to have on disk
  usage,
  count_
};

enum class Phase : std::uint8_t { invoke, ok, fail, unknown };

/// Bits of Row::flags.
namespace flag {
inline constexpr std::uint16_t duplicate = 1;  ///< publish ok: recognised as a repeat
inline constexpr std::uint16_t lost = 2;       ///< revoking: the partitions are gone already
inline constexpr std::uint16_t header = 4;     ///< head of a batch; aux = how many rows follow under this op
inline constexpr std::uint16_t aborted = 8;    ///< audit: record of an aborted transaction
inline constexpr std::uint16_t open = 16;      ///< audit: record of a transaction without an outcome
inline constexpr std::uint16_t timed_out =
    32;  ///< quiet fail: the run did not come to rest before the horizon
inline constexpr std::uint16_t dead_letter = 64;  ///< publish: goes to a dead-letter place
inline constexpr std::uint16_t tombstone = 128;   ///< a message without value
}  // namespace flag

struct Row {
  std::int64_t time = 0;       ///< nanoseconds since the run began
  std::int64_t position = -1;  ///< by kind; usually an offset or sequence
  std::int64_t aux = 0;        ///< by kind
  std::uint64_t digest = 0;
  OpId op = 0;
  MessageId message = 0;
  MessageId cause = 0;
  PlaceId place = no_place;
  std::uint32_t key = 0;
  std::uint32_t transaction = 0;  ///< number of the process's transaction this belongs to; 0 = none
  std::uint32_t epoch = 0;        ///< group generation, producer epoch or leader epoch, by kind
  std::uint32_t size = 0;         ///< declared bytes
  std::uint32_t trace = 0;
  ProcessId process = no_process;
  Incarnation incarnation = 0;
  std::uint16_t attempt = 0;
  std::uint16_t code = 0;  ///< error number; for request: the request's kind
  std::uint16_t flags = 0;
  Kind kind = Kind::start;
  Phase phase = Phase::invoke;

  bool operator==(const Row&) const = default;
};
static_assert(sizeof(Row) == 80);

/// "publish", "commit_transaction" …; the names used in files and anchors.
std::string_view name_of(Kind kind);
std::string_view name_of(Phase phase);

}  // namespace mqlab
