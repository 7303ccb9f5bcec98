// The KRaft controller of a cluster, abstracted: every node votes, one of them is active. What it decides is
// exact; heartbeats and its own election are arithmetic on the clock. Rules: kafka BrokerHeartbeatManager,
// ClusterControlManager, ReplicationControlManager, PartitionChangeBuilder.
#pragma once
#include <cstdint>

#include "sim/brokers/kafka/cluster.h"
#include "sim/brokers/kafka/node.h"

namespace mqlab::sim::kafka {

class Controller final : public Component {
 public:
  explicit Controller(KafkaCluster& cluster);

  void on(const SimEvent& event) override;
  void life_changed(ProcessId process, LifeChange change) override;

  /// The node whose controller is active and has a quorum; no_node while there is none.
  NodeIndex active() const { return working_ ? active_ : no_node; }
  /// May lead and be in sync: registered, not fenced, not shutting down.
  bool eligible(NodeIndex node) const { return !brokers_[node].fenced && !brokers_[node].leaving; }
  /// A leader asks for another ISR; `at` is the node that was taken for the controller.
  void alter_isr(NodeIndex at, std::uint64_t what, std::uint32_t leader_epoch, std::uint32_t version);
  /// Controlled shutdown begins: its partitions move.
  void shut_down(NodeIndex node);
  /// A partition's first decision: the first eligible replica leads, the eligible ones are in sync.
  Decision first_decision(const Partition& partition) const;

 private:
  enum : std::uint16_t { fence_due, unfence_due, boot_due, election_due, exit_due };
  struct Broker {
    bool booted = true;      ///< its process has started up
    bool registered = true;  ///< in this life
    bool fenced = false;
    bool silent = false;      ///< its heartbeats do not come
    bool leaving = false;     ///< in controlled shutdown
    bool exiting = false;     ///< its controlled shutdown is over: it ends properly
    bool unclean = false;     ///< ended in another way since it registered
    std::uint32_t life = 0;   ///< voids the start-up of a process that died meanwhile
    std::uint32_t token = 0;  ///< voids what was scheduled for its session
    Instant beats_from = {};  ///< a heartbeat then, and each interval after
  };

  void died(NodeIndex node);
  void exit(NodeIndex node);
  void evaluate();
  bool can_lead(NodeIndex node) const;
  bool hears(NodeIndex a, NodeIndex b) const;
  void seek_controller(Duration delay);
  void elect_controller();
  void listen(NodeIndex node);
  void schedule_fence(NodeIndex node, Instant last_beat);
  void schedule_unfence(NodeIndex node);
  void fence(NodeIndex node);
  void unfence(NodeIndex node);
  void try_register(NodeIndex node);

  // controller_elect.cc
  bool decide(Partition& partition, NodeSet dropped);
  void elect(Partition& partition, Decision& next);
  void note_eligible(Partition& partition, const Decision& next);
  bool led(const Partition& partition, const Decision& next) const;
  void broadcast(const Vec<PlaceId>& changed, NodeIndex unfenced, NodeSet to);
  void send(NodeIndex to, MetadataUpdate* update);
  NodeSet everyone() const { return static_cast<NodeSet>((1u << cluster_.size()) - 1); }

  KafkaCluster& cluster_;
  World& world_;
  Vec<Broker> brokers_;
  NodeIndex active_ = 0;
  bool working_ = true;
  bool seeking_ = false;
  std::uint32_t election_ = 0;  ///< number of the latest election; voids those scheduled before
};

}  // namespace mqlab::sim::kafka
