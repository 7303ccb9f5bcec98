#include "sim/brokers/nats/replicas.h"

#include <algorithm>
#include <array>

#include "core/base/limits.h"
#include "core/base/plant.h"
#include "sim/brokers/nats/cluster.h"
#include "sim/world.h"

namespace mqlab::sim::nats {
namespace {
/// What is written later waits so long at most. [nats-server: filestore.go flushLoop]
constexpr Duration write_delay = Duration::millis(8);
}  // namespace

Replicas::Replicas(NatsCluster& cluster, Stream& stream)
    : cluster_(cluster), stream_(stream), copies_(cluster.arena()) {
  const Values& values = cluster.values();
  const std::uint32_t count = stream.values().replicas;
  copies_.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    Replica& copy = copies_.emplace_back(cluster.arena());
    const std::uint32_t node = (stream.index() + i) % values.server.nodes;
    copy.node = static_cast<ProcessId>(values.first_node + node);
    if (values.server.sync_always) {
      copy.configured_on_disk = true;
    } else {
      // The first sync comes at a random time in the second half of the interval. [nats-server: filestore.go
      // syncBlocks]
      const Duration half = values.server.sync_interval / 2;
      const auto bits = cluster.world().draw(Purpose::fsync, stream.index(), copy.node);
      copy.interval = values.server.sync_interval;
      copy.next_sync =
          Instant{half.ns + static_cast<std::int64_t>(below(bits, static_cast<std::uint64_t>(half.ns) + 1))};
    }
  }
  leader_ = copies_.front().node;
}

Replica* Replicas::copy_of(ProcessId node) {
  const auto at = std::ranges::find(copies_, node, &Replica::node);
  return at == copies_.end() ? nullptr : &*at;
}

bool Replicas::up(ProcessId node) const { return node != no_process && cluster_.stores(node); }
bool Replicas::linked(ProcessId a, ProcessId b) const {
  const Network& network = cluster_.world().network();
  return a == b || (network.reachable(a, b) && network.reachable(b, a));
}

std::uint32_t Replicas::wanted() const {
  return split_off(leader_) || planted(Plant::nats_ack_before_quorum) ? 1 : majority();
}

bool Replicas::quorum() const {
  if (leader_ == no_process) return false;
  std::uint32_t with = 1;
  for (const Replica& copy : copies_) with += copy.node != leader_ && copy.following ? 1 : 0;
  return with >= wanted();
}

/// A deposed leader, and who cannot see the new one, still takes what is sent to it.
ProcessId Replicas::route_from(ProcessId node) const {
  if (deposed_ != no_process) {
    const Network& network = cluster_.world().network();
    if (node == deposed_ ||
        (leader_ != no_process && !network.reachable(node, leader_) && network.reachable(node, deposed_))) {
      return deposed_;
    }
  }
  return leader_;
}

std::int64_t Replicas::forgotten() const {
  const Replica* copy = copy_of(leader_);
  return copy == nullptr ? 0 : copy->forgotten;
}

// ---- appends
// ---------------------------------------------------------------------------------------------------

Duration Replicas::fsync(const Replica& copy) {
  return cluster_.values().server.fsync.sample(
      cluster_.world().draw(Purpose::fsync, stream_.index() + 1, copy.node, ++draws_));
}

Duration Replicas::round_trip() {
  Duration least = Duration::forever();
  Network& network = cluster_.world().network();
  for (const Replica& copy : copies_) {
    if (copy.node == leader_ || !copy.following) continue;
    least = std::min(least, network.delay(leader_, copy.node) + network.delay(copy.node, leader_));
  }
  return least;
}

/// A server whose write-ahead log cannot be written gives up JetStream. [nats-server: raft.go
/// setWriteErrLocked, jetstream.go handleOutOfSpace; measured on 2.15.1]
bool Replicas::grows(Replica& copy, std::int64_t length, Instant at) {
  if (copy.room == Replica::unlimited) return true;
  const bool failed_before = copy.room < 0;
  if (copy.takes(stream_.file_bytes(copy.expected(), length))) return true;
  if (!failed_before) cluster_.world().schedule(at, cluster_.node(copy.node), NodeEvent::disk_failed);
  return false;
}

void Replicas::disk_full(ProcessId node) {
  Replica* copy = copy_of(node);
  if (copy == nullptr || stream_.values().in_memory) return;
  copy->settle(cluster_.world().now());
  copy->room = rest_of_last_block(stream_.file_bytes(0, copy->expected()));
}

/// Under `always` the next write finds out; else the next periodic sync that has something to do.
void Replicas::fail_syncs(ProcessId node, bool failing) {
  Replica* copy = copy_of(node);
  if (copy == nullptr || stream_.values().in_memory) return;
  copy->settle(cluster_.world().now());
  copy->periodic_sync(cluster_.world().now());
  copy->syncs_fail = failing;
  if (!failing || cluster_.values().server.sync_always) return;
  cluster_.world().schedule(copy->next_sync, cluster_.node(node), NodeEvent::sync_due, 0, stream_.index());
}

void Replicas::sync_due(ProcessId node) {
  Replica& copy = *copy_of(node);
  if (!copy.syncs_fail) return;
  const Instant now = cluster_.world().now();
  copy.settle(now);
  copy.periodic_sync(now);
  if (copy.file.dirty()) return sync_failed(copy, now);
  cluster_.world().schedule(copy.next_sync, cluster_.node(node), NodeEvent::sync_due, 0, stream_.index());
}

/// What was written stays where it is, and nothing more is written before a restart. [nats-server:
/// filestore.go setWriteErr; measured on 2.15.1: the publish whose sync failed is never answered and is there
/// after the restart]
void Replicas::sync_failed(Replica& copy, Instant at) {
  copy.fail();
  if (!alone()) cluster_.world().schedule(at, cluster_.node(copy.node), NodeEvent::disk_failed);
}

/// R1: stored once it is in the page cache, or synced under `always`. Replicated: once a majority's
/// write-ahead logs hold it, which under `always` are synced too. [nats-server: stream.go
/// processJetStreamMsg, raft.go]
Instant Replicas::appended(std::int64_t length) {
  const Instant now = cluster_.world().now() + cluster_.node(leader_).behind();
  const bool always = cluster_.values().server.sync_always;
  Replica& own = *copy_of(leader_);
  if (!alone() && !grows(own, length, cluster_.world().now())) return Instant::never();
  own.write(now, length);
  if (stream_.values().written_later) own.unwritten.push_back({now + write_delay, length});
  if (always && own.syncs_fail) {
    sync_failed(own, now);
    return Instant::never();
  }
  const Instant own_done = always ? own.sync(now, length, fsync(own), !alone()) : now;
  if (alone() || wanted() == 1) return own_done;
  Network& network = cluster_.world().network();
  std::array<Instant, limits::nodes> answers;
  std::uint32_t n = 0;
  for (Replica& copy : copies_) {
    if (copy.node == leader_ || !copy.following) continue;
    const Instant arrives = std::max(copy.last_arrival, now + network.delay(leader_, copy.node));
    copy.last_arrival = arrives;
    copy.settle(now);
    if (!grows(copy, length, arrives)) continue;
    copy.incoming.push_back({arrives, length});
    if (always && copy.syncs_fail) {
      sync_failed(copy, arrives);
      continue;
    }
    const Instant done = always ? copy.sync(arrives, length, fsync(copy), true) : arrives;
    answers[n++] = done + network.delay(copy.node, leader_);
  }
  const std::uint32_t needed = majority() - 1;
  if (n < needed) return Instant::never();
  std::nth_element(answers.begin(), answers.begin() + (needed - 1), answers.begin() + n);
  return std::max(own_done, answers[needed - 1]);
}

bool Replicas::may_commit(std::int64_t length, std::uint32_t term) {
  if (term != term_ || leader_ == no_process) return false;
  std::uint32_t with = 0;
  for (Replica& copy : copies_) {
    copy.settle(cluster_.world().now());
    with += copy.length >= length ? 1 : 0;
  }
  return with >= wanted();
}

void Replicas::commit_what_is_held() {
  std::array<std::int64_t, limits::nodes> lengths;
  std::uint32_t n = 0;
  for (Replica& copy : copies_) {
    copy.settle(cluster_.world().now());
    lengths[n++] = copy.length;
  }
  std::sort(lengths.begin(), lengths.begin() + n, std::greater<>());
  stream_.commit_to(std::min(lengths[wanted() - 1], copy_of(leader_)->length));
}

}  // namespace mqlab::sim::nats
