// The in-sync set as its leader sees it: who joins, who is dropped, and what no longer waits for replication.
// Rules: kafka Partition.maybeShrinkIsr, isFollowerInSync, AlterPartitionManager, DelayedProduce.
#include <algorithm>

#include "core/base/plant.h"
#include "sim/brokers/kafka/controller.h"
#include "sim/brokers/kafka/node.h"

namespace mqlab::sim::kafka {

/// Whether some in-sync follower may not be about to fetch. Only then time-outs can pass, so only then they
/// are scheduled: a healthy cluster has no periodic events.
bool Node::troubled(const Leadership& lead) const {
  return (lead.isr & ~set_of(index_) & ~(lead.attached & fetching_)) != 0;
}

/// Which nodes' processes run and hear this one and are heard, so that their fetches come.
void Node::note_fetching() {
  fetching_ = 0;
  const Network& network = world().network();
  for (NodeIndex n = 0; n < cluster_.size(); ++n) {
    const ProcessId p = cluster_.process(n);
    if (world().running(p) && network.reachable(p, owner) && network.reachable(owner, p))
      fetching_ |= set_of(n);
  }
}

/// Another node stopped fetching: dead, paused or cut off.
void Node::trouble(NodeIndex other, bool gone) {
  const Channel& channel = cluster_.channel(other, index_);
  const Instant last_fetch = channel.last_fetch(world().now(), cluster_.values().replica_fetch_wait);
  bool concerned = false;
  for (PlaceId place = 0; place < cluster_.places(); ++place) {
    const Partition* partition = cluster_.partition(place);
    if (partition == nullptr || !leads(*partition) || partition->slot(other) >= partition->replication)
      continue;
    const Replica& replica = *partition->replica(index_);
    Progress& p = replica.lead->followers[partition->slot(other)];
    if (has(replica.lead->attached, other) && p.end >= replica.log.end())
      p.caught_up = std::max(p.caught_up, last_fetch);
    if (gone) {
      p.dirty = false;
      replica.lead->attached = static_cast<NodeSet>(replica.lead->attached & ~set_of(other));
    }
    concerned = concerned || has(replica.lead->isr, other);
  }
  if (concerned) schedule_check();
}

/// A follower outside the ISR may join when it has all committed records and has reached the start of this
/// epoch. (The leader looks when a fetch comes; idle fetches come every replica.fetch.wait.max.ms, so
/// whenever something changes it is as if one came now.)
void Node::maybe_join(Partition& partition, Leadership& lead, std::uint32_t slot) {
  const NodeIndex node = partition.node(slot);
  if (has(static_cast<NodeSet>(lead.isr | lead.joining), node)) return;
  const Replica& replica = *partition.replica(index_);
  const Progress& p = lead.followers[slot];
  const bool behind = p.end < replica.high_watermark || p.end < lead.epoch_start;
  if (!has(lead.attached, node) || p.truncate_to >= 0) return;
  if (behind && !planted(Plant::kafka_isr_joins_early)) return;
  if (!fetching(node) || !cluster_.controller().eligible(node)) return;
  ask_isr(partition, lead, static_cast<NodeSet>(lead.isr | set_of(node)));
}

void Node::ask_isr(Partition& partition, Leadership& lead, NodeSet isr) {
  if (lead.asked != 0) return;  // one request at a time
  const NodeIndex controller = cluster_.controller().active();
  if (controller == no_node) return;  // asked again when there is one: controller_changed()
  lead.asked = isr;
  lead.joining = static_cast<NodeSet>(isr & ~lead.isr);
  const std::uint64_t what = std::uint64_t{partition.place} << 32 | std::uint64_t{isr} << 16 | index_;
  if (controller == index_) {
    world().soon(*this, on_alter_isr, what, lead.epoch, lead.version);
  } else {
    world().network().send(owner, cluster_.at(controller), 100, on_alter_isr, what, lead.epoch, lead.version);
  }
}

/// A new controller knows nothing of what was asked of the one before.
void Node::controller_changed() {
  for (PlaceId place = 0; place < cluster_.places(); ++place) {
    Partition* partition = cluster_.partition(place);
    if (partition == nullptr || !leads(*partition)) continue;
    Leadership& lead = *partition->replica(index_)->lead;
    lead.asked = lead.joining = 0;
    for (std::uint32_t s = 0; s < partition->replication; ++s) {
      if (partition->node(s) != index_) maybe_join(*partition, lead, s);
    }
    if (troubled(lead)) schedule_check();
  }
}

/// At the next of the ticks that come every half of replica.lag.time.max.ms from the node's start on.
void Node::schedule_check() {
  if (!check_scheduled_) {
    check_scheduled_ = true;
    const Duration half = cluster_.values().replica_lag_max / 2;
    const std::int64_t ticks = (world().now() - booted_).ns / half.ns + 1;
    world().schedule(booted_ + half * ticks, *this, on_isr_check);
  }
  schedule_expiry();
}

void Node::check_isr() {
  check_scheduled_ = false;
  bool again = false;
  for (PlaceId place = 0; place < cluster_.places(); ++place) {
    Partition* partition = cluster_.partition(place);
    if (partition == nullptr || !leads(*partition)) continue;
    const Replica& replica = *partition->replica(index_);
    Leadership& lead = *replica.lead;
    NodeSet isr = lead.isr;
    for (std::uint32_t s = 0; s < partition->replication; ++s) {
      const NodeIndex node = partition->node(s);
      if (node == index_ || !has(isr, node) || lead.followers[s].end == replica.log.end()) continue;
      again = true;
      if (world().now() - lead.followers[s].caught_up > cluster_.values().replica_lag_max) {
        isr = static_cast<NodeSet>(isr & ~set_of(node));
      }
    }
    if (isr != lead.isr) {
      lead.asked = lead.joining = 0;  // what was asked for before this went unanswered
      ask_isr(*partition, lead, isr);
    }
  }
  if (again) schedule_check();
}

// ---- request timeouts of what waits for replication
// ------------------------------------------------------------------

void Node::schedule_expiry() {
  if (expiry_scheduled_) return;
  Instant next = Instant::never();
  for (PlaceId place = 0; place < cluster_.places(); ++place) {
    const Partition* partition = cluster_.partition(place);
    if (partition == nullptr || !leads(*partition)) continue;
    const Ring<Waiter>& waiters = partition->replica(index_)->lead->waiters;
    for (std::uint32_t i = 0; i < waiters.size(); ++i) next = std::min(next, waiters[i].pending->deadline);
  }
  if (next == Instant::never()) return;
  expiry_scheduled_ = true;
  world().schedule(std::max(next, world().now()), *this, on_expire);
}

void Node::expire() {
  expiry_scheduled_ = false;
  for (PlaceId place = 0; place < cluster_.places(); ++place) {
    const Partition* partition = cluster_.partition(place);
    if (partition != nullptr && leads(*partition)) expire(*partition->replica(index_));
  }
  schedule_expiry();
}

/// The records stay in the log and may still be committed.
void Node::expire(Replica& replica) {
  Vec<Waiter> late(arena());
  Ring<Waiter>& waiters = replica.lead->waiters;
  for (std::uint32_t i = waiters.size(); i > 0; --i) {
    const Waiter w = waiters.front();
    waiters.pop_front();
    if (w.pending->deadline <= world().now()) {
      late.push_back(w);
    } else {
      waiters.push_back(w);
    }
  }
  for (const Waiter& w : late) finished(w.pending, w.part, Error::request_timed_out);
}

}  // namespace mqlab::sim::kafka
