// What waits at a node: appends for replication, fetches for data, requests for the verification of a
// transaction.
#pragma once
#include <cstdint>

#include "core/base/ring.h"
#include "sim/brokers/kafka/protocol.h"

namespace mqlab::sim::kafka {

/// Who is told when an append with acks=all has been replicated, or will not be.
enum class PendingKind : std::uint8_t {
  produce,
  offset_commit,
  txn_offset_commit,
  group,
  marker,
  transaction
};

struct Pending {
  PendingKind kind = PendingKind::produce;
  std::uint32_t open = 0;               ///< appends that have not ended
  Instant deadline = Instant::never();  ///< request timeout in purgatory
};

struct PendingProduce : Pending {
  ProduceRequest* request = nullptr;
  ProduceAnswer* answer = nullptr;
};

/// A client's connection over which it produces, or on which it is throttled. A node reads the next request
/// of a connection only when the one before has been answered (kafka SocketServer mutes the channel), so
/// produce requests in flight queue up here, and whatever comes while the client is above its quota.
struct Connection {
  explicit Connection(Arena& arena) : queued(arena) {}
  Component* client = nullptr;
  ProcessId process = no_process;
  std::uint8_t channel = 0;
  std::uint32_t generation = 0;
  std::uint32_t token = 0;
  bool busy = false;
  Instant muted_until = {};
  std::uint8_t reads_left = 0xff;  ///< 0xff = any number; see Node::close
  Ring<Request*> queued;

  bool idle(Instant now) const { return !busy && muted_until <= now && queued.empty(); }
};

struct ParkedFetch {
  FetchRequest* request = nullptr;
  std::uint32_t token = 0;
  bool timed = false;  ///< an event at the end of max_wait has been scheduled
  Instant since = {};
};

/// A leader asks the coordinator whether a partition belongs to the ongoing transaction of a producer before
/// the first append of that transaction (KIP-890 part 1), or has it added (part 2).
struct Verification {
  explicit Verification(Arena& arena) : places(arena) {}
  ProcessId from = no_process;  ///< the leader's node
  std::uint32_t token = 0;
  std::uint32_t transactional_id = 0;
  std::int64_t producer = -1;
  std::int16_t epoch = -1;
  std::uint8_t leader = 0;       ///< node that asks
  std::uint8_t coordinator = 0;  ///< node that is asked
  bool adds = false;             ///< second protocol
  Instant until = {};            ///< while transactions are concurrent it is asked again until then
  Error error = Error::none;
  Request* request = nullptr;  ///< held meanwhile
  Vec<PlaceId> places;
};

}  // namespace mqlab::sim::kafka
