// A JetStream stream: takes publishes at its leader, drops repeats by Nats-Msg-Id, keeps its limits.
#pragma once
#include <cstdint>

#include "core/base/arena.h"
#include "core/base/ring.h"
#include "sim/brokers/nats/copier.h"
#include "sim/brokers/nats/protocol.h"
#include "sim/brokers/nats/replicas.h"
#include "sim/brokers/nats/settings.h"
#include "sim/brokers/nats/stream_log.h"

namespace mqlab::sim::nats {

class Consumer;

class Stream {
 public:
  Stream(NatsCluster& cluster, std::uint32_t index);

  std::uint32_t index() const { return index_; }
  const StreamValues& values() const { return values_; }
  Replicas& replicas() { return replicas_; }
  const Replicas& replicas() const { return replicas_; }
  void add(Consumer& consumer) { consumers_.push_back(&consumer); }
  void add(Copier& copier) { copiers_.push_back(&copier); }

  // ---- messages ----
  /// Sequence of the oldest message there is; last() + 1 when there is none.
  std::int64_t first() const { return first_; }
  /// What consumers may see: committed and applied at the leader.
  std::int64_t last() const { return last_; }
  const StreamLog& log() const { return log_; }
  /// Of messages first + 1 … last in its file.
  std::int64_t file_bytes(std::int64_t first, std::int64_t last) const;
  /// Stored, and not removed since.
  bool has(std::int64_t sequence) const {
    return sequence >= first_ && sequence <= last_ && !removed(sequence);
  }
  /// The next message there is from a sequence on; last() + 1 when there is none.
  std::int64_t at_or_after(std::int64_t sequence) const;
  /// By one consumer; see Retention.
  void acknowledged(std::int64_t sequence);

  /// At the leader. True: `op` holds its answer. False: it is kept and answered once the message counts as
  /// stored.
  bool publish(Op* op, const Packet& packet);
  /// A leader that has been deposed took this publish.
  void stage(const Op& op, ProcessId leader);
  void forget_staged(ProcessId dead);
  // ---- copies of other streams (stream_copy.cc) ----
  /// The next message wanted of an origin.
  std::int64_t next_of(std::uint32_t origin) const;
  /// At the leader: one message more of an origin.
  void copy(std::uint32_t origin, const Copies::One& message);
  /// After all publishes of one packet.
  void packet_done();
  /// Hands out what consumers wait for.
  void deliver();
  void expire();  ///< max_age
  void audit(ProcessId auditor);

  // ---- for Replicas and the node ----
  void commit_to(std::int64_t length);
  void leader_died(bool power_lost);
  void recovered(std::int64_t length);  ///< R1: its server is back
  /// Replicated: a new leader was elected; `deposed`: the old one, if it lives.
  void led_anew(std::int64_t length, ProcessId deposed);
  void quorum_back();

 private:
  struct Waiting {  ///< a publish that is not stored yet
    std::int64_t sequence;
    Op* op;
    Connection* connection;
    std::uint32_t epoch;
  };
  /// Messages of one subject, kept with max_msgs_per_subject only.
  struct Tally {
    std::uint32_t count = 0;
    std::int64_t oldest = 0;  ///< no older one is there
  };
  std::int64_t first_with(MessageId id) const;
  struct Staged {  ///< an id that a server knows of a message that was never stored
    ProcessId node;
    MessageId id;
    Instant since;
  };
  struct Copied {  ///< where a message came from
    std::int64_t sequence;
    std::uint32_t origin;
    std::int64_t its;  ///< sequence there
  };
  bool store_takes(const Record& record);
  void append(const Record& record, Bytes payload);
  void skip();
  bool staged(MessageId id) const;
  void keep_staged(ProcessId node, std::int64_t beyond);
  void drop_waiting();
  bool removed(std::int64_t sequence) const {
    const auto i = static_cast<std::uint64_t>(sequence);
    return i / 64 < removed_.size() && (removed_[i / 64] >> (i % 64) & 1) != 0;
  }
  void remove(std::int64_t sequence);
  void take_in(std::int64_t length);
  // Limits (stream_limits.cc)
  bool full(const Record& record) const;
  std::int64_t stored_bytes(const Record& record) const;
  /// The stream may have changed its size: what the lab, asked for it, finds it to have.
  void measure();
  std::uint32_t subject_number(const Record& record) const;
  Tally& tally(const Record& record);
  void count_in(std::int64_t sequence);
  void count_out(std::int64_t sequence);
  void keep_limits(std::int64_t newest);
  void drop_oldest_of(const Record& record);
  void watch_age(Instant stored);
  void await_commit(Instant at);
  void answer_stored();
  void cut_to(std::int64_t length);

  NatsCluster& cluster_;
  const StreamValues& values_;
  std::uint32_t index_;
  StreamLog log_;
  Replicas replicas_;
  std::int64_t first_ = 1;
  std::int64_t last_ = 0;
  std::int64_t measured_ = 0;           ///< bytes
  std::int64_t count_ = 0, bytes_ = 0;  ///< of what there is among messages first_ … last_
  Vec<std::uint64_t> removed_;          ///< a bit each; only with a retention other than limits
  std::int64_t unproposed_ = 0;         ///< replicated: appends of this packet not yet sent to followers
  Vec<std::uint32_t> by_id_;            ///< message id → sequence of its first copy, 0 = none
  Ring<Waiting> waiting_;
  Vec<Consumer*> consumers_;
  Vec<Copier*> copiers_;  ///< that copy from here
  Vec<Copied> copied_;    ///< of a stream with sources
  Vec<Tally> tallies_;    ///< by subject_number()
  Instant age_check_ = Instant::never();
  Vec<Staged> staged_;  ///< a fault of old versions
};

}  // namespace mqlab::sim::nats
