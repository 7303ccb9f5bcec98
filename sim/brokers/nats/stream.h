// A JetStream stream: takes publishes at its leader, drops repeats by Nats-Msg-Id, keeps its limits.
#pragma once
#include <cstdint>

#include "core/base/arena.h"
#include "core/base/ring.h"
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

  // ---- messages ----
  /// Sequence of the oldest message there is; last() + 1 when there is none.
  std::int64_t first() const { return first_; }
  /// What consumers may see: committed and applied at the leader.
  std::int64_t last() const { return last_; }
  const StreamLog& log() const { return log_; }

  /// At the leader. True: `op` holds its answer. False: it is kept and answered once the message counts as stored.
  bool publish(Op* op, const Packet& packet);
  /// After all publishes of one packet.
  void packet_done();
  /// Hands out what consumers wait for.
  void deliver();
  void expire();                      ///< max_age
  void audit(ProcessId auditor);

  // ---- for Replicas and the node ----
  void commit_to(std::int64_t length);
  void leader_died(bool power_lost);
  void recovered(std::int64_t length);   ///< R1: its server is back
  void led_anew(std::int64_t length);    ///< replicated: a new leader was elected
  void quorum_back();

 private:
  struct Waiting {  ///< a publish that is not stored yet
    std::int64_t sequence;
    Op* op;
    Connection* connection;
    std::uint32_t epoch;
  };
  std::int64_t first_with(MessageId id) const;
  void drop_waiting();
  bool full(const Record& record) const;
  std::int64_t stored_bytes(const Record& record) const { return record.size + std::int64_t{values_.overhead}; }
  void drop_first();
  void keep_limits();
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
  std::int64_t bytes_ = 0;             ///< of messages first_ … last_
  std::int64_t unproposed_ = 0;        ///< replicated: appends of this packet not yet sent to followers
  Vec<std::uint32_t> by_id_;           ///< message id → sequence of its first copy, 0 = none
  Ring<Waiting> waiting_;
  Vec<Consumer*> consumers_;
};

}  // namespace mqlab::sim::nats
