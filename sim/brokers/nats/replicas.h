// The Raft group of a stream: who leads it, when an append is committed, what follows from a server's death.
//
// While nothing is wrong the only event is the commit of what was appended: followers' copies, heartbeats and
// election timers are times that are looked at when something happens to a server or to the network.
#pragma once
#include <cstdint>

#include "core/base/arena.h"
#include "sim/brokers/nats/replica.h"
#include "sim/brokers/nats/settings.h"
#include "sim/component.h"

namespace mqlab::sim::nats {

class NatsCluster;
class Stream;

class Replicas {
 public:
  Replicas(NatsCluster& cluster, Stream& stream);

  /// As the rest of the cluster sees it; no_process when nobody answers for the stream. It may be dead in
  /// silence (power loss) or paused.
  ProcessId leader() const { return leader_; }
  /// The server that a client connected to `node` ends up at, no_process: "no responders".
  ProcessId route_from(ProcessId node) const;
  bool leads(ProcessId node) const { return node == leader_; }
  bool alone() const { return copies_.size() == 1; }
  const ServiceTimes& service_times() const { return alone() ? alone_times : replicated_times; }
  std::uint32_t term() const { return term_; }
  /// The leader has a majority with it.
  bool quorum() const;
  /// To the nearest follower and back: what a consumer's delivery waits for.
  Duration round_trip();

  /// The leader's log has grown to `length`. When that counts as stored; never() while there is no quorum.
  Instant appended(std::int64_t length);
  bool may_commit(std::int64_t length, std::uint32_t term);
  /// Message ids below this sequence are unknown to the leader.
  std::int64_t forgotten() const;
  bool gone() const { return gone_; }

  void life_changed(ProcessId process, LifeChange change);
  void booted(ProcessId node);
  void disk_full(ProcessId node);
  void fail_syncs(ProcessId node, bool failing);
  void sync_due(ProcessId node);
  /// One copy: whether its file can take so much more.
  bool takes(std::int64_t bytes) { return copies_.front().takes(bytes); }
  bool failed() const { return copies_.front().room < 0; }  ///< of the only copy: its store
  void elect(std::uint32_t generation);
  void step_down(std::uint32_t generation);
  /// The operator removes what the leader does not hear of.
  void remove_peers(std::uint32_t generation);
  /// A fault of old versions: the minority's leader counts itself as all there is.
  bool split_off(ProcessId node) const { return node != no_process && node == split_off_; }
  void caught_up(ProcessId node, std::uint32_t generation);

 private:
  Replica* copy_of(ProcessId node);
  const Replica* copy_of(ProcessId node) const { return const_cast<Replicas*>(this)->copy_of(node); }
  std::uint32_t majority() const { return static_cast<std::uint32_t>(copies_.size() / 2 + 1); }
  /// How many copies the leader waits for.
  std::uint32_t wanted() const;
  bool forgets(const Replica& copy);
  bool up(ProcessId node) const;
  bool linked(ProcessId a, ProcessId b) const;
  Duration fsync(const Replica& copy);
  bool grows(Replica& copy, std::int64_t length, Instant at);
  void sync_failed(Replica& copy, Instant at);
  void lose_power(Replica& copy);
  void stop_following(Replica& copy);
  void look_around();
  void watch_followers();
  void watch_quorum();
  void watch_elections();
  Replica* likely_winner();
  bool would_win(Replica& candidate);
  void lead(Replica& winner);
  void commit_what_is_held();

  NatsCluster& cluster_;
  Stream& stream_;
  Vec<Replica> copies_;
  ProcessId leader_ = no_process;
  ProcessId deposed_ = no_process;    ///< believes still to lead
  ProcessId split_off_ = no_process;  ///< has removed all others without asking them
  std::uint32_t term_ = 1;
  Instant led_since_ = {};
  bool gone_ = false;  ///< no server knows the stream any more
  bool quorum_lost_ = false;
  std::uint32_t quorum_generation_ = 0;
  std::uint32_t election_generation_ = 0;
  ProcessId candidate_ = no_process;
  Instant candidate_at_ = Instant::never();
  std::uint64_t draws_ = 0;
};

}  // namespace mqlab::sim::nats
