// Push subscriptions: messages come without being asked for and wait in the library until the application
// takes them; their time to be acknowledged runs meanwhile.
//
// An ordered consumer is made by the client out of an ephemeral push consumer without acknowledgements, with
// flow control and heartbeats: a gap in the consumer's sequence, a new connection or two heartbeats missed
// make it create another one behind the last message it gave to the application. [nats.c: src/js.c
// jsSub_checkOrderedMsg, jsSub_resetOrderedConsumer, _hbTimerFired; nats-architecture-and-design: ADR-17;
// seen on nats.c 3.4.1: after a reconnect at once, with a silent server at the second tick of a clock of 10
// s]
#include <algorithm>

#include "core/base/plant.h"
#include "sim/brokers/nats/cluster.h"
#include "sim/clients/nats/client.h"
#include "sim/process.h"
#include "sim/world.h"

namespace mqlab::sim::nats {
namespace {
/// Subscribing fails while nobody leads the stream; the lab's port tries it again.
constexpr Duration subscribe_retry = Duration::millis(50);
/// nats.c: js.h jsOrderedHBInterval
constexpr Duration ordered_heartbeat = Duration::seconds(5);
constexpr Duration api_timeout = Duration::seconds(5);  // nats.c: jsDefaultRequestWait
}  // namespace

/// With each new connection. Messages that were under way on the old one are lost.
void NatsClient::subscribe(std::uint32_t port) {
  const Input& input = inputs_[port];
  if (values_.inputs[port].ordered) return create(port);
  auto* op = cluster_.arena().make<Op>();
  op->kind = OpKind::subscribe;
  op->target = input.consumer;
  op->slot = port;
  write(op);
}

void NatsClient::pushed(Delivery& d) {
  Input& input = inputs_[d.port];
  if (values_.inputs[d.port].ordered && !in_order(d.port, d)) return;
  input.heard = cluster_.world().now();
  for (const Message& m : d.messages) {
    if (!has_room(d.port, m)) continue;
    input.buffer.push_back(m);
    input.buffer_bytes += m.size;
    ++input.received;
  }
  if (d.flow_mark != 0) {
    // One that comes alone tells that the server waits for it, and is confirmed at once.
    input.flow_marks.push_back({d.messages.empty() ? 0 : input.received, d.flow_mark});
    confirm_flow(d.port);
  }
  if (input.active) take(d.port);
}

/// A slow consumer: what is more than the subscription holds is dropped. [nats.c: src/conn.c
/// natsConn_processMsg]
bool NatsClient::has_room(std::uint32_t port, const Message& m) const {
  const Input& input = inputs_[port];
  const InputValues& limits = values_.inputs[port];
  return (limits.pending_msgs == 0 || input.buffer.size() < limits.pending_msgs) &&
         (limits.pending_bytes == 0 || input.buffer_bytes + m.size <= limits.pending_bytes);
}

/// As much as there is, at most what was asked for.
void NatsClient::take(std::uint32_t port) {
  Input& input = inputs_[port];
  if (input.buffer.empty()) return;
  while (!input.buffer.empty() && input.got.size() < input.fetch.max) {
    input.got.push_back(input.buffer.front());
    input.buffer_bytes -= input.buffer.front().size;
    input.buffer.pop_front();
    ++input.taken;
  }
  confirm_flow(port);
  hand_over(port);
}

/// [nats.c: src/js.c jsSub_checkForFlowControlResponse]
void NatsClient::confirm_flow(std::uint32_t port) {
  Input& input = inputs_[port];
  while (!input.flow_marks.empty() && input.taken >= input.flow_marks.front().after) {
    auto* op = cluster_.arena().make<Op>();
    op->kind = OpKind::flow;
    op->target = input.consumer;
    op->sequence = input.flow_marks.front().mark;
    input.flow_marks.pop_front();
    write(op);
  }
}

// ---- ordered
// ---------------------------------------------------------------------------------------------------

void NatsClient::create(std::uint32_t port) {
  Input& input = inputs_[port];
  ++input.serial;
  input.expected = 1;
  input.flow_marks.clear();
  auto* op = cluster_.arena().make<Op>();
  op->kind = OpKind::create;
  op->confirm = true;
  op->target = input.consumer;
  op->slot = port;
  op->serial = input.serial;
  const std::int64_t next = input.last + (planted(Plant::nats_client_resumes_one_late) ? 2 : 1);
  op->sequence = input.last > 0 ? next : -1;
  op->deliver = values_.inputs[port].deliver;
  write(op);
  if (input.created) return watch_heartbeats(port);
  cluster_.world().after(api_timeout, *this, ClientEvent::create_again, 0, port, input.serial);
}

void NatsClient::created(const Op& op) {
  Input& input = inputs_[op.slot];
  if (op.serial != input.serial) return;
  if (op.code != code::none) {
    if (!input.created)
      cluster_.world().after(subscribe_retry, *this, ClientEvent::create_again, 0, op.slot, input.serial);
    return;
  }
  if (!input.created) input.subscribed = cluster_.world().now();
  input.created = true;
  input.heard = cluster_.world().now();
}

/// Messages of an earlier creation are ignored; a gap drops what came and starts anew behind the last good
/// message.
bool NatsClient::in_order(std::uint32_t port, const Delivery& d) {
  Input& input = inputs_[port];
  if (d.serial != input.serial) return false;
  if (d.first_sequence != input.expected) {
    create(port);
    return false;
  }
  input.expected += static_cast<std::uint32_t>(d.messages.size());
  if (!d.messages.empty()) input.last = d.messages.back().position;
  return true;
}

/// A timer looks every two heartbeats whether anything was heard since. It costs no events here: the first
/// look that would find nothing is computed when something happens to a server or the network.
void NatsClient::watch_heartbeats(std::uint32_t port) {
  Input& input = inputs_[port];
  if (!values_.inputs[port].ordered || !input.created) return;
  if (cluster_.hears(*connection_, input.consumer)) {
    input.watching = false;
    ++input.watch_generation;
    return;
  }
  if (input.watching) return;
  const Duration beat = ordered_heartbeat, look = beat * 2;
  const Instant now = cluster_.world().now();
  const Instant latest = input.heard + beat * ((now - input.heard).ns / beat.ns);
  const std::int64_t looks = (latest - input.subscribed).ns / look.ns + 2;
  input.watching = true;
  cluster_.world().schedule(std::max(input.subscribed + look * looks, now), *this,
                            ClientEvent::heartbeat_missed, 0, port, ++input.watch_generation);
}

void NatsClient::heartbeat_missed(std::uint32_t port) {
  Input& input = inputs_[port];
  input.watching = false;
  if (!connected_ || cluster_.hears(*connection_, input.consumer)) return;
  input.heard = cluster_.world().now();  // the timer counts from here
  create(port);
}

}  // namespace mqlab::sim::nats
