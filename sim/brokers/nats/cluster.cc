#include "sim/brokers/nats/cluster.h"

#include <algorithm>

#include "sim/clients/nats/client.h"
#include "sim/world.h"

namespace mqlab::sim::nats {
namespace {
/// Per cent. Measured with nats.c 3.4.1 and nats-server 2.15.1 on two cores: a message in the queue of
/// redeliveries was given out again in 122 of 200 trials when its ack and the next pull left in one write,
/// in 39 of 200 when each was written at once.
constexpr std::uint64_t pull_overtakes = 61;
constexpr std::uint64_t pull_overtakes_apart = 20;
}  // namespace

NatsCluster::NatsCluster(World& world, const Values& values)
    : world_(world),
      values_(values),
      nodes_(world.arena()),
      streams_(world.arena()),
      consumers_(world.arena()),
      copiers_(world.arena()),
      connections_(world.arena()),
      held_back_(world.arena()) {
  Arena& a = arena();
  nodes_.reserve(values.server.nodes);
  for (std::uint32_t i = 0; i < values.server.nodes; ++i) {
    nodes_.push_back(a.make<Node>(*this));
    world.add(*nodes_.back(), static_cast<ProcessId>(values.first_node + i));
  }
  streams_.reserve(values.streams.size());
  for (std::uint32_t i = 0; i < values.streams.size(); ++i) streams_.push_back(a.make<Stream>(*this, i));
  consumers_.reserve(values.consumers.size() + 4);
  for (std::uint32_t i = 0; i < values.consumers.size(); ++i) {
    Stream& on = stream(values.consumers[i].stream);
    consumers_.push_back(a.make<Consumer>(*this, on, values.consumers[i], i, true));
    on.add(*consumers_.back());
  }
  for (Stream* to : streams_) {
    const std::vector<OriginValues>& origins = to->values().origins;
    for (std::uint32_t i = 0; i < origins.size(); ++i) {
      Stream& from = stream(origins[i].stream);
      copiers_.push_back(a.make<Copier>(*this, from, *to, static_cast<std::uint32_t>(copiers_.size()), i));
      from.add(*copiers_.back());
    }
  }
  for (Stream* to : streams_) look_at_copies(to);
}

void NatsCluster::look_at_copies(const Stream* anew) {
  for (Copier* copier : copiers_) {
    if (anew != nullptr) copier->is_back(*anew);
    copier->look();
  }
}

Arena& NatsCluster::arena() { return world_.arena(); }

bool NatsCluster::serves(ProcessId process) const {
  return world_.running(process) && nodes_[process - values_.first_node]->ready();
}

bool NatsCluster::stores(ProcessId process) const {
  return serves(process) && nodes_[process - values_.first_node]->stores();
}

Client* NatsCluster::connect(Process& process) { return arena().make<NatsClient>(*this, process); }

Connection* NatsCluster::add_connection(NatsClient& client, ProcessId process) {
  // A process has one connection at a time; the object of an earlier incarnation stays for what is still
  // under way.
  connections_.push_back(arena().make<Connection>());
  connections_.back()->client = &client;
  connections_.back()->process = process;
  return connections_.back();
}

std::uint32_t NatsCluster::add_ordered(const ConsumerValues& values) {
  const auto index = static_cast<std::uint32_t>(consumers_.size());
  Stream& on = stream(values.stream);
  consumers_.push_back(arena().make<Consumer>(*this, on, values, index, false));
  on.add(*consumers_.back());
  return index;
}

ProcessId NatsCluster::leader(PlaceId place) const {
  const ProcessId leader = streams_[values_.stream_of[place]]->replicas().leader();
  return leader != no_process && world_.alive(leader) ? leader : no_process;
}

void NatsCluster::audit() {
  for (Stream* s : streams_) s->audit(world_.setup().topology.auditor);
}

// ---- operations
// ------------------------------------------------------------------------------------------------

std::uint32_t NatsCluster::stream_of(const Op& op) const {
  return op.kind == OpKind::publish ? op.target : consumers_[op.target]->stream().index();
}

void NatsCluster::arrived(ProcessId here, Packet* packet) {
  if (packet->connection->served != packet->epoch) return discard(packet);
  Packet* answers = nullptr;
  Packet* onward = nullptr;
  ProcessId onward_to = no_process;
  const auto send_onward = [&] {
    if (onward == nullptr) return;
    if (onward_to == here) {
      process(here, onward);
    } else {
      world_.network().send(here, node(onward_to), onward->bytes, NodeEvent::routed,
                            reinterpret_cast<std::uint64_t>(onward));
    }
    onward = nullptr;
  };
  for (Op* op = packet->first; op != nullptr;) {
    Op* const next = op->next;
    if (op->kind == OpKind::subscribe) {  // interest: known to all servers, whoever leads
      consumers_[op->target]->subscribe(packet->connection, packet->epoch, op->slot);
      arena().recycle(op);
      op = next;
      continue;
    }
    const Stream& stream = *streams_[stream_of(*op)];
    const bool nowhere =
        op->kind == OpKind::publish && stream.values().mirror;  // it has no subject of its own
    const ProcessId to = nowhere ? no_process : stream.replicas().route_from(here);
    if (to == no_process) {
      nobody(op, *packet, answers);
    } else {
      if (to != onward_to) send_onward();
      if (onward == nullptr) {
        onward = arena().make<Packet>();
        onward->connection = packet->connection;
        onward->epoch = packet->epoch;
        onward_to = to;
      }
      onward->push(op);
      onward->bytes +=
          op->kind == OpKind::publish ? op->record.size + publish_overhead_bytes : small_op_bytes;
    }
    op = next;
  }
  send_onward();
  arena().recycle(packet);
  if (answers != nullptr) reply(here, answers);
}

/// Nobody listens on the subject: publishes and confirmed acks hear so at once; plain acks vanish; a pull is
/// sent again and again, which is not played out: see ask_again().
void NatsCluster::nobody(Op* op, const Packet& packet, Packet*& answers) {
  switch (op->kind) {
    case OpKind::pull:
    case OpKind::flow:
      return arena().recycle(op);
    case OpKind::publish:
      op->code = code::no_responders;
      return add_answer(answers, op, packet.connection, packet.epoch);
    default:
      op->code = code::no_responders;
      if (op->confirm) return add_answer(answers, op, packet.connection, packet.epoch);
      arena().recycle(op);
  }
}

void NatsCluster::process(ProcessId here, Packet* packet) {
  Packet* answers = nullptr;
  if (pulls_first(*packet)) move_pulls_up(*packet);
  for (Op* op = packet->first; op != nullptr;) {
    Op* const next = op->next;
    if (streams_[stream_of(*op)]->replicas().leads(here)) {
      carry_out(op, *packet, answers);
    } else {
      led_by_nobody(op, here, *packet, answers);
    }
    op = next;
  }
  for (Stream* s : streams_) s->packet_done();
  arena().recycle(packet);
  if (answers != nullptr) reply(here, answers, node(here).behind());
}

/// A deposed leader takes it, and nothing comes of it; except that a faulty one that has split off answers,
/// and that one may remember the message's id.
void NatsCluster::led_by_nobody(Op* op, ProcessId here, const Packet& packet, Packet*& answers) {
  Stream& stream = *streams_[stream_of(*op)];
  if (op->kind == OpKind::publish) {
    stream.stage(*op, here);
    if (stream.replicas().split_off(here)) {
      op->sequence = stream.log().last() + 1;
      return add_answer(answers, op, packet.connection, packet.epoch);
    }
  }
  arena().recycle(op);
}

/// A consumer's acks and its pull requests are worked off by two threads of the server: which of two that
/// come together is first is chance. So an ack written right before a pull may come too late to take its
/// message out of the queue of redeliveries. [nats-server: consumer.go processInboundAcks,
/// processInboundNextMsgReqs]
bool NatsCluster::pulls_first(const Packet& packet) {
  bool acks = false, pulls = false;
  for (const Op* op = packet.first; op != nullptr; op = op->next) {
    pulls = pulls || op->kind == OpKind::pull;
    acks = acks || op->kind == OpKind::ack || op->kind == OpKind::nack || op->kind == OpKind::terminate;
  }
  if (!acks || !pulls) return false;
  const bool apart = values_.clients[packet.connection->process].flush_delay.ns == 0;
  const auto bits = world_.draw(Purpose::tie, packet.connection->process, packet.epoch, ++races_);
  return below(bits, 100) < (apart ? pull_overtakes_apart : pull_overtakes);
}

void NatsCluster::move_pulls_up(Packet& packet) {
  Packet pulls, others;
  for (Op* op = packet.first; op != nullptr;) {
    Op* const next = op->next;
    (op->kind == OpKind::pull ? pulls : others).push(op);
    op = next;
  }
  pulls.last->next = others.first;
  packet.first = pulls.first;
  packet.last = others.last;
}

void NatsCluster::carry_out(Op* op, const Packet& packet, Packet*& answers) {
  const Replicas& replicas = streams_[stream_of(*op)]->replicas();
  const ServiceTimes& times = replicas.service_times();
  Node& here = node(replicas.leader());
  switch (op->kind) {
    case OpKind::publish:
      here.work(times.publish + Duration{times.publish_kib.ns * op->record.size / 1024});
      if (streams_[op->target]->publish(op, packet)) add_answer(answers, op, packet.connection, packet.epoch);
      break;
    case OpKind::pull:
      consumers_[op->target]->pull(op, packet);
      break;
    case OpKind::create: {
      Consumer& consumer = *consumers_[op->target];
      const std::uint32_t port = op->slot;
      if (consumer.create(op)) add_answer(answers, op, packet.connection, packet.epoch);
      consumer.subscribe(packet.connection, packet.epoch, port);
      break;
    }
    case OpKind::flow:
      consumers_[op->target]->flow_confirmed(static_cast<std::uint32_t>(op->sequence));
      arena().recycle(op);
      break;
    default:
      here.work(times.ack);
      if (consumers_[op->target]->answer(op)) add_answer(answers, op, packet.connection, packet.epoch);
      break;
  }
}

void NatsCluster::add_answer(Packet*& answers, Op* op, Connection* connection, std::uint32_t epoch) {
  if (op->answer_lost) {
    arena().recycle(op);
    return;
  }
  if (answers == nullptr) {
    answers = arena().make<Packet>();
    answers->kind = PacketKind::answers;
    answers->connection = connection;
    answers->epoch = epoch;
  }
  answers->push(op);
  answers->bytes += small_op_bytes;
}

void NatsCluster::reply(ProcessId from, Packet* packet, Duration extra) {
  const Connection& c = *packet->connection;
  const auto a = reinterpret_cast<std::uint64_t>(packet);
  if (packet->epoch != c.epoch) return discard(packet);
  if (from == c.node) {
    write(packet, extra);
  } else if (from != no_process) {
    world_.network().send(from, node(c.node), packet->bytes, NodeEvent::relay, a, 0, 0, extra);
  }
}

void NatsCluster::refuse(ProcessId from, Connection* connection, std::uint32_t epoch, std::uint32_t port,
                         std::uint32_t generation, std::uint32_t serial, std::uint16_t status, bool lost) {
  auto* no = arena().make<Delivery>(arena());
  no->connection = connection;
  no->epoch = epoch;
  no->port = port;
  no->generation = generation;
  no->serial = serial;
  no->status = status;
  no->complete = true;
  no->lost = lost;
  no->bytes = small_op_bytes;
  reply(from, no);
}

void NatsCluster::hand_on(Packet* packet) {
  const Connection& c = *packet->connection;
  if (packet->epoch != c.epoch || c.served != packet->epoch) return discard(packet);
  write(packet);
}

void NatsCluster::discard(Packet* packet) {
  for (Op* op = packet->first; op != nullptr;) {
    Op* const next = op->next;
    arena().recycle(op);
    op = next;
  }
  if (packet->kind != PacketKind::delivery) return arena().recycle(packet);
  auto* delivery = static_cast<Delivery*>(packet);
  delivery->~Delivery();
  arena().recycle(delivery);
}

// ---- what happens to processes
// ---------------------------------------------------------------------------------

/// The client's subscriptions are gone, and with them its pull requests.
void NatsCluster::client_gone(Connection* connection, std::uint32_t epoch) {
  if (connection->served == epoch) {
    connection->served = 0;
    drop_held_back(*connection);
  }
  for (Consumer* consumer : consumers_) consumer->client_gone(connection, epoch);
}

bool NatsCluster::hears(const Connection& c, std::uint32_t consumer) const {
  Consumer& from = *consumers_[consumer];
  const ProcessId leader = from.stream().replicas().leader();
  const Network& network = world_.network();
  return from.sends_to(c) && leader != no_process && stores(leader) && serves(c.node) &&
         (leader == c.node || network.reachable(leader, c.node)) && network.reachable(c.node, c.process);
}

void NatsCluster::ask_again(std::uint32_t on) {
  for (Connection* c : connections_) {
    if (c->client->current(c)) c->client->ask_again(on);
  }
}

void NatsCluster::servers_clients_gone(ProcessId node) {
  for (Connection* c : connections_) {
    if (c->node == node && c->served != 0) client_gone(c, c->served);
  }
}

void NatsCluster::life_changed(ProcessId process, LifeChange change) {
  const bool dead = change == LifeChange::killed || change == LifeChange::power_lost;
  const bool server = process >= values_.first_node && process < values_.first_node + values_.server.nodes;
  if (server && dead) servers_clients_gone(process);
  if (!server && (change == LifeChange::killed || change == LifeChange::restarted)) {
    // The kernel closes a dead client's connection; after a power loss that takes until the host is back.
    for (Connection* c : connections_) {
      if (c->process != process || c->served == 0 || !world_.alive(c->node)) continue;
      const bool earlier_life = change == LifeChange::killed || c != connections_.back();
      if (!earlier_life) continue;
      world_.after(world_.network().delay(process, c->node), node(c->node), NodeEvent::closed,
                   reinterpret_cast<std::uint64_t>(c), c->served);
    }
  }
  unblock();
  for (Stream* s : streams_) s->replicas().life_changed(process, change);
  look_at_copies();
}

void NatsCluster::booted(ProcessId node) {
  for (Stream* s : streams_) s->replicas().booted(node);
}

void NatsCluster::disk_full(ProcessId node) {
  for (Stream* s : streams_) s->replicas().disk_full(node);
  write_what_is_due();
}

void NatsCluster::fail_syncs(ProcessId node, bool failing) {
  for (Stream* s : streams_) s->replicas().fail_syncs(node, failing);
}

void NatsCluster::write_what_is_due() {
  for (Consumer* consumer : consumers_) consumer->before_update();
}

void NatsCluster::lose_jetstream(ProcessId here) {
  node(here).lose_jetstream();
  for (Stream* s : streams_) s->replicas().life_changed(here, LifeChange::killed);
  look_at_copies();
}

}  // namespace mqlab::sim::nats
