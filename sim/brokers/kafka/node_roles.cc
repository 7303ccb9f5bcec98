// A node's roles: what it learns from the controller, becoming leader, resigning, following.
// Rules: kafka ReplicaManager.applyDelta, Partition.makeLeader, makeFollower.
#include <algorithm>

#include "core/base/plant.h"
#include "sim/brokers/kafka/controller.h"
#include "sim/brokers/kafka/groups.h"
#include "sim/brokers/kafka/node.h"
#include "sim/brokers/kafka/transactions.h"

namespace mqlab::sim::kafka {

void Node::update(const MetadataUpdate& update) {
  if (!ready_ && update.unfenced != index_) return;  // still starting: it will be sent everything
  for (const MetadataUpdate::Change& change : update.changes)
    apply(*cluster_.partition(change.place), change.decision);
  if (update.unfenced == index_) ready_ = true;
  if (update.unfenced == no_node || update.unfenced == index_) return;
  for (PlaceId place = 0; place < cluster_.places(); ++place) {
    Partition* partition = cluster_.partition(place);
    if (partition == nullptr || !leads(*partition)) continue;
    const std::uint32_t slot = partition->slot(update.unfenced);
    if (slot < partition->replication) maybe_join(*partition, *partition->replica(index_)->lead, slot);
  }
}

void Node::apply(Partition& partition, const Decision& decision) {
  Decision& view = views_[partition.place];
  if (decision.version < view.version) return;
  Replica* replica = partition.replica(index_);
  Leadership* lead = replica == nullptr ? nullptr : replica->lead;
  if (decision == view) {  // the answer to a change that was refused
    if (lead != nullptr) lead->asked = lead->joining = 0;
    return;
  }
  const bool moved = decision.leader != view.leader || decision.leader_epoch != view.leader_epoch;
  view = decision;
  if (lead != nullptr && (decision.leader != index_ || decision.leader_epoch != lead->epoch)) {
    resign(partition, *replica);
    lead = nullptr;
  }
  if (lead != nullptr) {
    lead->isr = decision.isr;
    lead->version = decision.version;
    lead->asked = lead->joining = 0;
    for (std::uint32_t s = 0; s < partition.replication; ++s) {
      if (partition.node(s) != index_) maybe_join(partition, *lead, s);
    }
    advance(partition, *replica);
  } else if (decision.leader == index_) {
    become_leader(partition, *replica);
  } else if (replica != nullptr && moved && decision.leader != no_node) {
    to_attach_.push_back(partition.place);
    attach_wanted_ |= set_of(decision.leader);
  }
  if (moved && transactions_ != nullptr) transactions_->leader_changed(partition.place);
}

void Node::become_leader(Partition& partition, Replica& replica) {
  replica.lead = arena().make<Leadership>(arena(), partition.replication);
  Leadership& lead = *replica.lead;
  const Decision& decision = views_[partition.place];
  lead.epoch = decision.leader_epoch;
  lead.version = decision.version;
  lead.isr = decision.isr;
  if (planted(Plant::kafka_leader_cuts_to_watermark)) replica.log.truncate(replica.high_watermark);
  lead.epoch_start = replica.log.end();
  if (!replica.log.empty()) lead.ledger.rebuild(replica.log);
  for (Progress& p : lead.followers) p.caught_up = world().now();
  if (decision.version == 0) return;  // as the cluster was made: introduce() goes on
  for (std::size_t i = 0; i < held_.size();) {
    if (held_[i].place != partition.place) {
      ++i;
      continue;
    }
    const Attach::Item item = held_[i];
    const NodeIndex from = held_from_[i];
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
    held_from_.erase(held_from_.begin() + static_cast<std::ptrdiff_t>(i));
    if (cluster_.channel(from, index_).up) attach_one(item, from);
  }
  advance(partition, replica);
  if (troubled(lead)) schedule_check();
  if (partition.use == Use::offsets) groups().load(partition);
  if (partition.use == Use::transactions) transactions().load(partition);
}

/// What waits here is answered with an error: clients go to the new leader.
void Node::resign(Partition& partition, Replica& replica) {
  Leadership* lead = replica.lead;
  replica.lead = nullptr;
  while (!lead->waiters.empty()) {
    const Waiter w = lead->waiters.front();
    lead->waiters.pop_front();
    finished(w.pending, w.part, Error::not_leader_or_follower);
  }
  for (ParkedFetch* parked : lead->fetches) {
    FetchRequest* r = parked->request;
    unpark(parked);
    answer_fetch(r);
  }
  if (partition.use == Use::offsets && groups_ != nullptr) groups_->resign(partition.number);
  if (partition.use == Use::transactions && transactions_ != nullptr) transactions_->resign(partition.number);
  destroy(arena(), lead);
}

/// Fetches from new leaders begin: one message to each.
void Node::attach_to_leaders() {
  Vec<PlaceId> places(arena());
  places.swap(to_attach_);
  for (NodeIndex leader = 0; leader < cluster_.size(); ++leader) {
    if (!has(attach_wanted_, leader)) continue;
    auto* message = arena().make<Attach>(arena());
    message->follower = index_;
    message->generation = cluster_.channel(index_, leader).generation;
    for (const PlaceId place : places) {
      if (view(place).leader == leader) message->items.push_back({place, view(place).leader_epoch});
    }
    const auto bytes = static_cast<std::uint32_t>(60 + 40 * message->items.size());
    world().network().send(owner, cluster_.at(leader), bytes, on_attach,
                           reinterpret_cast<std::uint64_t>(message));
  }
  attach_wanted_ = 0;
}

}  // namespace mqlab::sim::kafka
