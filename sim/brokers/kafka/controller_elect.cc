// Decisions about partitions: who leads, who is in sync (kafka PartitionChangeBuilder,
// ReplicationControlManager).
#include "sim/brokers/kafka/controller.h"

#include "core/base/plant.h"

namespace mqlab::sim::kafka {

Decision Controller::first_decision(const Partition& partition) const {
  Decision first;
  for (std::uint32_t s = 0; s < partition.replication; ++s) {
    const NodeIndex node = partition.node(s);
    if (!eligible(node)) continue;
    if (first.leader == no_node) first.leader = node;
    first.isr |= set_of(node);
  }
  if (first.leader == no_node) first.isr = set_of(partition.node(0));
  return first;
}

bool Controller::led(const Partition& partition, const Decision& next) const {
  return next.leader != no_node && has(next.isr, next.leader) && eligible(next.leader) &&
         partition.slot(next.leader) < partition.replication;
}

/// Takes nodes out of the ISR and elects a leader where there is none. True when something changed.
bool Controller::decide(Partition& partition, NodeSet dropped) {
  Decision next = partition.decided;
  next.isr = static_cast<NodeSet>(next.isr & ~dropped);
  // Without eligible leader replicas the last member stays: only it is known to have everything.
  if (next.isr == 0 && !cluster_.values().eligible_leader_replicas) next.isr = partition.decided.isr;
  note_eligible(partition, next);
  if (!led(partition, next)) elect(partition, next);
  if (next == partition.decided) return false;
  if (next.leader != partition.decided.leader) {
    ++next.leader_epoch;
    if (next.leader != no_node) {
      partition.last_leader = no_node;
    } else if (partition.decided.leader != no_node) {
      partition.last_leader = partition.decided.leader;
    }
  }
  ++next.version;
  partition.decided = next;
  return true;
}

/// KIP-966: while fewer than min.insync.replicas are in sync, those that were may still be elected.
void Controller::note_eligible(Partition& partition, const Decision& next) {
  if (!cluster_.values().eligible_leader_replicas) return;
  if (size_of(next.isr) >= partition.topic.min_insync_replicas) {
    partition.eligible = 0;
    return;
  }
  NodeSet kept = static_cast<NodeSet>((partition.eligible | partition.decided.isr) & ~next.isr);
  for (NodeIndex n = 0; n < cluster_.size(); ++n) {
    if (brokers_[n].unclean && brokers_[n].registered) kept = static_cast<NodeSet>(kept & ~set_of(n));
  }
  partition.eligible = kept;
}

/// The first live replica in the order of the assignment: of the ISR, then of the eligible ones while the ISR
/// is empty, then the last known leader, then (unclean) any.
void Controller::elect(Partition& partition, Decision& next) {
  const auto take = [&](NodeIndex node, bool alone) {
    next.leader = node;
    if (alone) next.isr = set_of(node);
    partition.eligible = static_cast<NodeSet>(partition.eligible & ~set_of(node));
  };
  next.leader = no_node;
  for (std::uint32_t s = 0; s < partition.replication; ++s) {
    const NodeIndex n = partition.node(s);
    const bool may = has(next.isr, n) || planted(Plant::kafka_stale_leader);
    if (may && eligible(n)) return take(n, !has(next.isr, n));
  }
  for (std::uint32_t s = 0; s < partition.replication && next.isr == 0; ++s) {
    const NodeIndex n = partition.node(s);
    if (has(partition.eligible, n) && eligible(n)) return take(n, true);
  }
  const bool nobody = next.isr == 0 && partition.eligible == 0;
  if (nobody && partition.last_leader != no_node && eligible(partition.last_leader))
    return take(partition.last_leader, true);
  for (std::uint32_t s = 0; s < partition.replication && partition.topic.unclean_election; ++s) {
    const NodeIndex n = partition.node(s);
    if (eligible(n)) return take(n, true);
  }
}

void Controller::alter_isr(NodeIndex at, std::uint64_t what, std::uint32_t leader_epoch,
                           std::uint32_t version) {
  if (at != active()) return;  // the leader asks again when it hears of the new controller
  const auto place = static_cast<PlaceId>(what >> 32);
  const auto isr = static_cast<NodeSet>(what >> 16);
  const auto leader = static_cast<NodeIndex>(what & 0xff);
  Partition& partition = *cluster_.partition(place);
  Decision& d = partition.decided;
  bool valid = d.leader == leader && d.leader_epoch == leader_epoch && d.version == version;
  for (NodeIndex n = 0; n < cluster_.size(); ++n) {
    const bool joins = has(isr, n) && !has(d.isr, n);
    valid = valid && (!joins || (eligible(n) && brokers_[n].registered));
  }
  Vec<PlaceId> changed(cluster_.arena());
  changed.push_back(place);
  if (!valid) return broadcast(changed, no_node, set_of(leader));
  Decision next = d;
  next.isr = isr;
  ++next.version;
  note_eligible(partition, next);
  d = next;
  broadcast(changed, no_node, everyone());
}

/// Sends decisions, as they are now, to nodes.
void Controller::broadcast(const Vec<PlaceId>& changed, NodeIndex unfenced, NodeSet to) {
  if (changed.empty() && unfenced == no_node) return;
  auto* update = cluster_.arena().make<MetadataUpdate>(cluster_.arena());
  update->unfenced = unfenced;
  for (const PlaceId place : changed) update->changes.push_back({place, cluster_.partition(place)->decided});
  update->references = 1;
  for (NodeIndex n = 0; n < cluster_.size(); ++n) {
    if (has(to, n)) send(n, update);
  }
  if (--update->references == 0) destroy(cluster_.arena(), update);
}

void Controller::send(NodeIndex to, MetadataUpdate* update) {
  const auto a = reinterpret_cast<std::uint64_t>(update);
  if (!world_.alive(cluster_.process(to)) || active_ == no_node) return;
  ++update->references;
  if (to == active_) {
    world_.soon(cluster_.at(to), on_metadata, a);
  } else {
    const auto bytes = static_cast<std::uint32_t>(60 + 40 * update->changes.size());
    world_.network().send(cluster_.process(active_), cluster_.at(to), bytes, on_metadata, a);
  }
}

}  // namespace mqlab::sim::kafka
