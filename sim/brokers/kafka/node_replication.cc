// Replication: fetches between nodes, the high watermark, where a follower's log has to be cut.
// Rules: kafka Partition.maybeIncrementLeaderHW, Replica.updateFetchStateOrThrow, AbstractFetcherThread.
#include <algorithm>
#include <bit>

#include "core/base/check.h"
#include "core/base/plant.h"
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
  if (channel.computed && !channel.scheduled)
    schedule_fetch(channel, follower);  // to send it as soon as it can
}

void Node::flush() {
  NodeSet sent = 0;
  while (pending_flush_ != 0) {
    const auto follower = static_cast<NodeIndex>(std::countr_zero(pending_flush_));
    pending_flush_ = static_cast<NodeSet>(pending_flush_ & (pending_flush_ - 1));
    if (respond(follower)) sent |= set_of(follower);
  }
  if (sent != 0) schedule_fetches(sent);
  if (attach_wanted_ != 0) attach_to_leaders();
}

/// Answers the follower's parked fetch, if it is here, with everything there is for it. True when the next
/// fetch is computed and yet to be scheduled.
bool Node::respond(NodeIndex follower) {
  Channel& channel = cluster_.channel(follower, index_);
  if (!channel.up || !channel.parked || channel.dirty.empty()) return false;
  std::uint64_t bytes = 0;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < channel.dirty.size(); ++i) {
    const PlaceId place = channel.dirty[i];
    if (respond_part(channel, follower, place, bytes)) channel.dirty[kept++] = place;
  }
  channel.dirty.resize(kept);
  if (channel.parts.empty()) return false;
  channel.parked = channel.arrived = channel.scheduled = false;
  ++channel.ticket;
  const auto parts = static_cast<std::uint32_t>(fetch_bytes + fetch_bytes_a_part * channel.parts.size());
  const auto size = static_cast<std::uint32_t>(bytes + parts);
  channel.computed = fetching(follower) && !cluster_.at(follower).disk_fails() && !world().network().shared();
  if (!channel.computed) {
    world().network().send(owner, cluster_.at(follower), size, on_replica_data, channel.ticket,
                           channel.generation, index_);
    return false;
  }
  const ProcessId to = cluster_.process(follower);
  channel.arrives = world().now() + way(owner, to, size);
  channel.back = channel.arrives + way(to, owner, parts);
  cluster_.at(follower).arriving_ |= set_of(index_);
  returning_ |= set_of(follower);
  return true;
}

/// Time on the wire. (The connections of fetchers are their own, so nothing else delays what is on them.)
Duration Node::way(ProcessId from, ProcessId to, std::uint32_t bytes) {
  const std::uint64_t rate = world().setup().scenario.network.bytes_per_second;
  const Duration sending =
      rate == 0 ? Duration{} : Duration{static_cast<std::int64_t>(bytes * 1'000'000'000ull / rate)};
  return world().network().delay(from, to) + sending;
}

/// Of the responses that went out together, the one that is acknowledged last has an event; the others only
/// where they could move something without it.
void Node::schedule_fetches(NodeSet sent) {
  NodeIndex last = no_node;
  for (NodeIndex f = 0; f < cluster_.size(); ++f) {
    if (!has(sent, f)) continue;
    if (last == no_node || cluster_.channel(f, index_).back >= cluster_.channel(last, index_).back) last = f;
  }
  for (NodeIndex f = 0; f < cluster_.size(); ++f) {
    if (!has(sent, f)) continue;
    Channel& channel = cluster_.channel(f, index_);
    if (f == last || !channel.dirty.empty() || !covered(channel, f, last)) schedule_fetch(channel, f);
  }
}

/// Whether nothing can come of this follower's fetch before that of `last` is there: both are in sync in each
/// of the partitions, so that the high watermark waits for both.
bool Node::covered(const Channel& channel, NodeIndex follower, NodeIndex last) const {
  const Vec<ReplicaPart>& others = cluster_.channel(last, index_).parts;
  for (std::size_t i = 0; i < channel.parts.size(); ++i) {
    const PlaceId place = channel.parts[i].place;
    const Leadership& lead = *cluster_.partition(place)->replica(index_)->lead;
    if (!has(lead.isr, follower) || !has(lead.isr, last)) return false;
    if (i >= others.size() || others[i].place != place) return false;
  }
  return true;
}

void Node::schedule_fetch(Channel& channel, NodeIndex follower) {
  channel.scheduled = true;
  world().schedule(std::max(channel.back, world().now()), *this, on_replica_fetch, channel.ticket,
                   channel.generation, follower);
}

/// Takes note of what has reached this node by now.
void Node::settle() {
  const Instant now = world().now();
  for (NodeIndex n = 0; arriving_ != 0 && n < cluster_.size(); ++n) {
    if (!has(arriving_, n)) continue;
    Channel& channel = cluster_.channel(index_, n);
    if (channel.arrives <= now) take(channel, n);
  }
  for (NodeIndex n = 0; returning_ != 0 && n < cluster_.size(); ++n) {
    if (!has(returning_, n)) continue;
    Channel& channel = cluster_.channel(n, index_);
    if (channel.back <= now) fetched(channel, n, channel.back);
  }
}

/// Somebody's life is about to change: what is still on the wire to this follower becomes a message, what it
/// has sent gets an event.
void Node::settle_for_good() {
  if (world().alive(owner)) settle();
  for (NodeIndex leader = 0; leader < cluster_.size(); ++leader) {
    Channel& channel = cluster_.channel(index_, leader);
    if (leader == index_ || !channel.computed) continue;
    Node& from = cluster_.at(leader);
    if (!channel.arrived && channel.arrives <= world().now()) take(channel, leader);
    if (channel.arrived) {
      if (!channel.scheduled) from.schedule_fetch(channel, index_);
      continue;
    }
    channel.computed = false;
    arriving_ = static_cast<NodeSet>(arriving_ & ~set_of(leader));
    from.returning_ = static_cast<NodeSet>(from.returning_ & ~set_of(index_));
    world().schedule(channel.arrives, *this, on_replica_data, ++channel.ticket, channel.generation, leader);
  }
}

/// True when there is more for this partition than went into the response.
bool Node::respond_part(Channel& channel, NodeIndex follower, PlaceId place, std::uint64_t& bytes) {
  Partition& partition = *cluster_.partition(place);
  Replica& replica = *partition.replica(index_);
  if (replica.lead == nullptr) return false;
  Progress& progress = replica.lead->followers[partition.slot(follower)];
  progress.dirty = false;
  if (!has(replica.lead->attached, follower)) return false;
  ReplicaPart part;
  part.place = place;
  part.from = progress.end;
  part.epoch = replica.lead->epoch;
  part.high_watermark = replica.high_watermark;
  part.truncate_to = progress.truncate_to;
  if (progress.end < replica.log.start()) part.truncate_to = replica.log.start();  // what it wants is deleted
  bool more = false;
  if (part.truncate_to < 0) {
    const KafkaBroker& v = cluster_.values();
    std::uint64_t taken = 0;
    const Vec<LogEntry>& entries = replica.log.entries();
    for (std::size_t i = replica.log.find(progress.end); i < entries.size(); ++i) {
      const std::uint32_t size = entries[i].bytes;
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

/// At the follower: a fetch response came.
void Node::take(Channel& channel, NodeIndex leader) {
  const LogEntry* entries = channel.entries.data();
  for (ReplicaPart& part : channel.parts) {
    follow(part, leader, entries);
    entries += part.count;
  }
  channel.entries.clear();
  channel.arrived = true;
  arriving_ = static_cast<NodeSet>(arriving_ & ~set_of(leader));
}

/// The same, as a message: the next fetch goes out.
void Node::replicate(Channel& channel, NodeIndex leader) {
  take(channel, leader);
  const auto size = static_cast<std::uint32_t>(fetch_bytes + fetch_bytes_a_part * channel.parts.size());
  world().network().send(owner, cluster_.at(leader), size, on_replica_fetch, channel.ticket,
                         channel.generation, index_);
}

void Node::follow(ReplicaPart& part, NodeIndex leader, const LogEntry* entries) {
  const Partition& partition = *cluster_.partition(part.place);
  Replica& replica = *partition.replica(index_);
  const Decision& decision = view(part.place);
  const bool mine = decision.leader == leader && decision.leader_epoch == part.epoch;
  const bool fits = part.count == 0 || (part.from == replica.log.end() &&
                                        entries->base >= part.from);  // offsets may be left out
  part.end = -1;
  if (!mine || !fits) {
    for (std::uint32_t i = 0; i < part.count; ++i) release(arena(), entries[i].batch);
    return;
  }
  if (part.truncate_to > replica.log.end()) {
    replica.log.restart(part.truncate_to);
  } else if (part.truncate_to >= 0) {
    replica.log.truncate(part.truncate_to);
  }
  bool room = true;
  for (std::uint32_t i = 0; i < part.count; ++i) {
    room = room && !no_room(replica, *entries[i].batch);
    if (room) {
      if (!replica.log.append(world().now(), entries[i], partition.topic)) give_up();
    } else {
      release(arena(), entries[i].batch);
    }
  }
  cluster_.measure(partition);
  if (part.count > 0) appended(partition);
  part.end = replica.log.end();
  replica.high_watermark = std::min(std::max(part.high_watermark, replica.high_watermark), part.end);
}

/// At the leader: a follower's fetch came, at `at`.
void Node::fetched(Channel& channel, NodeIndex follower, Instant at) {
  if (!channel.arrived) cluster_.at(follower).take(channel, index_);
  channel.parked = true;
  channel.computed = false;
  returning_ = static_cast<NodeSet>(returning_ & ~set_of(follower));
  channel.parked_since = at;
  for (const ReplicaPart& part : channel.parts) {
    Partition& partition = *cluster_.partition(part.place);
    Replica& replica = *partition.replica(index_);
    if (replica.lead == nullptr || replica.lead->epoch != part.epoch || part.end < 0) continue;
    note_fetch(partition, *replica.lead, partition.slot(follower), part.end, at);
  }
  for (const ReplicaPart& part :
       channel.parts) {  // (what this has others append goes into the next response)
    Partition& partition = *cluster_.partition(part.place);
    Replica& replica = *partition.replica(index_);
    if (replica.lead != nullptr) advance(partition, replica);
  }
  channel.parts.clear();
  pending_flush_ |= set_of(follower);
}

void Node::note_fetch(Partition& partition, Leadership& lead, std::uint32_t slot, std::int64_t end,
                      Instant at) {
  Progress& p = lead.followers[slot];
  const std::int64_t leader_end = partition.replicas[partition.slot(index_)].log.end();
  if (end >= leader_end) {
    p.caught_up = at;
  } else if (end >= p.leader_end) {
    p.caught_up = std::max(p.caught_up, p.fetched);
  }
  p.fetched = at;
  p.leader_end = leader_end;
  p.truncate_to = -1;
  p.end = end;
  if (end < leader_end) mark_dirty(partition, p, partition.node(slot));
  maybe_join(partition, lead, slot);
}

/// Raises the high watermark: the least log end of the maximal in-sync set. Since 3.7 it stands still while
/// fewer than min.insync.replicas are in sync (KAFKA-15583).
void Node::advance(Partition& partition, Replica& replica) {
  Leadership& lead = *replica.lead;
  if (size_of(lead.isr) < partition.topic.min_insync_replicas && cluster_.values().version >= Version{3, 7})
    return;
  std::int64_t least = replica.log.end();
  const auto in_sync = static_cast<NodeSet>(lead.isr | lead.joining);
  for (std::uint32_t s = 0; s < partition.replication; ++s) {
    const NodeIndex node = partition.node(s);
    if (planted(Plant::kafka_high_watermark_early)) break;
    if (node != index_ && has(in_sync, node)) least = std::min(least, lead.followers[s].end);
  }
  if (least <= replica.high_watermark) return;
  replica.high_watermark = least;
  while (replica.lead == &lead && !lead.waiters.empty() &&
         lead.waiters.front().offset <= replica.high_watermark) {
    const Waiter done = lead.waiters.front();
    lead.waiters.pop_front();
    const bool enough =
        size_of(static_cast<NodeSet>(lead.isr | lead.joining)) >= partition.topic.min_insync_replicas;
    finished(done.pending, done.part, enough ? Error::none : Error::not_enough_replicas_after_append);
  }
  if (replica.lead == &lead && !lead.fetches.empty()) wake(lead);
}

// ---- attaching
// -------------------------------------------------------------------------------------------------

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
  replica.lead->attached |= set_of(follower);
  p.truncate_to = divergence(replica.log, theirs);
  if (p.truncate_to >= 0) {
    mark_dirty(partition, p, follower);
    return;
  }
  p.end = theirs.end();
  p.leader_end = p.end + 1;  // there was no fetch before
  note_fetch(partition, *replica.lead, slot, p.end, world().now());
  advance(partition, replica);
}

void Node::break_channels(NodeIndex other) {
  for (Channel* channel : {&cluster_.channel(other, index_), &cluster_.channel(index_, other)}) {
    ++channel->generation;
    channel->up = channel->parked = channel->computed = false;
    for (const LogEntry& e : channel->entries) release(arena(), e.batch);
    channel->entries.clear();
    channel->parts.clear();
    channel->dirty.clear();
  }
  arriving_ = static_cast<NodeSet>(arriving_ & ~set_of(other));
  returning_ = static_cast<NodeSet>(returning_ & ~set_of(other));
}

}  // namespace mqlab::sim::kafka
