// The consumer of a Kafka client: membership of a group, fetching ahead,
// offsets.
//
// A fetch effect is the application's poll. What a real client does only inside
// poll happens here only while a fetch is outstanding: rebalance callbacks in
// both flavours; joining, fetching and auto-commit in Java's. librdkafka does
// those in the background.
#pragma once
#include <cstdint>

#include "core/base/ring.h"
#include "core/seam/effect.h"
#include "core/seam/event.h"
#include "sim/clients/kafka/plan.h"
#include "sim/clients/kafka/timer.h"
#include "sim/clients/kafka/wire.h"

namespace mqlab::sim::kafka::client {

class KafkaClient;

/// Records of one batch that were fetched and not handed over yet.
struct Chunk {
  Batch* batch = nullptr;       ///< referenced; nullptr = only moves the position
                                ///< (markers, aborted records)
  std::uint32_t partition = 0;  ///< index among the consumer's partitions
  std::uint32_t version = 0;    ///< of the partition when it was fetched: another one since = void
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::int64_t offset = 0;        ///< of the first; next offset to read when batch is nullptr
  std::int64_t epoch = no_epoch;  ///< of the leader that took the batch
};

/// What a consumer keeps of one partition.
struct InPartition {
  enum class State : std::uint8_t {
    none,       ///< not this member's
    assigned,   ///< the module has been or will be told; it has not accepted
    resolving,  ///< its start is being asked for
    checking,   ///< java: its leader is another one, and is asked whether its log agrees
    reading,
  };
  PlaceId place = no_place;
  State state = State::none;
  bool target = false;   ///< in the assignment that the latest sync brought
  bool leaving = false;  ///< the module is being asked to release it
  bool paused = false;
  bool asking = false;          ///< a request of that state is under way
  std::uint32_t version = 0;    ///< rises whenever what was fetched must not be used
  std::int64_t committed = -1;  ///< as OffsetFetch said; −1 = none
  std::int64_t committed_epoch = no_epoch;
  std::int64_t position = -1;            ///< next to be handed over
  std::int64_t epoch = no_epoch;         ///< of the leader that took the record before it
  std::int64_t leader_epoch = no_epoch;  ///< java: of the leader that is known to agree with both
  std::int64_t fetched = -1;             ///< next to be fetched
  std::uint32_t sent_version = 0;        ///< of the fetch under way
  std::uint32_t asked_in = 0;            ///< correlation of the latest fetch that asked for it
  std::uint32_t buffered = 0;            ///< records fetched and not handed over
  std::int64_t stored = -1;              ///< librdkafka: what auto-commit would commit
  std::int64_t auto_committed = -1;
  Instant fetch_at = {};  ///< error back-off
};

class Consumer {
 public:
  explicit Consumer(KafkaClient& client);

  // ---- effects (consumer.cc, offsets.cc) ----
  void start();
  void fetch(const Effect& effect);
  void commit(const Effect& effect);
  void accept(const Effect& effect);
  void release(const Effect& effect);
  void seek(const Effect& effect);
  void pause(const Effect& effect, bool paused);
  void leave(const Effect& effect);
  void close();

  std::uint32_t member() const { return member_; }
  std::uint32_t generation() const { return generation_; }
  /// Which member this client was when the application was given that
  /// generation's partitions: the group metadata that an application takes
  /// along then. Asked for later, after the member was thrown out, metadata are
  /// empty, and an empty member passes the coordinator unchecked
  /// (ClassicGroup.validateOffsetCommit).
  std::uint32_t member_of(std::uint32_t generation) const {
    return generation == told_generation_ ? told_member_ : member_;
  }

  // ---- what happens ----
  void poll_wait_fired(const SimEvent& event);
  void poll_limit_fired(const SimEvent& event);
  void auto_commit_fired(const SimEvent& event);
  void fetch_fired(const SimEvent& event);
  void membership_fired(const SimEvent& event);
  void session_fired(const SimEvent& event);
  void coordinator_fired(const SimEvent& event);
  void heartbeat(const SimEvent& event);
  void coordinator_found(const FindCoordinatorAnswer& answer);
  void coordinator_failed();
  void answered(const Pending& pending, Answer* answer);
  void ended(const Pending& pending, Error error);
  void failed(const Pending& pending, Error error);
  void topic_grew(TopicId topic);
  void leaders_changed();
  void node_usable(NodeIndex node);
  void node_lost(NodeIndex node);
  void life_changed(ProcessId changed, LifeChange change);
  bool unroutable() const;

 private:
  enum class State : std::uint8_t {
    out,      ///< not in the group, not trying (java: until the next poll)
    joining,  ///< JoinGroup is due or under way
    syncing,
    releasing,  ///< waits for the module to give partitions back
    offsets,    ///< committed offsets of what is new are being fetched
    telling,    ///< the module is told of its new partitions at its next poll
    stable,
    gone,  ///< left for good
  };
  static constexpr std::uint64_t reports = 1;  ///< context of the consumer protocol's heartbeats
  struct Parked {                              ///< an outstanding fetch effect
    OpId op = 0;
    std::uint8_t port = 0;
    std::uint32_t max = 0;
    Instant until = {};
  };
  struct Lane {                     ///< one node's fetch
    std::uint32_t correlation = 0;  ///< 0 = none under way
    Instant sent = {};
    bool changed = false;     ///< what it asks for is not what is wanted now
    std::uint32_t first = 0;  ///< librdkafka: the partition that the next request begins with
  };
  struct Commit {
    explicit Commit(Arena& arena) : offsets(arena) {}
    OpId op = 0;  ///< 0 = automatic
    bool sync = false;
    bool automatic = false;
    std::uint32_t attempts = 0;
    Instant at = {};  ///< not before
    Instant limit = {};
    bool under_way = false;
    Vec<CommittedOffset> offsets;
  };
  struct Revoke {
    bool pending = false;  ///< the module is to be asked as soon as it polls
    bool posted = false;   ///< it has been asked and has not released
    bool lost = false;
    bool assigns = false;  ///< cooperative: goes on with the new assignment, not by joining
  };

  bool java() const { return java_; }
  InPartition* find(PlaceId place);
  bool polling() const { return !parked_.empty(); }
  /// Whether the application would be told now: it is in poll, or has not begun
  /// to.
  bool may_call_back() const { return polling() || !ever_polled_; }
  bool holds_any() const;

  // consumer.cc
  void deliver();
  bool hand_over(std::size_t parked);
  void end_poll(std::size_t parked);
  void fail_parked(ErrorClass error, Error code);
  void drop_handed();
  void forget(InPartition& partition);
  void voided(InPartition& partition);

  // membership.cc
  void advance();
  void join();
  void sync();
  void report();
  void reported(HeartbeatAnswer* answer);
  void take_assignment();
  void joined(const JoinGroupAnswer& answer);
  void synced(SyncGroupAnswer* answer);
  void group_error(Error error);
  void rebalance();
  void lose(bool new_member);
  void serve_rebalance();
  void released();
  void assign_new();
  void offsets_fetched(OffsetFetchAnswer* answer);
  void tell_assigned();
  void fetch_committed();
  void beat();
  void coordinator_silent();
  Instant next_beat() const;
  void send_leave();
  void later(Duration delay);

  // fetcher.cc
  void fetch_all();
  void fetch_from(NodeIndex node);
  std::uint32_t answer_frame(const FetchRequest& request) const;
  bool wanted(const InPartition& partition) const;
  void fetched(const Pending& pending, FetchAnswer* answer);
  void take(FetchAnswer& answer, const FetchedPart& part, std::uint32_t correlation);
  void fetch_error(InPartition& partition, Error error);
  void changed(InPartition& partition);
  void reset(InPartition& partition);
  void ask_offset(InPartition& partition);
  void offset_known(const Pending& pending, Error error, std::int64_t offset);
  std::uint64_t context_of(const InPartition& p) const {  ///< of requests that ask for it
    return static_cast<std::uint64_t>(&p - partitions_.data()) | std::uint64_t{p.version} << 32;
  }
  bool asks_again(const Pending& pending, InPartition::State state, Error error);

  // truncation.cc
  void read_from(InPartition& partition, std::int64_t offset, std::int64_t epoch);
  void look_at_leader(InPartition& partition);
  void ask(InPartition& partition);
  void ask_epoch_end(InPartition& partition);
  void epoch_end_known(const Pending& pending, Error error, const EpochEndAnswer& answer);

  // offsets.cc
  void send_commit(Commit* commit);
  void send_commits();
  void committed(Commit* commit, Error error);
  void end_commit(Commit* commit, Outcome outcome, ErrorClass error, Error code);
  void commit_automatically(bool leaving_only);
  std::int64_t epoch_of(PlaceId place, std::int64_t offset);
  std::int64_t to_commit(const InPartition& partition) const;
  bool dirty() const;
  void polled();
  void stored_something();

  KafkaClient& client_;
  const KafkaConsumer& settings_;
  const bool java_;
  const bool observer_;
  Vec<InPartition> partitions_;
  Vec<Parked> parked_;
  Ring<Chunk> ready_;      ///< of all inputs, in order of arrival: a poll takes what
                           ///< comes first
  Vec<Batch*> handed_;     ///< whose payloads the module may still look at
  Vec<Message> messages_;  ///< scratch
  Vec<Lane> lanes_;
  Vec<Commit*> commits_;
  std::uint64_t buffered_bytes_ = 0;
  bool ever_polled_ = false;
  bool no_position_ = false;  ///< a partition has none, and auto.offset.reset
                              ///< gives none: polls fail
  // membership
  State state_ = State::out;
  Coordinator coordinator_;
  std::uint32_t member_ = 0;
  std::uint32_t generation_ = 0;
  bool leads_ = false;  ///< its group, as of the latest join
  std::uint32_t told_member_ = 0,
                told_generation_ = 0;  ///< at the latest `assigned`
  bool requested_ = false;             ///< the state's request is under way
  bool beating_ = false;
  bool beat_due_ = false;
  bool rejoin_ = false;  ///< once this round is through, join again
  std::uint32_t attempts_ = 0;
  Instant not_before_ = {};
  Instant beats_from_ = {};  ///< heartbeats go out every interval from here
  Revoke revoke_;
  OpId leave_op_ = 0;
  // timers
  Timer poll_wait_, poll_limit_, auto_commit_, fetch_timer_, membership_, session_;
  Instant started_ = {};
  Instant next_auto_commit_ = {};  ///< java
};

}  // namespace mqlab::sim::kafka::client
