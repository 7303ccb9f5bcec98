// What simulated Kafka clients and brokers say to each other: Kafka's requests with the fields that change
// behaviour. A request or answer is one arena object; the receiver gives it back with Arena::recycle once it
// has read it (arrays inside are Vec and must be destroyed: use destroy()).
#pragma once
#include <cstdint>

#include "core/base/arena.h"
#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/faults/anchor.h"
#include "sim/brokers/kafka/batch.h"
#include "sim/component.h"

namespace mqlab::sim::kafka {

/// Kafka's own error codes (org.apache.kafka.common.protocol.Errors).
enum class Error : std::int16_t {
  none = 0,
  offset_out_of_range = 1,
  unknown_topic_or_partition = 3,
  leader_not_available = 5,
  not_leader_or_follower = 6,
  request_timed_out = 7,
  message_too_large = 10,
  coordinator_load_in_progress = 14,
  coordinator_not_available = 15,
  not_coordinator = 16,
  not_enough_replicas = 19,
  not_enough_replicas_after_append = 20,
  illegal_generation = 22,
  unknown_member_id = 25,
  invalid_session_timeout = 26,
  rebalance_in_progress = 27,
  out_of_order_sequence = 45,
  duplicate_sequence = 46,
  invalid_producer_epoch = 47,
  invalid_txn_state = 48,
  invalid_producer_id_mapping = 49,
  invalid_transaction_timeout = 50,
  concurrent_transactions = 51,
  transaction_coordinator_fenced = 52,
  kafka_storage_error = 56,
  fenced_leader_epoch = 74,
  unknown_leader_epoch = 76,
  fenced_instance_id = 82,
  invalid_record = 87,
  unstable_offset_commit = 88,
  producer_fenced = 90,
  fenced_member_epoch = 110,
  unreleased_instance_id = 111,
  stale_member_epoch = 113,
  transaction_abortable = 120,
  disconnected = -2,    ///< not on the wire: the client's own word for a closed connection
  timed_out_local = -3  ///< not on the wire: the client gave the request up
                        ///< (request or socket timeout)
};

/// Base of every request. `correlation` is the client's; answers echo it.
struct Request {
  RequestKind kind = RequestKind::none;
  ProcessId from = no_process;
  std::uint32_t correlation = 0;
  Component* reply_to = nullptr;  ///< answers go here as SimEvent{kind = answer_event, a = Answer*}
  bool answer_lost = false;       ///< a fault: carry it out, send nothing back
  std::uint8_t channel = 0;       ///< which of the client's connections to the node it comes over …
  std::uint32_t generation = 0;   ///< … and how often that was made anew
};
inline constexpr std::uint16_t request_event = 1;  ///< at a broker node: a = Request*
inline constexpr std::uint16_t answer_event = 1;   ///< at a client: a = Answer*

/// `error` is `disconnected` when the node refuses connections: its process runs but has not started up yet.
struct Answer {
  RequestKind kind = RequestKind::none;
  ProcessId from = no_process;
  std::uint32_t correlation = 0;
  Error error = Error::none;
  Duration throttle =
      {};  ///< beyond a quota: nothing more is read from that connection for so long (KIP-219)
};

struct ProducePart {
  PlaceId place = no_place;
  Batch* batch = nullptr;  ///< referenced (counted) for the request's life; the
                           ///< broker drops that one
};
struct ProduceRequest : Request {
  explicit ProduceRequest(Arena& a) : parts(a) {}
  std::int8_t acks = -1;  ///< −1 all, 0 (no answer is sent), 1
  Duration timeout = Duration::seconds(30);
  std::uint32_t transactional_id = 0;  ///< number of the transactional id; 0 = none
  bool second_protocol = false;        ///< of transactions: adds its partitions to the
                                       ///< transaction (version 12)
  std::uint32_t bytes = 0;             ///< of the whole request, as quotas count it
  Vec<ProducePart> parts;              ///< at most one batch a partition
};
struct ProducedPart {
  PlaceId place = no_place;
  Error error = Error::none;
  std::int64_t base_offset = -1;
  bool duplicate = false;  ///< recognised by sequence; base_offset is the first append's
};
struct ProduceAnswer : Answer {
  explicit ProduceAnswer(Arena& a) : parts(a) {}
  Vec<ProducedPart> parts;
};

/// Epochs of leaders as clients name them: −1 = not known, or a client that knows nothing of them.
inline constexpr std::int64_t no_epoch = -1;

struct FetchPart {
  PlaceId place = no_place;
  std::int64_t offset = 0;
  std::uint32_t max_bytes = 0;
  std::int64_t leader_epoch = no_epoch;  ///< another than the leader's own: refused (KIP-320)
};
/// One fetch a client and node: a new one replaces what that node still parks
/// for `reply_to` (whose answer, if it is on its way already, the client
/// ignores by its correlation).
struct FetchRequest : Request {
  explicit FetchRequest(Arena& a) : parts(a) {}
  bool read_committed = false;
  std::uint32_t min_bytes = 1;
  std::uint32_t max_bytes = 50u << 20;
  Duration max_wait = {};   ///< the broker parks it so long; parked fetches cost no events
  std::uint32_t frame = 0;  ///< what its answer takes beyond the records, as quotas count it
  Vec<FetchPart> parts;
};
/// Records of one batch within a fetch answer: [first, first + count) of
/// batch->records.
struct FetchedRecords {
  Batch* batch = nullptr;  ///< referenced (counted) for the answer's life
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::int64_t offset = 0;  ///< of the first of them
  std::int64_t leader_epoch = no_epoch;
};
struct FetchedPart {
  PlaceId place = no_place;
  Error error = Error::none;
  std::int64_t next_offset = 0;        ///< where to read on; passes markers and, if
                                       ///< read_committed, aborted records
  std::int64_t next_epoch = no_epoch;  ///< of the batch before it
  std::int64_t high_watermark = -1;
  std::int64_t last_stable = -1;
  std::int64_t log_start = 0;
  std::uint32_t first_run = 0;  ///< index into FetchAnswer::runs
  std::uint32_t runs = 0;
};
struct FetchAnswer : Answer {
  explicit FetchAnswer(Arena& a) : parts(a), runs(a) {}
  Vec<FetchedPart> parts;
  Vec<FetchedRecords> runs;
};

struct ListOffsetsRequest : Request {
  PlaceId place = no_place;
  bool latest = false;  ///< else earliest
  bool read_committed = false;
};
struct ListOffsetsAnswer : Answer {
  PlaceId place = no_place;
  std::int64_t offset = -1;
};

/// Where an epoch ends in the leader's log (KIP-320).
struct EpochEndRequest : Request {
  PlaceId place = no_place;
  std::int64_t leader_epoch = no_epoch;  ///< as in FetchPart
  std::int64_t epoch = no_epoch;
};
struct EpochEndAnswer : Answer {
  std::int64_t epoch = no_epoch;  ///< the latest that the log has and that is not above what was asked for;
                                  ///< no_epoch: that is above the leader's own
  std::int64_t end = -1;
};

/// Classic group protocol. Groups and members go by number (resolved at setup;
/// members by the coordinator).
struct JoinGroupRequest : Request {
  explicit JoinGroupRequest(Arena& a) : owned(a), topics(a) {}
  std::uint32_t group = 0;
  std::uint32_t member = 0;           ///< 0 = new
  std::uint32_t static_instance = 0;  ///< group.instance.id's number; 0 = dynamic
  Duration session_timeout = {};
  Duration rebalance_timeout = {};  ///< max.poll.interval.ms
  Duration heartbeat_interval =
      Duration::seconds(3);  ///< beats are computed from the member's latest join or sync
  bool cooperative = false;
  Vec<PlaceId> owned;  ///< cooperative: partitions still held
  Vec<TopicId> topics;
};
struct JoinGroupAnswer : Answer {
  std::uint32_t member = 0;
  std::uint32_t generation = 0;
  bool leads = false;  ///< the group's leader, who assigns
};
/// The assignor runs on the coordinator's side (range or cooperative-sticky, as
/// the leader's client would).
struct SyncGroupRequest : Request {
  std::uint32_t group = 0;
  std::uint32_t member = 0;
  std::uint32_t generation = 0;
};
struct SyncGroupAnswer : Answer {
  explicit SyncGroupAnswer(Arena& a) : places(a) {}
  std::uint32_t generation = 0;
  Vec<PlaceId> places;
};
/// Sent only when its answer could matter; idle beats are computed. The consumer protocol (KIP-848) has no
/// other request: it joins with generation 0 (its member epoch), reports what it holds and is told what it
/// may.
struct HeartbeatRequest : Request {
  explicit HeartbeatRequest(Arena& a) : owned(a), topics(a) {}
  std::uint32_t group = 0;
  std::uint32_t member = 0;
  std::uint32_t generation = 0;
  bool consumer_protocol = false;  ///< the fields below count
  std::uint32_t static_instance = 0;
  Duration rebalance_timeout = {};
  Vec<PlaceId> owned;
  Vec<TopicId> topics;
};
struct HeartbeatAnswer : Answer {  ///< consumer protocol
  explicit HeartbeatAnswer(Arena& a) : places(a) {}
  std::uint32_t member = 0;
  std::uint32_t generation = 0;
  Vec<PlaceId> places;
};
struct LeaveGroupRequest : Request {
  std::uint32_t group = 0;
  std::uint32_t member = 0;
};
/// From the coordinator to a member, without request: the answer that the member's next heartbeat would bring
/// (rebalance in progress, unknown member, not coordinator). Sent at the instant that heartbeat would have
/// been answered. A coordinator that dies tells nothing: the client learns of it by Component::life_changed.
inline constexpr std::uint16_t heartbeat_event = 2;  ///< at a client: x = Error, y = generation, a = member

struct CommittedOffset {
  PlaceId place = no_place;
  std::int64_t offset = -1;
  std::int64_t epoch = no_epoch;  ///< of the record before it
};
struct OffsetCommitRequest : Request {
  explicit OffsetCommitRequest(Arena& a) : offsets(a) {}
  std::uint32_t group = 0;
  std::uint32_t member = 0;
  std::uint32_t generation = 0;
  Vec<CommittedOffset> offsets;
};
struct OffsetFetchRequest : Request {
  explicit OffsetFetchRequest(Arena& a) : places(a) {}
  std::uint32_t group = 0;
  bool require_stable = false;  ///< librdkafka: only when
                                ///< isolation.level=read_committed; Java: always
  Vec<PlaceId> places;
};
struct OffsetFetchAnswer : Answer {
  explicit OffsetFetchAnswer(Arena& a) : offsets(a) {}
  Vec<CommittedOffset> offsets;  ///< −1 = none
};

struct FindCoordinatorRequest : Request {
  bool transaction = false;
  std::uint32_t key = 0;  ///< group or transactional id number
};
struct FindCoordinatorAnswer : Answer {
  ProcessId node = no_process;
};
/// Which node leads each place, and which one coordinates what, as one broker
/// knows it.
struct MetadataRequest : Request {};
struct MetadataAnswer : Answer {
  explicit MetadataAnswer(Arena& a) : leaders(a), epochs(a), grown(a) {}
  Vec<ProcessId> leaders;  ///< by place; no_process = none
  Vec<std::uint32_t> epochs;
  Vec<TopicId> grown;  ///< of those with more_partitions: they have been made
};

// Transactions. First protocol: what librdkafka speaks, and Java's client to
// brokers before 4.0. Second (KIP-890 part 2, transaction.version 2): every
// EndTxn raises the epoch, and a first write adds its partition by itself.
struct InitProducerIdRequest : Request {
  std::uint32_t transactional_id = 0;  ///< 0 = idempotent only
  Duration timeout = {};
  std::int64_t producer = -1;  ///< KIP-360: the identity to be raised; −1 = a new incarnation
  std::int16_t epoch = -1;     ///< another than the coordinator's: PRODUCER_FENCED
};
struct InitProducerIdAnswer : Answer {
  std::int64_t producer = -1;
  std::int16_t epoch = -1;
};
struct AddPartitionsToTxnRequest : Request {
  explicit AddPartitionsToTxnRequest(Arena& a) : places(a) {}
  std::uint32_t transactional_id = 0;
  std::int64_t producer = -1;
  std::int16_t epoch = -1;
  Vec<PlaceId> places;
};
struct AddOffsetsToTxnRequest : Request {
  std::uint32_t transactional_id = 0;
  std::int64_t producer = -1;
  std::int16_t epoch = -1;
  std::uint32_t group = 0;
};
struct TxnOffsetCommitRequest : Request {
  explicit TxnOffsetCommitRequest(Arena& a) : offsets(a) {}
  std::uint32_t transactional_id = 0;
  std::int64_t producer = -1;
  std::int16_t epoch = -1;
  std::uint32_t group = 0;
  std::uint32_t member = 0;
  std::uint32_t generation = 0;
  bool second_protocol = false;  ///< adds the group's partition to the transaction (version 5)
  Vec<CommittedOffset> offsets;
};
struct EndTxnRequest : Request {
  std::uint32_t transactional_id = 0;
  std::int64_t producer = -1;
  std::int16_t epoch = -1;
  bool commit = true;
  bool second_protocol = false;  ///< version 5
};
struct EndTxnAnswer : Answer {  ///< second protocol: the identity to go on with
  std::int64_t producer = -1;
  std::int16_t epoch = -1;
};

/// Destroys and gives back any of the above.
template <class T>
void destroy(Arena& arena, T* object) {
  object->~T();
  arena.recycle(object);
}

}  // namespace mqlab::sim::kafka
