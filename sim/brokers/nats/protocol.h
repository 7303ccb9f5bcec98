// What simulated NATS clients and servers say to each other.
//
// A client writes a packet: a chain of operations in the order they were written, one event on the wire.
// Operations that have an answer come back as the same objects with their answer filled in. Who takes an
// operation off a chain gives it back with Arena::recycle.
#pragma once
#include <cstdint>

#include "core/base/arena.h"
#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/seam/message.h"
#include "sim/brokers/nats/settings.h"

namespace mqlab::sim::nats {

class NatsClient;

/// One message of a stream, 32 bytes; a payload lies beside (see StreamLog).
struct Record {
  MessageId id = 0;
  MessageId cause = 0;
  std::uint32_t key = 0;
  std::uint32_t size : 27 = 0;   ///< declared bytes of the value; max_payload is 64 MiB at most
  std::uint32_t has_id : 1 = 0;  ///< it carries Nats-Msg-Id
  std::uint32_t form : 4 = 0;    ///< of its subject; see StreamValues
  std::uint64_t digest = 0;
  Instant stored = {};  ///< the server's wall clock when it took the message
};
static_assert(sizeof(Record) == 32);

/// Bytes of a message's header: the version line, "Nats-Msg-Id: 17", an empty line.
constexpr std::uint32_t header_bytes(const Record& record) {
  if (record.has_id == 0) return 0;
  std::uint32_t digits = 1;
  for (MessageId id = record.id; id >= 10; id /= 10) ++digits;
  return 10 + 13 + digits + 2 + 2;
}

/// Answers of the server. [nats-server: server/errors.json, jetstream_errors_generated.go]
namespace code {
inline constexpr std::uint16_t none = 0;
inline constexpr std::uint16_t no_responders = 503;      ///< nobody serves that subject now
inline constexpr std::uint16_t leadership_change = 409;  ///< to a parked pull request
inline constexpr std::uint16_t exceeds_maximum = 10054;  ///< message size exceeds maximum allowed
inline constexpr std::uint16_t store_failed = 10077;     ///< maximum messages, per subject too, or bytes
inline constexpr std::uint16_t in_process = 10158;       ///< duplicate message id is in process
}  // namespace code

/// subscribe: a push consumer's messages are to come here; flow: the client has kept up to this point.
enum class OpKind : std::uint8_t { publish, pull, create, subscribe, flow, ack, nack, progress, terminate };

/// A client's connection to a server, one object for each incarnation of a process. `epoch` rises with each
/// new connection; what belongs to an earlier one is void.
struct Connection {
  NatsClient* client = nullptr;
  ProcessId process = no_process;
  ProcessId node = no_process;  ///< the server it is, or was last, connected to
  std::uint32_t epoch = 0;
  std::uint32_t served = 0;  ///< the epoch the server side holds open; 0 = none
  // While the client does not read (slow.cc)
  std::uint64_t unread = 0;   ///< bytes written to it since
  std::uint32_t blocked = 0;  ///< number of the write that waits for it; 0 = none
};

struct Op {
  Op* next = nullptr;
  OpKind kind = OpKind::publish;
  bool answer_lost = false;  ///< a fault: carry it out, send nothing back; create: lose the first message
  bool no_wait = false;      ///< pull: one shot, ends with the last message there is
  bool confirm =
      false;  ///< ack, nack …: the client waits for a reply; create: it is told when nobody is there
  bool duplicate = false;           ///< answer: recognised by its id; `sequence` is the first one's
  std::uint8_t tries = 0;           ///< the client's: how often it was sent before
  std::uint16_t code = code::none;  ///< answer
  std::uint32_t target = 0;         ///< publish: stream; else: consumer
  std::uint32_t slot = 0;           ///< the client's: which publish, or which input port
  std::uint32_t generation = 0;     ///< the client's: which use of the slot
  std::uint32_t batch = 0;          ///< pull
  OpId op = 0;                      ///< the client's: ack with confirm
  /// ack …: of the message; create: start, −1 = by policy; flow: of the mark; publish's answer
  std::int64_t sequence = -1;
  Duration delay = {};                         ///< nack: before redelivery; pull: how long to wait
  Duration lifetime = {};                      ///< pull: of one request; a longer wait is made of several
  std::uint32_t serial = 0;                    ///< ordered: which creation of the consumer
  DeliverPolicy deliver = DeliverPolicy::all;  ///< create
  Record record;                               ///< publish
  Bytes payload = {};                          ///< publish; in the arena for good
};

enum class PacketKind : std::uint8_t { write, answers, delivery };

struct Packet {
  PacketKind kind = PacketKind::write;
  Connection* connection = nullptr;
  std::uint32_t epoch = 0;
  std::uint32_t bytes = 0;
  Op* first = nullptr;
  Op* last = nullptr;

  void push(Op* op) {
    op->next = nullptr;
    (last != nullptr ? last->next : first) = op;
    last = op;
  }
};

/// Messages for a pull request, or a word about it; or messages of a push consumer. They are in consumer
/// sequence from `first_sequence` on.
struct Delivery : Packet {
  explicit Delivery(Arena& arena) : messages(arena) { kind = PacketKind::delivery; }
  std::uint32_t port = 0;
  std::uint32_t generation = 0;  ///< of the fetch it answers
  std::uint32_t serial = 0;      ///< ordered: which creation of the consumer
  std::uint32_t first_sequence = 0;
  std::uint32_t flow_mark = 0;  ///< push: to be confirmed once the application has what came before; 0 = none
  std::uint16_t status = code::none;
  bool complete = false;  ///< the request is done with
  bool lost = false;      ///< a fault took the messages: all the client has is silence
  Vec<Message> messages;
};

/// Events at a server.
enum NodeEvent : std::uint16_t {
  inbound,         ///< a = Packet* from a client
  routed,          ///< a = Packet* from another server, for streams led here
  relay,           ///< a = Packet* to be handed on to the client
  commit,          ///< a = length, x = stream, y = term: may count as stored now
  ack_timer,       ///< x = consumer, y = generation
  idle,            ///< x = consumer, y = mark of its flow control
  pull_wake,       ///< x = consumer: a client's next pull request comes in
  closed,          ///< a = Connection*, x = epoch: the client is gone
  write_deadline,  ///< a = Connection*, x = epoch, y = which write
  booted,
  elect,         ///< x = stream, y = generation
  step_down,     ///< x = stream, y = generation
  remove_peers,  ///< x = stream, y = generation
  copied,        ///< a = Copies*, x = copier
  copy_check,    ///< x = copier, y = generation
  caught_up,     ///< a = process, x = stream, y = generation
  disk_failed,   ///< a write of a replicated stream found no room, or its sync was an error
  sync_due,      ///< where syncs fail: the periodic one of a stream; x = stream
};

/// Events at a client.
enum ClientEvent : std::uint16_t {
  packet,            ///< a = Packet*
  flush,             ///< x = generation
  answer_deadline,   ///< the oldest publish without an answer
  stall_deadline,    ///< the oldest publish without room
  retry,             ///< a = Op*
  disconnected,      ///< x = epoch
  attempt,           ///< connect to the next server; y = generation
  connected,         ///< x = node, y = generation
  fetch_deadline,    ///< x = port, y = generation
  pull_again,        ///< x = port, y = generation
  create_again,      ///< x = port, y = serial
  heartbeat_missed,  ///< x = port, y = generation
};

/// Bytes of protocol around a value: verbs, subject, reply subject, headers. About as seen on a wire.
inline constexpr std::uint32_t publish_overhead_bytes = 120;
inline constexpr std::uint32_t deliver_overhead_bytes = 130;
inline constexpr std::uint32_t small_op_bytes = 90;

/// A waiting application calls natsSubscription_Fetch again and again; each call sends one pull request,
/// which the server drops a little before the call returns. [nats.c: src/js.c _sendPullRequest]
inline constexpr Duration request_margin = Duration::millis(10);

/// Begin of the call, of those of `lifetime` each from `first` on, that runs at `now`.
constexpr Instant begin_of_request(Instant first, Duration lifetime, Instant now) {
  return first + lifetime * ((now - first).ns / lifetime.ns);
}
/// When that call returns, and the next one sends its request.
constexpr Instant end_of_request(Instant first, Duration lifetime, Instant now) {
  return begin_of_request(first, lifetime, now) + lifetime;
}
/// Between the end of one request and the next one nobody waits.
constexpr bool between_requests(Instant first, Duration lifetime, Instant now) {
  const Duration margin = lifetime < request_margin * 2 ? Duration{} : request_margin;
  return now >= end_of_request(first, lifetime, now) - margin;
}

/// A receipt names the message, the delivery and the input it came by: sequence in the low 40 bits, delivery
/// − 1 in the next 16, port in the top 8.
constexpr std::uint64_t receipt_of(std::int64_t sequence, std::uint32_t attempt, std::uint32_t port) {
  return static_cast<std::uint64_t>(sequence) | (std::uint64_t{(attempt - 1) & 0xffff} << 40) |
         (std::uint64_t{port} << 56);
}
constexpr std::int64_t sequence_of(std::uint64_t receipt) {
  return static_cast<std::int64_t>(receipt & ((std::uint64_t{1} << 40) - 1));
}
constexpr std::uint32_t port_of(std::uint64_t receipt) { return static_cast<std::uint32_t>(receipt >> 56); }

}  // namespace mqlab::sim::nats
