// Replication: fetches between nodes, the high watermark, where a follower's log has to be cut.
// Rules: kafka Partition.maybeIncrementLeaderHW, Replica.updateFetchStateOrThrow, AbstractFetcherThread.
#include <algorithm>
#include <bit>

#include "core/base/check.h"
#include "sim/brokers/kafka/node.h"

namespace mqlab::sim::kafka {
namespace {
constexpr std::uint32_t fetch_bytes = 60;         // a fetch request or response without records
constexpr std::uint32_t fetch_bytes_a_part = 40;  // and what each partition adds
}  // namespace

void Node::mark_dirty(const Partition& partition, Progress& progress, NodeIndex follower) {
  if (progress.dirty) return;
  progress.dirty = true;
  Channel& channel = cluster_.channel(follower, index_);
  channel.dirty.push_back(partition.place);
  pending_flush_ |= set_of(follower);
}

void Node::flush() {
  while (pending_flush_ != 0) {
    const auto follower = static_cast<NodeIndex>(std::countr_zero(pending_flush_));
    pending_flush_ = static_cast<NodeSet>(pending_flush_ & (pending_flush_ - 1));
    respond(follower);
  }
  if (attach_wanted_ != 0) attach_to_leaders();
}

/// Answers the follower's parked fetch, if it is here, with everything there is for it.
void Node::respond(NodeIndex follower) {
  Channel& channel = cluster_.channel(follower, index_);
  if (!channel.up || !channel.parked || channel.dirty.empty()) return;
  std::uint64_t bytes = 0;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < channel.dirty.size(); ++i) {
    const PlaceId place = channel.dirty[i];
    if (respond_part(channel, follower, place, bytes)) channel.dirty[kept++] = place;
  }
  channel.dirty.resize(kept);
  if (channel.parts.empty()) return;
  channel.parked = false;
  const auto size = static_cast<std::uint32_t>(bytes + fetch_bytes + fetch_bytes_a_part * channel.parts.size());
  world().network().send(owner, cluster_.at(follower), size, on_replica_data, 0, channel.generation, index_);
}

/// True when there is more for this partition than went into the response.
bool Node::respond_part(Channel& channel, NodeIndex follower, PlaceId place, std::uint64_t& bytes) {
  Partition& partition = *cluster_.partition(place);
  Replica& replica = *partition.replica(index_);
  if (replica.lead == nullptr) return false;
  Progress& progress = replica.lead->followers[partition.slot(follower)];
  progress.dirty = false;
  if (!progress.attached) return false;
  ReplicaPart part;
  part.place = place;
  part.epoch = replica.lead->epoch;
  part.high_watermark = replica.high_watermark;
  part.truncate_to = progress.truncate_to;
  bool more = false;
  if (part.truncate_to < 0) {
    const KafkaBroker& v = cluster_.values();
    std::uint64_t taken = 0;
    const Vec<LogEntry>& entries = replica.log.entries();
    for (std::size_t i = replica.log.find(progress.end); i < entries.size(); ++i) {
      const std::uint32_t size = entries[i].batch->bytes;
      // Soft limits, as for consumers: the first batch goes whole (kafka FetchParams.hardMaxBytesLimit).
      if (bytes > 0 && (taken + size > v.replica_fetch_bytes || bytes + size > v.replica_response_bytes)) {
        more = true;
        break;
      }
      taken += size;
      bytes += size;
      ++entries[i].batch->references;
      channel.entries.push_back(entries[i]);
      ++part.count;
    }
  }
  if (part.count > 0 || part.truncate_to >= 0) channel.parts.push_back(part);
  progress.dirty = more;
  return more;
}

/// At the follower: a fetch response came; the next fetch goes out.
void Node::replicate(Channel& channel, NodeIndex leader) {
  const LogEntry* entries = channel.entries.data();
  for (ReplicaPart& part : channel.parts) {
    follow(part, leader, entries);
    entries += part.count;
  }
  channel.entries.clear();
  const auto size = static_cast<std::uint32_t>(fetch_bytes + fetch_bytes_a_part * channel.parts.size());
  world().network().send(owner, cluster_.at(leader), size, on_replica_fetch, 0, channel.generation, index_);
}

void Node::follow(ReplicaPart& part, NodeIndex leader, const LogEntry* entries) {
  const Partition& partition = *cluster_.partition(part.place);
  Replica& replica = *partition.replica(index_);
  const Decision& decision = view(part.place);
  const bool mine = decision.leader == leader && decision.leader_epoch == part.epoch;
  part.end = -1;
  if (!mine || (part.count > 0 && entries->base != replica.log.end())) {
    for (std::uint32_t i = 0; i < part.count; ++i) release(arena(), entries[i].batch);
    return;
  }
  if (part.truncate_to >= 0) replica.log.truncate(part.truncate_to);
  for (std::uint32_t i = 0; i < part.count; ++i) replica.log.append(world().now(), entries[i], partition.topic);
  part.end = replica.log.end();
  replica.high_watermark = std::min(std::max(part.high_watermark, replica.high_watermark), part.end);
}

/// At the leader: a follower's fetch came.
void Node::fetched(Channel& channel, NodeIndex follower) {
  channel.parked = true;
  channel.parked_since = world().now();
  for (const ReplicaPart& part : channel.parts) {
    Partition& partition = *cluster_.partition(part.place);
    Replica& replica = *partition.replica(index_);
    if (replica.lead == nullptr || replica.lead->epoch != part.epoch || part.end < 0) continue;
    note_fetch(partition, *replica.lead, partition.slot(follower), part.end);
  }
  for (const ReplicaPart& part : channel.parts) {  // (what this has others append goes into the next response)
    Partition& partition = *cluster_.partition(part.place);
    Replica& replica = *partition.replica(index_);
    if (replica.lead != nullptr) advance(partition, replica);
  }
  channel.parts.clear();
  pending_flush_ |= set_of(follower);
}

void Node::note_fetch(Partition& partition, Leadership& lead, std::uint32_t slot, std::int64_t end) {
  Progress& p = lead.followers[slot];
  const std::int64_t leader_end = partition.replicas[partition.slot(index_)].log.end();
  if (end >= leader_end) {
    p.caught_up = world().now();
  } else if (end >= p.leader_end) {
    p.caught_up = std::max(p.caught_up, p.fetched);
  }
  p.fetched = world().now();
  p.leader_end = leader_end;
  p.truncate_to = -1;
  p.end = end;
  if (end < leader_end) mark_dirty(partition, p, partition.node(slot));
  maybe_join(partition, lead, slot);
}

/// Raises the high watermark: the least log end of the maximal in-sync set. It stands still while fewer than
/// min.insync.replicas are in sync (KAFKA-15583, since 3.7).
void Node::advance(Partition& partition, Replica& replica) {
  Leadership& lead = *replica.lead;
  if (size_of(lead.isr) < partition.topic.min_insync_replicas) return;
  std::int64_t least = replica.log.end();
  const auto in_sync = static_cast<NodeSet>(lead.isr | lead.joining);
  for (std::uint32_t s = 0; s < partition.replication; ++s) {
    const NodeIndex node = partition.node(s);
    if (node != index_ && has(in_sync, node)) least = std::min(least, lead.followers[s].end);
  }
  if (least <= replica.high_watermark) return;
  replica.high_watermark = least;
  while (replica.lead == &lead && !lead.waiters.empty() && lead.waiters.front().offset <= replica.high_watermark) {
    const Waiter done = lead.waiters.front();
    lead.waiters.pop_front();
    const bool enough = size_of(static_cast<NodeSet>(lead.isr | lead.joining)) >= partition.topic.min_insync_replicas;
    finished(done.pending, done.part, enough ? Error::none : Error::not_enough_replicas_after_append);
  }
  if (replica.lead == &lead && !lead.fetches.empty()) wake(lead);
}

// ---- attaching -------------------------------------------------------------------------------------------------

/// At the leader: a node follows some of its partitions from now on.
void Node::attach(Attach* attach) {
  Channel& channel = cluster_.channel(attach->follower, index_);
  if (attach->generation == channel.generation) {
    if (!channel.up) {
      channel.up = channel.parked = true;
      channel.parked_since = world().now();
    }
    for (const Attach::Item& item : attach->items) attach_one(item, attach->follower);
    pending_flush_ |= set_of(attach->follower);
  }
  destroy(arena(), attach);
}

void Node::attach_one(const Attach::Item& item, NodeIndex follower) {
  Partition& partition = *cluster_.partition(item.place);
  Replica& replica = *partition.replica(index_);
  if (replica.lead == nullptr || replica.lead->epoch < item.epoch) {
    if (view(item.place).leader_epoch < item.epoch) {
      held_.push_back(item);  // this node has yet to hear that it leads
      held_from_.push_back(follower);
    }
    return;
  }
  if (replica.lead->epoch > item.epoch) return;  // it will hear of the newer epoch and come again
  const std::uint32_t slot = partition.slot(follower);
  Progress& p = replica.lead->followers[slot];
  const Log& theirs = partition.replicas[slot].log;
  p.attached = true;
  p.truncate_to = divergence(replica.log, theirs);
  if (p.truncate_to >= 0) {
    mark_dirty(partition, p, follower);
    return;
  }
  p.end = theirs.end();
  p.leader_end = p.end + 1;  // there was no fetch before
  note_fetch(partition, *replica.lead, slot, p.end);
  advance(partition, replica);
}

void Node::break_channels(NodeIndex other) {
  for (Channel* channel : {&cluster_.channel(other, index_), &cluster_.channel(index_, other)}) {
    ++channel->generation;
    channel->up = channel->parked = false;
    for (const LogEntry& e : channel->entries) release(arena(), e.batch);
    channel->entries.clear();
    channel->parts.clear();
    channel->dirty.clear();
  }
}

}  // namespace mqlab::sim::kafka
