// The connection: which server, how its loss is noticed, how the client comes back. [nats.c: src/conn.c,
// src/srvpool.c]
#include <algorithm>

#include "sim/brokers/nats/cluster.h"
#include "sim/clients/nats/client.h"
#include "sim/process.h"
#include "sim/world.h"

namespace mqlab::sim::nats {

/// The pool is shuffled once per client (natsOptions_SetNoRandomize is off).
void NatsClient::start() {
  World& world = cluster_.world();
  const std::uint32_t nodes = cluster_.values().server.nodes;
  server_ = static_cast<std::uint32_t>(
      below(world.draw(Purpose::tie, process_.self(), process_.incarnation()), nodes));
  const auto node = static_cast<ProcessId>(cluster_.values().first_node + server_);
  if (process_.incarnation() == 0 && cluster_.serves(node)) {
    connect_to(node);  // it was connected before the run began
  } else {
    tried_ = 0;
    attempt();
  }
}

bool NatsClient::current(const Connection* connection) const {
  const World& world = cluster_.world();
  return connection == connection_ && world.alive(process_.self()) && incarnation_ == process_.incarnation();
}

bool NatsClient::reaches(ProcessId node) const {
  const Network& network = cluster_.world().network();
  return network.reachable(process_.self(), node) && network.reachable(node, process_.self());
}

void NatsClient::tell(EventKind kind) {
  Event event;
  event.kind = kind;
  process_.post(event);
}

void NatsClient::connect_to(ProcessId node) {
  World& world = cluster_.world();
  if (!cluster_.serves(node) || !reaches(node)) {
    pick_next_server();
    return;
  }
  connected_ = true;
  tried_ = 0;
  connected_at_ = world.now();
  server_life_ = world.incarnation(node);
  connection_->node = node;
  connection_->served = ++connection_->epoch;
  world.network().reconnected(process_.self(), node);
  world.network().reconnected(node, process_.self());
  silent_ = false;
  ++silence_generation_;
  if (was_connected_) tell(EventKind::up);
  was_connected_ = true;
  for (std::uint32_t port = 0; port < inputs_.size(); ++port) {
    if (values_.inputs[port].push) subscribe(port);
  }
  if (first_ != nullptr && !flushing_) {
    flushing_ = true;
    world.soon(*this, ClientEvent::flush);
  }
}

/// The connection is gone. Publishes without an answer wait for theirs until their time is over; a fetch
/// under way ends with its request.
void NatsClient::lost() {
  connected_ = false;
  tell(EventKind::down);
  World& world = cluster_.world();
  if (world.alive(connection_->node)) {  // our end closes, as far as it gets through
    world.network().send(process_.self(), cluster_.node(connection_->node), 0, NodeEvent::closed,
                         reinterpret_cast<std::uint64_t>(connection_), connection_->epoch);
  }
  for (std::uint32_t port = 0; port < inputs_.size(); ++port) {
    const Input& input = inputs_[port];
    if (!input.active || values_.inputs[port].push) continue;
    pull_later(port, end_of_request(input.sent, values_.pull_expires, world.now()));
  }
  tried_ = 0;
  pick_next_server();
}

/// The servers one after the other; when all were tried, a wait between rounds. With one server the wait
/// comes first.
void NatsClient::pick_next_server() {
  World& world = cluster_.world();
  const std::uint32_t nodes = cluster_.values().server.nodes;
  server_ = (server_ + 1) % nodes;
  Duration wait = {};
  if (++tried_ >= nodes) {
    const auto bits =
        world.draw(Purpose::retry_jitter, process_.self(), static_cast<std::uint64_t>(world.now().ns));
    wait = values_.reconnect_wait + Duration{static_cast<std::int64_t>(below(
                                        bits, static_cast<std::uint64_t>(values_.reconnect_jitter.ns) + 1))};
  }
  world.after(wait, *this, ClientEvent::attempt, 0, 0, ++attempt_generation_);
}

/// A dead server's host refuses at once, a silent one (paused, cut off, without power) lets the attempt time
/// out.
void NatsClient::attempt() {
  World& world = cluster_.world();
  const auto node = static_cast<ProcessId>(cluster_.values().first_node + server_);
  const Duration trip =
      world.network().delay(process_.self(), node) + world.network().delay(node, process_.self());
  const bool silent = !reaches(node) || world.paused(node);
  // TCP's handshake, then INFO, CONNECT and PING, PONG.
  const Duration takes = silent ? values_.connect_timeout : cluster_.serves(node) ? trip * 2 : trip;
  world.after(takes, *this, ClientEvent::connected, 0, node, ++attempt_generation_);
}

// ---- noticing
// --------------------------------------------------------------------------------------------------

/// Pings go out at fixed times after the connect; one too many without an answer ends the connection.
void NatsClient::watch_server() {
  if (!connected_) return;
  World& world = cluster_.world();
  const bool silent = !reaches(connection_->node) || !world.running(connection_->node);
  if (silent == silent_) return;
  silent_ = silent;
  ++silence_generation_;
  if (!silent) return;
  const std::int64_t pings = (world.now() - connected_at_).ns / values_.ping_interval.ns + 1;
  const Instant stale = connected_at_ + values_.ping_interval * (pings + values_.max_pings_out);
  world.schedule(stale, *this, ClientEvent::disconnected, 0, connection_->epoch, silence_generation_);
}

/// A killed server's kernel closes the connection, if that gets through; one that has restarted answers what
/// it does not know with a reset.
void NatsClient::life_changed(ProcessId process, LifeChange change) {
  for (std::uint32_t port = 0; connected_ && port < inputs_.size(); ++port) watch_heartbeats(port);
  const bool network = change == LifeChange::cut || change == LifeChange::joined;
  if (!connected_ || (!network && process != connection_->node)) return;
  World& world = cluster_.world();
  const ProcessId server = connection_->node;
  const bool closed = change == LifeChange::killed || world.incarnation(server) != server_life_;
  if (closed && reaches(server)) {
    world.after(world.network().delay(server, process_.self()), *this, ClientEvent::disconnected, 0,
                connection_->epoch);
  } else {
    watch_server();
  }
}

}  // namespace mqlab::sim::nats
