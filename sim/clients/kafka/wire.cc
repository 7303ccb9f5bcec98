#include "sim/clients/kafka/wire.h"

#include <algorithm>

#include "sim/clients/kafka/client.h"

namespace mqlab::sim::kafka::client {
namespace {
constexpr std::uint32_t jitter_percent =
    20;  // CommonClientConfigs.RETRY_BACKOFF_JITTER, RD_KAFKA_RETRY_JITTER_PERCENT

Duration jittered(Duration d, std::uint64_t bits) {
  const std::int64_t spread = d.ns / 100 * jitter_percent;
  if (spread == 0) return d;
  return {d.ns - spread + static_cast<std::int64_t>(below(bits, static_cast<std::uint64_t>(2 * spread)))};
}

Duration doubled(Duration first, std::uint32_t times, Duration limit) {
  for (; times > 0 && first < limit; --times) first = first * 2;
  return first < limit ? first : limit;
}
}  // namespace

Wire::Wire(KafkaClient& client, const KafkaConnection& settings, std::span<Component* const> nodes,
           PlaceId places)
    : client_(client),
      settings_(settings),
      nodes_(client.arena()),
      leaders_(places, no_node, client.arena()),
      epochs_(places, 0, client.arena()),
      grown_(client.arena()) {
  nodes_.reserve(nodes.size());
  for (Component* node : nodes) {
    nodes_.emplace_back(client.arena());
    nodes_.back().component = node;
    nodes_.back().process = node->owner;
  }
}

std::uint64_t Wire::jitter() {
  Process& p = client_.process();
  return client_.world().draw(Purpose::retry_jitter, p.self(), p.incarnation(), ++draws_);
}

Duration Wire::backoff(std::uint32_t attempt) {
  const Duration step =
      doubled(settings_.retry_backoff, attempt > 0 ? attempt - 1 : 0, settings_.retry_backoff_max);
  if (client_.world().zero_jitter()) return step;
  const Duration spread = jittered(step, jitter());
  if (client_.plan().java()) return spread;
  return spread < settings_.retry_backoff_max ? spread : settings_.retry_backoff_max;
}

NodeIndex Wire::index_of(ProcessId process) const {
  for (NodeIndex i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].process == process) return i;
  }
  return no_node;
}

bool Wire::reachable(const Node& node) const {
  World& world = client_.world();
  const ProcessId self = client_.process().self();
  return world.running(node.process) && world.network().reachable(self, node.process) &&
         world.network().reachable(node.process, self);
}

bool Wire::usable(NodeIndex index) const {
  const Node& node = nodes_[index];
  if (node.link == Link::up) return true;
  return node.retry_at <= client_.now() && reachable(node);
}

bool Wire::reconnecting(NodeIndex index) const {
  const Node& node = nodes_[index];
  return node.link == Link::down && node.retry_at > client_.now() && reachable(node);
}

NodeIndex Wire::any() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    turn_ = static_cast<NodeIndex>((turn_ + 1) % nodes_.size());
    if (usable(turn_)) return turn_;
  }
  return no_node;
}

// ---- requests
// --------------------------------------------------------------------------------------------------

/// librdkafka looks for late requests once a second (rd_kafka_broker_timeout_scan), Java whenever it polls. A
/// connection with nothing else to do, as that to the transaction coordinator, sleeps a second at a time from
/// its last request on, so that whole seconds are met: seen 2,032 to 2,079 ms for a socket timeout of 2,000
/// ms.
Instant Wire::deadline(Duration timeout, std::size_t over) const {
  const Instant exact = client_.now() + timeout;
  if (client_.plan().java() || over == coordinator_channel || exact == Instant::never()) return exact;
  constexpr std::int64_t second = 1'000'000'000;
  return {(exact.ns + second - 1) / second * second};
}

std::uint32_t Wire::send_request(NodeIndex index, RequestKind kind, Request* request, std::uint64_t address,
                                 std::uint32_t bytes, Duration timeout, std::uint64_t context) {
  World& world = client_.world();
  Node& node = nodes_[index];
  const ProcessId self = client_.process().self();
  request->kind = kind;
  request->from = self;
  request->correlation = next_correlation_++;
  request->reply_to = &client_;
  const RequestFault fault = world.request(client_.process(), kind);
  request->answer_lost = fault.answer_lost;
  Duration connecting = {};
  if (node.link != Link::up) {
    node.link = Link::up;
    ++node.generation;
    world.network().reconnected(self, node.process);
    for (int i = 0; i < 2; ++i) {
      connecting =
          connecting + world.network().delay(self, node.process) + world.network().delay(node.process, self);
    }
  }
  const std::size_t over = channel(kind);
  request->channel = static_cast<std::uint8_t>(over);
  request->generation = node.generation;
  const Duration waits = {std::max<std::int64_t>((holds_until(index, kind) - world.now()).ns, 0)};
  if (fault.answer_lost && node.deaf_from[over] == 0) node.deaf_from[over] = request->correlation;
  const bool parks = kind == RequestKind::fetch && node.deaf_from[over] == 0;
  const bool unread = node.throttled_until[over] > world.now() + waits + timeout;
  const Instant limit = parks && !node.silent && !unread ? Instant::never() : deadline(timeout, over) + waits;
  node.pending.push_back({request->correlation, kind, index, false, parks, limit, context});
  timeouts_.set_by(world, client_, due::timeouts, limit);
  const std::uint32_t correlation = request->correlation;
  transmit(node, over, address, bytes, std::max(fault.delay, waits), connecting);
  if (fault.reset) {
    world.after(connecting + world.network().delay(node.process, self), client_, due::disconnected, 0, index,
                node.generation);
  }
  return correlation;
}

std::size_t Wire::channel(RequestKind kind) const {
  switch (kind) {
    case RequestKind::init_producer_id:
    case RequestKind::add_partitions_to_txn:
    case RequestKind::add_offsets_to_txn:
    case RequestKind::end_txn:
      return client_.plan().java() ? 0 : coordinator_channel;
    case RequestKind::fetch:
    case RequestKind::list_offsets:
    case RequestKind::offset_for_leader_epoch:
      return 2;
    case RequestKind::join_group:
    case RequestKind::sync_group:
    case RequestKind::heartbeat:
    case RequestKind::leave_group:
    case RequestKind::offset_commit:
    case RequestKind::offset_fetch:
      return 3;
    default:
      return 0;
  }
}

/// What a fault holds back also holds what follows on its connection, and nothing else.
void Wire::transmit(Node& node, std::size_t over, std::uint64_t address, std::uint32_t bytes, Duration held,
                    Duration connecting) {
  World& world = client_.world();
  const ProcessId self = client_.process().self();
  const bool apart = held.ns > 0 || node.held_until[over] > world.now();
  if (!apart || !world.alive(node.process) || !world.network().reachable(self, node.process)) {
    return world.network().send(self, *node.component, bytes, request_event, address, 0, 0, connecting);
  }
  SimEvent arrival = world.make(world.now(), *node.component, request_event, address, 0, 0);
  const Instant at = world.now() + world.network().delay(self, node.process) + held + connecting;
  arrival.at = node.held_until[over] = std::max(at, node.held_until[over] + Duration::nanos(1));
  world.push(arrival);
}

void Wire::forget(NodeIndex node, std::uint32_t correlation) {
  Ring<Pending>& pending = nodes_[node].pending;
  for (std::uint32_t i = pending.size(); i > 0; --i) {
    if (pending[i - 1].correlation != correlation) continue;
    pending[i - 1].done = true;
    break;
  }
  while (!pending.empty() && pending.front().done) pending.pop_front();
}

bool Wire::take(const Answer& answer, Pending& into) {
  const NodeIndex index = index_of(answer.from);
  if (index == no_node) return false;
  Ring<Pending>& pending = nodes_[index].pending;
  for (std::uint32_t i = 0; i < pending.size(); ++i) {  // answers come nearly in order: found near the front
    if (pending[i].correlation != answer.correlation) continue;
    const std::uint32_t deaf = nodes_[index].deaf_from[channel(pending[i].kind)];
    if (pending[i].done || (deaf != 0 && answer.correlation >= deaf)) return false;
    into = pending[i];
    pending[i].done = true;
    while (!pending.empty() && pending.front().done) pending.pop_front();
    return true;
  }
  return false;
}

/// A late request costs the connection: java NetworkClient.handleTimedOutRequests; librdkafka
/// socket.max.fails = 1.
void Wire::timeouts_fired(const SimEvent& event) {
  if (!timeouts_.fired(client_.world(), client_, event)) return;
  const Instant now = client_.now();
  for (NodeIndex i = 0; i < nodes_.size(); ++i) {
    bool late = false;
    for (std::uint32_t k = 0; k < nodes_[i].pending.size(); ++k) {
      late = late || (!nodes_[i].pending[k].done && nodes_[i].pending[k].deadline <= now);
    }
    if (late) disconnect(i, Error::timed_out_local);
  }
  Instant next = Instant::never();
  for (Node& node : nodes_) {
    for (std::uint32_t k = 0; k < node.pending.size(); ++k) {
      if (!node.pending[k].done) next = std::min(next, node.pending[k].deadline);
    }
  }
  timeouts_.set_by(client_.world(), client_, due::timeouts, next);
}

// ---- connections
// -----------------------------------------------------------------------------------------------

void Wire::disconnect(NodeIndex index, Error reason) {
  Node& node = nodes_[index];
  const Instant now = client_.now();
  node.link = Link::down;
  ++node.generation;
  for (std::size_t i = 0; i < channels; ++i) {
    node.held_until[i] = {};
    node.deaf_from[i] = 0;
    if (!client_.plan().java()) node.throttled_until[i] = {};
  }
  node.down_since = now;
  node.retry_at = now + jittered(settings_.reconnect_backoff, jitter());
  for (std::uint32_t n = node.pending.size(); n > 0; --n) {  // oldest first
    const Pending pending = node.pending.front();
    node.pending.pop_front();
    if (pending.done) continue;
    const bool late = reason == Error::timed_out_local && pending.deadline <= now;
    client_.failed(pending, late ? Error::timed_out_local : Error::disconnected);
  }
  const bool any_up =
      std::any_of(nodes_.begin(), nodes_.end(), [](const Node& n) { return n.link == Link::up; });
  if (up_ && !any_up) {
    up_ = false;
    Event down;
    down.kind = EventKind::down;
    client_.process().post(down);
  }
  client_.node_lost(index);
  refresh();  // java NetworkClient.processDisconnection; librdkafka rd_kafka_broker_fail
  arm_reconnect(node);
}

void Wire::arm_reconnect(Node& node) {
  if (node.link == Link::up || !reachable(node)) return;
  reconnect_.set_by(client_.world(), client_, due::reconnect, std::max(node.retry_at, client_.now()));
}

void Wire::reconnect_fired(const SimEvent& event) {
  if (!reconnect_.fired(client_.world(), client_, event)) return;
  for (NodeIndex i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (node.link == Link::up || !reachable(node)) continue;
    if (node.retry_at > client_.now()) {
      arm_reconnect(node);
    } else {
      if (wants_metadata_) try_metadata();
      client_.node_usable(i);
    }
  }
}

void Wire::disconnected(const SimEvent& event) {
  const Node& node = nodes_[event.x];
  if (node.link == Link::up && node.generation == event.y)
    disconnect(static_cast<NodeIndex>(event.x), Error::disconnected);
}

/// Looks at a node again after something happened to it or to the network.
void Wire::look_again(NodeIndex index, bool came_back) {
  World& world = client_.world();
  Node& node = nodes_[index];
  const bool silent = !reachable(node);
  if (silent != node.silent) {
    node.silent = silent;
    for (std::uint32_t k = 0; k < node.pending.size(); ++k) {
      Pending& p = node.pending[k];
      if (!p.parks || p.done) continue;
      p.deadline = silent ? deadline(settings_.request_timeout, channel(p.kind)) : Instant::never();
      timeouts_.set_by(world, client_, due::timeouts, p.deadline);
    }
  }
  if (silent || !came_back || node.link == Link::up) return;
  // The next attempt of a series that has been backing off since the connection went.
  if (node.link == Link::down) {
    Duration step = settings_.reconnect_backoff;
    for (Instant at = node.down_since; at + step < client_.now(); at = at + step) {
      step = std::min(step * 2, settings_.reconnect_backoff_max);
      if (step == settings_.reconnect_backoff_max) break;
    }
    const std::uint64_t wait = step.ns > 0 ? below(jitter(), static_cast<std::uint64_t>(step.ns)) : 0;
    node.retry_at = std::max(node.retry_at, client_.now() + Duration::nanos(static_cast<std::int64_t>(wait)));
  }
  arm_reconnect(node);
}

void Wire::life_changed(ProcessId process, LifeChange change) {
  World& world = client_.world();
  const bool back =
      change == LifeChange::restarted || change == LifeChange::resumed || change == LifeChange::joined;
  const bool network = change == LifeChange::cut || change == LifeChange::joined;
  for (NodeIndex i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (node.process == process) {
      const bool reset = change == LifeChange::killed || (change == LifeChange::restarted && node.lost_power);
      if (reset && node.link == Link::up) {
        const Duration delay = world.network().delay(node.process, client_.process().self());
        world.after(delay, client_, due::disconnected, 0, i, node.generation);
      }
      if (change == LifeChange::power_lost) node.lost_power = true;
      if (change == LifeChange::restarted) node.lost_power = false;
    }
    if (node.process == process || network) look_again(i, back);
  }
}

}  // namespace mqlab::sim::kafka::client
