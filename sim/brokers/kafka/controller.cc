#include "sim/brokers/kafka/controller.h"

#include "core/base/check.h"

namespace mqlab::sim::kafka {
namespace {
/// From the start of a broker's process until it registers: some 3 s of JVM, as measured on real nodes.
constexpr Duration boot = Duration::seconds(3);
/// From SIGTERM to the end of the process: partitions have moved and logs are flushed well before.
constexpr Duration shutdown = Duration::millis(500);
}  // namespace

Controller::Controller(KafkaCluster& cluster)
    : cluster_(cluster), world_(cluster.world()), brokers_(cluster.arena()) {
  brokers_.resize(cluster.size());
  const KafkaBroker& v = cluster.values();
  for (NodeIndex n = 0; n < cluster.size(); ++n) {  // beats of different nodes are out of step
    const std::uint64_t phase =
        below(world_.draw(Purpose::election, n), static_cast<std::uint64_t>(v.heartbeat_interval.ns));
    brokers_[n].beats_from = Instant{-static_cast<std::int64_t>(phase)};
  }
  active_ = static_cast<NodeIndex>(below(world_.draw(Purpose::election, 1000), cluster.size()));
}

void Controller::on(const SimEvent& event) {
  const auto node = static_cast<NodeIndex>(event.x);
  if (event.kind == election_due) {
    if (event.y == election_) elect_controller();
    return;
  }
  const bool of_life = event.kind == boot_due || event.kind == exit_due;
  if (event.y != (of_life ? brokers_[node].life : brokers_[node].token)) return;
  switch (event.kind) {
    case fence_due:
      if (working_) fence(node);
      break;
    case unfence_due:
      if (working_) unfence(node);
      break;
    case boot_due:
      brokers_[node].booted = true;
      evaluate();
      try_register(node);
      break;
    case exit_due:
      exit(node);
      break;
    default:
      MQLAB_CHECK(false && "unknown event at the controller");
  }
}

void Controller::life_changed(ProcessId process, LifeChange change) {
  const NodeIndex node = cluster_.node_of(process);
  const bool network = change == LifeChange::cut || change == LifeChange::joined;
  if (node == no_node && !network) return;
  cluster_.settle();  // (the controller is told first: it was there before the nodes)
  if (node != no_node && (change == LifeChange::killed || change == LifeChange::power_lost)) {
    died(node);
  }
  if (node != no_node && change == LifeChange::restarted) {
    world_.after(boot, *this, boot_due, 0, node, brokers_[node].life);
    return;
  }
  evaluate();
}

/// A killed broker leaves no clean-shutdown file, by which its next registration would tell that it has all
/// it had (BrokerLifecycleManager, CleanShutdownFileHandler).
void Controller::died(NodeIndex node) {
  Broker& b = brokers_[node];
  b.unclean = b.unclean || !b.exiting;
  b.exiting = false;
  b.booted = b.registered = false;
  ++b.life;
}

// ---- the active controller
// -----------------------------------------------------------------------------------------

bool Controller::hears(NodeIndex a, NodeIndex b) const {
  const ProcessId p = cluster_.process(a), q = cluster_.process(b);
  return a == b || (world_.network().reachable(p, q) && world_.network().reachable(q, p));
}

bool Controller::can_lead(NodeIndex node) const {
  const auto up = [&](NodeIndex n) { return brokers_[n].booted && world_.running(cluster_.process(n)); };
  if (!up(node)) return false;
  std::uint32_t quorum = 0;
  for (NodeIndex n = 0; n < cluster_.size(); ++n) quorum += up(n) && hears(node, n) ? 1u : 0u;
  return 2 * quorum > cluster_.size();
}

/// Who leads the metadata quorum, and whose heartbeats come.
void Controller::evaluate() {
  const bool could = working_;
  working_ = active_ != no_node && can_lead(active_);
  if (working_ && !could) {
    ++election_;  // it came back before the others gave it up
    seeking_ = false;
    for (NodeIndex n = 0; n < cluster_.size(); ++n) {
      if (brokers_[n].silent && !brokers_[n].fenced) schedule_fence(n, brokers_[n].beats_from);
    }
  }
  if (!working_ && !seeking_) {
    // Followers notice within controller.quorum.fetch.timeout.ms; a cluster that has had no controller for
    // long only waits for a candidate's back-off.
    const KafkaBroker& v = cluster_.values();
    const bool resigned = active_ != no_node && brokers_[active_].leaving;  // it tells the others as it goes
    const Duration delay = could ? v.quorum_fetch_timeout : v.quorum_election_timeout;
    seek_controller(cluster_.size() == 1 || resigned ? Duration{} : delay);
  }
  if (!working_) return;
  for (NodeIndex n = 0; n < cluster_.size(); ++n) {
    listen(n);
    try_register(n);  // one that started up while it could not reach the controller
  }
}

void Controller::seek_controller(Duration delay) {
  bool candidate = false;
  for (NodeIndex n = 0; n < cluster_.size(); ++n) candidate = candidate || can_lead(n);
  if (!candidate) return;  // asked again at the next change of anybody's life
  seeking_ = true;
  ++election_;
  const auto jitter =
      static_cast<std::int64_t>(below(world_.draw(Purpose::election, 2000, election_),
                                      static_cast<std::uint64_t>(cluster_.values().quorum_backoff_max.ns)));
  world_.after(delay + (cluster_.size() == 1 ? Duration{} : Duration{jitter}), *this, election_due, 0, 0,
               election_);
}

void Controller::elect_controller() {
  seeking_ = false;
  for (NodeIndex n = 0; n < cluster_.size(); ++n) {
    if (!can_lead(n)) continue;
    active_ = n;
    working_ = true;
    break;
  }
  if (!working_) return;
  // A new controller gives every broker a whole session from now on (BrokerHeartbeatManager.register).
  for (NodeIndex n = 0; n < cluster_.size(); ++n) {
    Broker& b = brokers_[n];
    b.beats_from = world_.now();
    ++b.token;
    b.silent = !b.registered || !world_.running(cluster_.process(n)) || !hears(n, active_);
    if (b.silent && b.leaving && !b.registered) fence(n);
    if (b.silent && !b.fenced) schedule_fence(n, b.beats_from);
    if (!b.silent && b.fenced) schedule_unfence(n);
    if (b.booted && !b.registered) try_register(n);
    if (!b.silent) world_.network().send(cluster_.process(active_), cluster_.at(n), 60, on_controller, 0);
  }
}

// ---- sessions of brokers
// -----------------------------------------------------------------------------------------

/// Notes whether a broker's heartbeats come; counts from the last that came.
void Controller::listen(NodeIndex node) {
  Broker& b = brokers_[node];
  const bool silent = !b.registered || !world_.running(cluster_.process(node)) || !hears(node, active_);
  if (silent == b.silent) return;
  b.silent = silent;
  const Instant now = world_.now();
  if (silent) {
    const Duration interval = cluster_.values().heartbeat_interval;
    b.beats_from = Instant{now.ns - (now.ns - b.beats_from.ns) % interval.ns};
    if (b.leaving && !b.registered) return fence(node);  // it said good-bye
    if (!b.fenced) schedule_fence(node, b.beats_from);
    return;
  }
  b.beats_from = now;  // overdue beats are sent at once
  ++b.token;
  if (b.fenced) schedule_unfence(node);
}

/// After a heartbeat's round trip.
void Controller::schedule_unfence(NodeIndex node) {
  const ProcessId p = cluster_.process(node), q = cluster_.process(active_);
  const Duration trip = p == q ? Duration{} : world_.network().delay(p, q) + world_.network().delay(q, p);
  world_.after(trip, *this, unfence_due, 0, node, brokers_[node].token);
}

void Controller::schedule_fence(NodeIndex node, Instant last_beat) {
  Broker& b = brokers_[node];
  const Instant at = std::max(last_beat + cluster_.values().session_timeout, world_.now());
  world_.schedule(at, *this, fence_due, 0, node, b.token);
}

void Controller::fence(NodeIndex node) {
  Broker& b = brokers_[node];
  if (b.fenced || !b.silent) return;
  b.fenced = true;
  Vec<PlaceId> changed(cluster_.arena());
  for (PlaceId place = 0; place < cluster_.places(); ++place) {
    Partition* partition = cluster_.partition(place);
    if (partition != nullptr && decide(*partition, set_of(node))) changed.push_back(place);
  }
  broadcast(changed, no_node, everyone());
  try_register(node);
}

/// A restarted broker is refused while the session of its former life lasts
/// (ClusterControlManager.registerBroker).
void Controller::try_register(NodeIndex node) {
  Broker& b = brokers_[node];
  if (!working_ || !b.booted || b.registered || !b.fenced || !hears(node, active_)) return;
  b.registered = true;
  b.leaving = false;
  if (b.unclean && cluster_.values().eligible_leader_replicas) {  // handleBrokerUncleanShutdown
    Vec<PlaceId> changed(cluster_.arena());
    for (PlaceId place = 0; place < cluster_.places(); ++place) {
      Partition* partition = cluster_.partition(place);
      if (partition == nullptr) continue;
      partition->eligible = static_cast<NodeSet>(partition->eligible & ~set_of(node));
      if (decide(*partition, set_of(node))) changed.push_back(place);
    }
    broadcast(changed, no_node, everyone());
  }
  b.unclean = false;
  listen(node);
}

/// The broker has caught up with the metadata: it takes part again.
void Controller::unfence(NodeIndex node) {
  Broker& b = brokers_[node];
  if (!b.fenced || b.silent) return;
  b.fenced = false;
  Vec<PlaceId> changed(cluster_.arena());
  Vec<PlaceId> all(cluster_.arena());
  for (PlaceId place = 0; place < cluster_.places(); ++place) {
    Partition* partition = cluster_.partition(place);
    if (partition == nullptr) continue;
    if (decide(*partition, 0)) changed.push_back(place);
    all.push_back(place);
  }
  broadcast(changed, node, static_cast<NodeSet>(everyone() & ~set_of(node)));
  broadcast(all, node, set_of(node));
}

void Controller::shut_down(NodeIndex node) {
  Broker& b = brokers_[node];
  if (b.leaving) return;
  b.leaving = true;
  world_.after(shutdown, *this, exit_due, 0, node, b.life);
  if (!working_) return;  // nobody to move its partitions: they wait for its session to end
  Vec<PlaceId> changed(cluster_.arena());
  for (PlaceId place = 0; place < cluster_.places(); ++place) {
    Partition* partition = cluster_.partition(place);
    if (partition != nullptr && decide(*partition, set_of(node))) changed.push_back(place);
  }
  broadcast(changed, no_node, everyone());
}

void Controller::exit(NodeIndex node) {
  const ProcessId process = cluster_.process(node);
  if (!world_.alive(process)) return;
  if (world_.paused(process)) {  // the signal waits
    world_.after(shutdown, *this, exit_due, 0, node, brokers_[node].life);
    return;
  }
  for (PlaceId place = 0; place < cluster_.places(); ++place) {
    const Partition* partition = cluster_.partition(place);
    Replica* replica = partition == nullptr ? nullptr : partition->replica(node);
    if (replica != nullptr) replica->log.flush();
  }
  brokers_[node].exiting = true;
  world_.kill(process, false);
}

}  // namespace mqlab::sim::kafka
