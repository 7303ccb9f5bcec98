// A Kafka cluster of 1..N nodes in KRaft mode. What the client side needs is on top; the rest is the nodes'
// own.
#pragma once
#include <cstdint>
#include <span>

#include "core/base/arena.h"
#include "core/scenario/kafka_settings.h"
#include "sim/brokers/kafka/channel.h"
#include "sim/brokers/kafka/partition.h"
#include "sim/cluster.h"
#include "sim/world.h"

namespace mqlab::sim::kafka {

class Controller;
class KafkaPlan;
class Node;

class KafkaCluster final : public Cluster {
 public:
  KafkaCluster(World& world, const KafkaPlan& plan, std::uint32_t broker);

  // ---- for clients ----
  std::uint32_t broker() const { return broker_; }  ///< index into Scenario::brokers
  /// The nodes' processes: the bootstrap servers, in order.
  std::span<const ProcessId> processes() const { return {processes_.data(), processes_.size()}; }
  /// Requests go to this component: World::network().send(self, node(p), bytes, request_event, request).
  Component& node(ProcessId process);
  const KafkaPlan& plan() const { return plan_; }

  // Cluster
  Client* connect(Process& process) override;
  ProcessId leader(PlaceId place) const override;
  void audit() override;
  bool grown(TopicId topic) const override;
  void grow(TopicId topic) override;
  /// Controlled shutdown: its partitions move to other in-sync replicas, its logs are flushed, then it ends.
  bool stop(ProcessId process) override;

  // ---- for nodes and controller ----
  World& world() { return world_; }
  Arena& arena() { return world_.arena(); }
  const KafkaBroker& values() const;
  NodeIndex size() const { return static_cast<NodeIndex>(processes_.size()); }
  Node& at(NodeIndex node) { return *nodes_[node]; }
  ProcessId process(NodeIndex node) const { return processes_[node]; }
  /// no_node when the process is none of this cluster's.
  NodeIndex node_of(ProcessId process) const;
  Controller& controller() { return *controller_; }
  Channel& channel(NodeIndex follower, NodeIndex leader) { return channels_[follower * size() + leader]; }

  /// nullptr for places of other brokers. Internal partitions are numbered behind the topology's places.
  Partition* partition(PlaceId place) const {
    return place < partitions_.size() ? partitions_[place] : nullptr;
  }
  /// Partitions of a topic of the scenario that there are by now.
  std::uint32_t partitions_of(TopicId topic) const;
  PlaceId places() const { return static_cast<PlaceId>(partitions_.size()); }
  /// The partition of __consumer_offsets that a group's state lies in; made when first asked for.
  Partition& offsets_of(std::uint32_t group);
  /// The partition of __transaction_state of a transactional id; made when first asked for.
  Partition& transactions_of(std::uint32_t transactional_id);

  /// Before anybody's life changes: all that is on the wire by arithmetic becomes messages; see channel.h.
  void settle();

  /// A log of the partition has changed its size: what the lab, asked for it, finds on disk.
  void measure(const Partition& partition);

  std::int64_t new_producer_id() { return next_producer_++; }
  std::uint32_t new_member() { return next_member_++; }

 private:
  Partition& add(PlaceId place, Use use, std::uint32_t number, std::uint32_t first, const KafkaTopic& topic);
  Partition& internal(Vec<Partition*>& by_number, std::uint32_t number, Use use, const KafkaTopic& topic);
  void make_partition(PlaceId place);
  void audit_records(const Partition& partition);
  void audit_nothing(PlaceId place);
  void audit_offsets(const Partition& partition);

  World& world_;
  const KafkaPlan& plan_;
  std::uint32_t broker_;
  Vec<ProcessId> processes_;
  Vec<Node*> nodes_;
  Vec<Component*> components_;  ///< the same, as clients know them
  Vec<Partition*> partitions_;
  Vec<std::uint64_t> measured_;  ///< by place: bytes
  Vec<Channel> channels_;
  Vec<Partition*> offsets_;       ///< by group number
  Vec<Partition*> transactions_;  ///< by transactional id number
  Controller* controller_ = nullptr;
  std::int64_t next_producer_ = 1000;
  std::uint32_t next_member_ = 1;
};

}  // namespace mqlab::sim::kafka
