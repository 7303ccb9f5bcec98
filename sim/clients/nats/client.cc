#include "sim/clients/nats/client.h"

#include "sim/brokers/nats/cluster.h"
#include "sim/process.h"
#include "sim/world.h"

namespace mqlab::sim::nats {

NatsClient::NatsClient(NatsCluster& cluster, Process& process)
    : cluster_(cluster),
      process_(process),
      values_(cluster.values().clients[process.self()]),
      publishes_(cluster.arena()),
      free_slots_(cluster.arena()),
      sent_(cluster.arena()),
      stalled_(cluster.arena()),
      flushes_(cluster.arena()),
      settled_(cluster.arena()),
      inputs_(cluster.arena()) {
  cluster.world().add(*this, process.self());
  connection_ = cluster.add_connection(*this, process.self());
  incarnation_ = process.incarnation();
  inputs_.reserve(values_.inputs.size());
  for (const InputValues& input : values_.inputs) {
    Input& kept = inputs_.emplace_back(cluster.arena());
    kept.consumer =
        input.ordered ? cluster.add_ordered(cluster.values().ordered[input.consumer]) : input.consumer;
  }
}

void NatsClient::carry_out(const Effect& effect) {
  switch (effect.kind) {
    case Kind::publish:
      return publish(effect);
    case Kind::fetch:
      return fetch(effect);
    case Kind::ack:
      return answer(effect, OpKind::ack);
    case Kind::nack:
      return answer(effect, OpKind::nack);
    case Kind::progress:
      return answer(effect, OpKind::progress);
    case Kind::terminate:
      return answer(effect, OpKind::terminate);
    case Kind::flush:
      flushes_.push_back(effect.op);
      return settle_flush();
    default:
      break;  // leave: a pull consumer has no membership to give up
  }
  Settlement done;
  done.op = effect.op;
  done.of = effect.kind;
  settle(done);
  post_settled();
}

/// Clean shutdown: what was written goes out.
void NatsClient::close() {
  if (first_ != nullptr && connected_) flush();
}

void NatsClient::on(const SimEvent& event) {
  switch (event.kind) {
    case ClientEvent::packet:
      return handle(reinterpret_cast<Packet*>(event.a));
    case ClientEvent::flush:
      flushing_ = false;
      if (connected_ && first_ != nullptr) flush();
      return;
    case ClientEvent::answer_deadline:
      return answer_deadline();
    case ClientEvent::stall_deadline:
      return stall_deadline();
    case ClientEvent::retry:
      return write(reinterpret_cast<Op*>(event.a));
    case ClientEvent::disconnected:
      if (connected_ && event.x == connection_->epoch && (event.y == 0 || event.y == silence_generation_))
        lost();
      return;
    case ClientEvent::attempt:
      if (event.y == attempt_generation_) attempt();
      return;
    case ClientEvent::connected:
      if (event.y == attempt_generation_) connect_to(static_cast<ProcessId>(event.x));
      return;
    case ClientEvent::fetch_deadline: {
      Input& input = inputs_[event.x];
      if (input.active && input.generation == event.y) hand_over(event.x);
      return;
    }
    case ClientEvent::pull_again:
      return pull_again(event.x, event.y);
    case ClientEvent::create_again:
      if (inputs_[event.x].serial == event.y && !inputs_[event.x].created) create(event.x);
      return;
    case ClientEvent::heartbeat_missed:
      if (inputs_[event.x].watch_generation == event.y) heartbeat_missed(event.x);
      return;
    default:
      return;
  }
}

// ---- writing
// ---------------------------------------------------------------------------------------------------

/// Into the buffer, also while there is no connection: what was written goes out after the reconnect.
void NatsClient::write(Op* op) {
  op->next = nullptr;
  (last_ != nullptr ? last_->next : first_) = op;
  last_ = op;
  if (flushing_ || !connected_) return;
  flushing_ = true;
  if (values_.flush_delay.ns == 0) {
    cluster_.world().soon(*this, ClientEvent::flush);
  } else {
    cluster_.world().after(values_.flush_delay, *this, ClientEvent::flush);
  }
}

void NatsClient::flush() {
  auto* packet = cluster_.arena().make<Packet>();
  packet->connection = connection_;
  packet->epoch = connection_->epoch;
  packet->first = first_;
  packet->last = last_;
  Duration delay = {};
  for (const OpKind kind : {OpKind::publish, OpKind::pull, OpKind::ack}) request(kind, delay);
  for (const Op* op = first_; op != nullptr; op = op->next) {
    packet->bytes += op->kind == OpKind::publish ? op->record.size + publish_overhead_bytes : small_op_bytes;
  }
  first_ = last_ = nullptr;
  cluster_.world().network().send(process_.self(), cluster_.node(connection_->node), packet->bytes,
                                  NodeEvent::inbound, reinterpret_cast<std::uint64_t>(packet), 0, 0, delay);
}

/// One request row for all of a kind that go out together.
void NatsClient::request(OpKind kind, Duration& delay) {
  const auto same = [&](const Op& op) {
    switch (op.kind) {
      case OpKind::publish:
        return kind == OpKind::publish;
      case OpKind::pull:
      case OpKind::create:
        return kind == OpKind::pull;
      case OpKind::subscribe:
      case OpKind::flow:
        return false;
      default:
        return kind == OpKind::ack;
    }
  };
  bool any = false;
  for (const Op* op = first_; op != nullptr && !any; op = op->next) any = same(*op);
  if (!any) return;
  const RequestKind name = kind == OpKind::publish ? RequestKind::publish
                           : kind == OpKind::pull  ? RequestKind::pull
                                                   : RequestKind::ack;
  const RequestFault fault = cluster_.world().request(process_, name);
  delay = delay + fault.delay;
  if (fault.reset) {
    World& world = cluster_.world();
    const Duration through = delay + world.network().delay(connection_->node, process_.self());
    world.after(through, *this, ClientEvent::disconnected, 0, connection_->epoch);
  }
  if (!fault.answer_lost) return;
  for (Op* op = first_; op != nullptr; op = op->next) {
    if (same(*op)) op->answer_lost = true;
  }
}

void NatsClient::handle(Packet* packet) {
  if (packet->kind == PacketKind::delivery) {
    auto* d = static_cast<Delivery*>(packet);
    if (d->epoch == connection_->epoch && connected_) delivery(*d);
    d->~Delivery();
    return cluster_.arena().recycle(d);
  }
  const bool current = packet->epoch == connection_->epoch && connected_;
  for (Op* op = packet->first; op != nullptr;) {
    Op* const next = op->next;
    current ? answered(op) : cluster_.arena().recycle(op);
    op = next;
  }
  cluster_.arena().recycle(packet);
  post_settled();
}

void NatsClient::answered(Op* op) {
  if (op->kind == OpKind::publish) return published(op);
  if (op->kind == OpKind::create) {
    created(*op);
  } else {  // AckSync
    Settlement done;
    done.op = op->op;
    done.of = op->kind == OpKind::ack        ? Kind::ack
              : op->kind == OpKind::nack     ? Kind::nack
              : op->kind == OpKind::progress ? Kind::progress
                                             : Kind::terminate;
    if (op->code != code::none) {
      done.outcome = Outcome::fail;
      done.error = ErrorClass::retriable;
      done.code = status::no_responders;
    }
    settle(done);
  }
  cluster_.arena().recycle(op);
}

void NatsClient::settle(const Settlement& settlement) { settled_.push_back(settlement); }

void NatsClient::post_settled() {
  if (settled_.empty()) return;
  Event event;
  event.kind = EventKind::settled;
  event.settlements = {settled_.data(), settled_.size()};
  process_.post(event);
  settled_.clear();
}

// ---- acks
// ------------------------------------------------------------------------------------------------------

/// An ack is a message without an answer: the library is content when it has written it. With AckSync the
/// last one of the effect asks for a reply. An ordered consumer's messages have nobody to send it to.
void NatsClient::answer(const Effect& effect, OpKind kind) {
  bool confirm = false;
  for (std::size_t i = 0; i < effect.receipts.size(); ++i) {
    const std::uint32_t port = port_of(effect.receipts[i]);
    if (port >= inputs_.size() || values_.inputs[port].ordered) continue;
    auto* op = cluster_.arena().make<Op>();
    op->kind = kind;
    op->target = inputs_[port].consumer;
    op->sequence = sequence_of(effect.receipts[i]);
    op->delay = effect.wait;
    op->op = effect.op;
    op->confirm = values_.inputs[port].double_ack && i + 1 == effect.receipts.size();
    confirm = confirm || op->confirm;
    write(op);
  }
  if (confirm) return;
  Settlement done;
  done.op = effect.op;
  done.of = effect.kind;
  settle(done);
  post_settled();
}

}  // namespace mqlab::sim::nats
