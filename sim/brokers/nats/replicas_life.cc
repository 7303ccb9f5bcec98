// Servers die, freeze, lose power or each other, and come back: what follows for a stream's Raft group.
#include <algorithm>

#include "core/base/plant.h"
#include "sim/brokers/nats/cluster.h"
#include "sim/brokers/nats/replicas.h"
#include "sim/world.h"

namespace mqlab::sim::nats {
namespace {

// [nats-server: server/raft.go] minElectionTimeout, maxElectionTimeout, hbInterval, lostQuorumInterval
constexpr Duration election_least = Duration::seconds(4);
constexpr Duration election_span = Duration::seconds(5);
constexpr Duration heartbeat = Duration::seconds(1);
constexpr Duration lost_quorum = Duration::seconds(10);

}  // namespace

void Replicas::life_changed(ProcessId process, LifeChange change) {
  Replica* copy = copy_of(process);
  const bool network = change == LifeChange::cut || change == LifeChange::joined;
  if (copy == nullptr && !network) return;
  switch (change) {
    case LifeChange::killed:
    case LifeChange::power_lost:
      stop_following(*copy);
      copy->election_due = Instant::never();
      if (change == LifeChange::power_lost) lose_power(*copy);
      copy->killed(cluster_.world().now());
      stream_.forget_staged(process);
      if (stream_.values().in_memory) copy->cut_to(0);
      if (process == deposed_) deposed_ = no_process;
      if (process == split_off_) split_off_ = no_process;
      if (process == leader_) {
        stream_.leader_died(change == LifeChange::power_lost);
        // The kernel of a killed server closes its routes, so the others know at once that nobody listens.
        if (change == LifeChange::killed) leader_ = no_process;
      }
      break;
    case LifeChange::paused:
      if (process != leader_) stop_following(*copy);
      break;
    default:
      break;
  }
  look_around();
}

/// What had not arrived is lost with the connection; catching up brings it again.
void Replicas::stop_following(Replica& copy) {
  copy.settle(cluster_.world().now());
  copy.incoming.clear();
  copy.following = false;
  copy.catching_up = false;
  ++copy.generation;
}

/// Anything between what was synced and what was written survives. When nothing was synced the stream's own
/// files are gone as well. [measured on real servers: R1 and R3, default sync: all gone at once, all there 45
/// s later]
void Replicas::lose_power(Replica& copy) {
  const World& world = cluster_.world();
  const std::int64_t least = copy.durable(world.now());
  if (world.now() - Instant{} >= File::write_back_after) copy.configured_on_disk = true;
  copy.configured = copy.configured && copy.configured_on_disk;
  std::int64_t kept = 0;
  if (copy.configured) {
    const auto unsure = static_cast<std::uint64_t>(copy.length - least) + 1;
    kept = least + static_cast<std::int64_t>(below(world.draw(Purpose::write_back, stream_.index(), copy.node,
                                                              static_cast<std::uint64_t>(world.now().ns)),
                                                   unsure));
  }
  copy.cut_to(kept);
  copy.file.synced();
  copy.syncing.clear();
  copy.synced_length = kept;
}

void Replicas::booted(ProcessId node) {
  Replica* copy = copy_of(node);
  if (copy == nullptr) return;
  copy->disk_free = copy->planned_start = copy->planned_end = cluster_.world().now();
  copy->forgotten = stream_.first();
  copy->room = Replica::unlimited;
  if (cluster_.node(node).disk_full()) disk_full(node);
  if (cluster_.node(node).syncs_fail()) fail_syncs(node, true);
  if (forgets(*copy)) {
    for (Replica& c : copies_) {
      c.configured = false;
      c.cut_to(0);
    }
    gone_ = true;
    leader_ = no_process;
    return stream_.recovered(0);
  }
  if (alone()) {
    gone_ = !copy->configured;
    leader_ = gone_ ? no_process : node;
    ++term_;
    led_since_ = cluster_.world().now();
    stream_.recovered(copy->length);
    return;
  }
  if (leader_ == node) leader_ = no_process;  // back before anybody else was elected
  look_around();
}

/// A fault of old versions: a server that finds no majority of the others when it comes back may recover the
/// cluster's state without a stream, and then leads the cluster, which thereby deletes it.
bool Replicas::forgets(const Replica& copy) {
  const Values& values = cluster_.values();
  if (!values.server.forgets_streams || values.server.nodes == 1) return false;
  std::uint32_t others = 0;
  for (std::uint32_t i = 0; i < values.server.nodes; ++i) {
    const auto node = static_cast<ProcessId>(values.first_node + i);
    others += node != copy.node && up(node) ? 1 : 0;
  }
  if (others >= values.server.nodes / 2 + 1) return false;
  return (cluster_.world().draw(Purpose::election, stream_.index(), copy.node, ++draws_) & 1) != 0;
}

void Replicas::look_around() {
  if (alone() || gone_) return;
  watch_followers();
  watch_quorum();
  watch_elections();
}

void Replicas::watch_followers() {
  for (Replica& copy : copies_) {
    if (copy.node == leader_) continue;
    const bool fine = up(leader_) && up(copy.node) && linked(leader_, copy.node);
    if (!fine && (copy.following || copy.catching_up)) {
      if (up(copy.node) && linked(leader_, copy.node)) {  // the leader's end: what it sent still arrives
        copy.following = copy.catching_up = false;
        ++copy.generation;
      } else {
        stop_following(copy);
      }
    }
    if (!fine || copy.following || copy.catching_up) continue;
    copy.catching_up = true;
    Network& network = cluster_.world().network();
    const Duration trip = network.delay(leader_, copy.node) + network.delay(copy.node, leader_);
    cluster_.world().after(trip, cluster_.node(leader_), NodeEvent::caught_up, copy.node, stream_.index(),
                           ++copy.generation);
  }
}

/// The leader holds what the follower lacked, and sends it what comes from now on.
void Replicas::caught_up(ProcessId node, std::uint32_t generation) {
  Replica& copy = *copy_of(node);
  if (generation != copy.generation || !copy.catching_up || gone_) return;
  copy.catching_up = false;
  copy.following = true;
  if (!copy.configured) copy.configured_on_disk = cluster_.values().server.sync_always;
  copy.configured = true;
  copy.cut_to(copy_of(leader_)->length);
  copy.write(cluster_.world().now(), copy_of(leader_)->length);
  if (cluster_.values().server.sync_always && copy.syncs_fail) {
    sync_failed(copy, cluster_.world().now());
  } else if (cluster_.values().server.sync_always) {
    copy.sync(cluster_.world().now(), copy.length, fsync(copy), true);
  }
  if (node == split_off_ || split_off(leader_)) split_off_ = no_process;
  if (node == deposed_) {
    deposed_ = no_process;
    cluster_.ask_again(stream_.index());
  }
  watch_quorum();
  commit_what_is_held();
  if (quorum()) stream_.quorum_back();
}

/// A leader alone with its followers out of reach steps down after a while; until then it takes publishes
/// that it cannot commit.
void Replicas::watch_quorum() {
  if (!up(leader_)) {
    quorum_lost_ = false;
    ++quorum_generation_;
    return;
  }
  std::uint32_t with = 1;
  for (const Replica& copy : copies_)
    with += copy.node != leader_ && up(copy.node) && linked(leader_, copy.node) ? 1 : 0;
  const bool lost = with < wanted();
  if (lost == quorum_lost_) return;
  quorum_lost_ = lost;
  ++quorum_generation_;
  if (lost) {
    cluster_.world().after(lost_quorum, cluster_.node(leader_), NodeEvent::step_down, 0, stream_.index(),
                           quorum_generation_);
    const ServerValues& server = cluster_.values().server;
    if (server.removes_peers_alone && server.peer_remove_after < lost_quorum) {
      cluster_.world().after(server.peer_remove_after, cluster_.node(leader_), NodeEvent::remove_peers, 0,
                             stream_.index(), quorum_generation_);
    }
  }
}

/// A sound leader proposes the removal to the majority that it has not got, so nothing comes of it; a faulty
/// one carries it out and goes on by itself.
void Replicas::remove_peers(std::uint32_t generation) {
  if (generation != quorum_generation_ || !quorum_lost_) return;
  quorum_lost_ = false;
  ++quorum_generation_;
  split_off_ = leader_;
  commit_what_is_held();
  stream_.quorum_back();
}

void Replicas::step_down(std::uint32_t generation) {
  if (generation != quorum_generation_ || !quorum_lost_) return;
  quorum_lost_ = false;
  ++quorum_generation_;
  leader_ = no_process;
  stream_.leader_died(false);
  look_around();
}

// ---- elections
// -------------------------------------------------------------------------------------------------

void Replicas::watch_elections() {
  World& world = cluster_.world();
  bool any = false;
  for (Replica& copy : copies_) {
    const bool hears = up(leader_) && linked(leader_, copy.node);
    if (!up(copy.node) || hears) {
      copy.election_due = Instant::never();
      continue;
    }
    any = true;
    if (copy.election_due != Instant::never()) continue;
    const Duration since_heartbeat = {(world.now() - led_since_).ns % heartbeat.ns};
    const auto bits = world.draw(Purpose::election, stream_.index(), copy.node, ++draws_);
    const auto wait = static_cast<std::int64_t>(below(bits, static_cast<std::uint64_t>(election_span.ns)));
    copy.election_due = world.now() - since_heartbeat + election_least + Duration{wait};
  }
  Replica* winner = any ? likely_winner() : nullptr;
  const ProcessId node = winner == nullptr ? no_process : winner->node;
  const Instant at = winner == nullptr ? Instant::never() : winner->election_due;
  if (node == candidate_ && at == candidate_at_) return;
  candidate_ = node;
  candidate_at_ = at;
  ++election_generation_;
  if (winner == nullptr) return;
  world.schedule(std::max(at, world.now()) + world.setup().latency.median() * 2, cluster_.node(node),
                 NodeEvent::elect, 0, stream_.index(), election_generation_);
}

/// The first to stand that gets a majority; one that does not stands again later and is passed over.
Replica* Replicas::likely_winner() {
  Replica* first = nullptr;
  for (Replica& copy : copies_) {
    if (copy.election_due == Instant::never() || !would_win(copy)) continue;
    if (first == nullptr || copy.election_due < first->election_due) first = &copy;
  }
  return first;
}

/// Votes go to whose log is at least as long as the voter's.
bool Replicas::would_win(Replica& candidate) {
  std::uint32_t votes = 0;
  candidate.settle(cluster_.world().now());
  for (Replica& voter : copies_) {
    voter.settle(cluster_.world().now());
    const bool asked = up(voter.node) && linked(candidate.node, voter.node);
    votes += asked && voter.length <= candidate.length ? 1 : 0;
  }
  return votes >= (planted(Plant::nats_one_is_a_majority) ? 1 : majority());
}

void Replicas::elect(std::uint32_t generation) {
  if (generation != election_generation_ || gone_) return;
  Replica& winner = *copy_of(candidate_);
  candidate_ = no_process;
  candidate_at_ = Instant::never();
  if (!would_win(winner)) {
    winner.election_due = Instant::never();
    look_around();
    return;
  }
  lead(winner);
}

/// What the new leader's log lacks was never acknowledged, or has been lost by a majority.
void Replicas::lead(Replica& winner) {
  World& world = cluster_.world();
  deposed_ = leader_ != no_process && world.alive(leader_) ? leader_ : no_process;
  if (deposed_ != split_off_) split_off_ = no_process;
  leader_ = winner.node;
  ++term_;
  led_since_ = world.now();
  winner.following = true;
  winner.catching_up = false;
  for (Replica& copy : copies_) {
    copy.election_due = Instant::never();
    if (&copy == &winner) continue;
    stop_following(copy);
    copy.cut_to(winner.length);
  }
  gone_ = std::ranges::none_of(copies_, &Replica::configured);
  quorum_lost_ = false;
  ++quorum_generation_;
  stream_.led_anew(winner.length, deposed_);
  look_around();
}

}  // namespace mqlab::sim::nats
