// Fetches. natsSubscription_Fetch sends a pull request and waits; an application that waits longer than one
// request lives sends them one after the other. Waiting costs no events here: a request stays parked at the
// server, and only where one was lost is the next one played out, at the time it would be sent.
//
// An ordered consumer is made by the client out of an ephemeral consumer without acknowledgements: a gap in
// the consumer's sequence, a lost connection or silence makes it create another one behind the last message
// it gave to the application. [nats-architecture-and-design: ADR-17; nats.go: jetstream/ordered.go]
#include <algorithm>

#include "sim/brokers/nats/cluster.h"
#include "sim/clients/nats/client.h"
#include "sim/process.h"
#include "sim/world.h"

namespace mqlab::sim::nats {
namespace {
constexpr Duration create_backoff_least = Duration::seconds(1);  // ordered.go: retry 1 s, doubled up to 10 s
constexpr Duration create_backoff_most = Duration::seconds(10);
}  // namespace

void NatsClient::fetch(const Effect& effect) {
  Input& input = inputs_[effect.port];
  input.queue.push_back({effect.op, std::max(effect.max, 1u), effect.wait});
  if (!input.active) next_fetch(effect.port);
}

void NatsClient::next_fetch(std::uint32_t port) {
  Input& input = inputs_[port];
  if (input.queue.empty()) return;
  input.fetch = input.queue.front();
  input.queue.pop_front();
  input.active = true;
  ++input.generation;
  input.sent = cluster_.world().now();
  input.asks_again = {};
  if (!input.left_over.empty()) {  // what came too late for the fetch before
    const std::size_t n = std::min<std::size_t>(input.left_over.size(), input.fetch.max);
    input.got.assign(input.left_over.begin(), input.left_over.begin() + static_cast<std::ptrdiff_t>(n));
    input.left_over.erase(input.left_over.begin(), input.left_over.begin() + static_cast<std::ptrdiff_t>(n));
    return hand_over(port);
  }
  if (input.fetch.wait != Duration::forever()) {
    cluster_.world().after(input.fetch.wait, *this, ClientEvent::fetch_deadline, 0, port, input.generation);
  }
  if (values_.inputs[port].ordered && !input.created) {
    if (!input.creating) create(port);
  } else {
    pull(port);
  }
}

/// With more than one message asked for the request is a one-shot: it ends with the last message there is,
/// and waits for the first. [nats.c: js.c natsSubscription_Fetch; nats-server: consumer.go
/// processNextMsgRequest, "one-shot"]
void NatsClient::pull(std::uint32_t port) {
  Input& input = inputs_[port];
  auto* op = cluster_.arena().make<Op>();
  op->kind = OpKind::pull;
  op->target = input.consumer;
  op->slot = port;
  op->generation = input.generation;
  op->batch = input.fetch.max - static_cast<std::uint32_t>(input.got.size());
  op->no_wait = input.fetch.max > 1;
  op->delay = input.fetch.wait == Duration::forever()
                  ? input.fetch.wait
                  : input.sent + input.fetch.wait - cluster_.world().now();
  op->lifetime = values_.pull_expires;
  op->serial = input.serial;
  write(op);
}

void NatsClient::delivery(Delivery& d) {
  Input& input = inputs_[d.port];
  const bool ordered = values_.inputs[d.port].ordered;
  const bool current = input.active && d.generation == input.generation;
  if (d.lost) {  // all the client has is silence, until its request has run out
    if (!current) return;
    const Instant runs_out = end_of_request(input.sent, values_.pull_expires, cluster_.world().now());
    return pull_later(d.port, runs_out);
  }
  if (ordered && !in_order(input, d.port, d)) return;
  if (!current) {
    input.left_over.insert(input.left_over.end(), d.messages.begin(), d.messages.end());
    return;
  }
  input.got.insert(input.got.end(), d.messages.begin(), d.messages.end());
  if (d.status != code::none && input.got.empty()) {
    if (ordered) return reset_ordered(d.port, values_.pull_retry);
    return pull_later(d.port, cluster_.world().now() + values_.pull_retry);
  }
  if (d.complete) return hand_over(d.port);
  // Only max_ack_pending holds more back: the library waits for the rest until the request runs out.
  const Instant until = end_of_request(input.sent, values_.pull_expires, cluster_.world().now());
  cluster_.world().schedule(until - request_margin, *this, ClientEvent::fetch_deadline, 0, d.port,
                            input.generation);
}

void NatsClient::hand_over(std::uint32_t port) {
  Input& input = inputs_[port];
  Event event;
  event.kind = EventKind::delivered;
  event.op = input.fetch.op;
  event.messages = {input.got.data(), input.got.size()};
  process_.post(event);
  input.got.clear();
  input.active = false;
  next_fetch(port);
}

void NatsClient::ask_again(std::uint32_t stream) {
  if (!connected_) return;
  for (std::uint32_t port = 0; port < inputs_.size(); ++port) {
    const bool waits = inputs_[port].active && values_.inputs[port].stream == stream;
    if (waits) pull_later(port, cluster_.world().now() + values_.pull_retry);
  }
}

void NatsClient::pull_later(std::uint32_t port, Instant at) {
  Input& input = inputs_[port];
  if (input.asks_again > cluster_.world().now() && input.asks_again <= at) return;
  input.asks_again = at;
  cluster_.world().schedule(at, *this, ClientEvent::pull_again, 0, port, inputs_[port].generation);
}

void NatsClient::pull_again(std::uint32_t port, std::uint32_t generation) {
  Input& input = inputs_[port];
  if (!input.active || input.generation != generation) return;
  if (values_.inputs[port].ordered) return reset_ordered(port, {});  // missed heartbeats
  if (!input.got.empty()) return hand_over(port);
  pull(port);
}

// ---- ordered
// ---------------------------------------------------------------------------------------------------

/// Messages of an earlier creation are ignored; a gap drops what came and starts anew behind the last good
/// message.
bool NatsClient::in_order(Input& input, std::uint32_t port, const Delivery& d) {
  if (d.serial != input.serial || !input.created) return false;
  if (d.messages.empty()) return true;
  if (d.first_sequence != input.expected) {
    reset_ordered(port, {});
    return false;
  }
  input.expected += static_cast<std::uint32_t>(d.messages.size());
  input.last = d.messages.back().position;
  return true;
}

void NatsClient::reset_ordered(std::uint32_t port, Duration wait) {
  Input& input = inputs_[port];
  input.created = false;
  input.creating = true;
  if (wait.ns == 0) return create(port);
  cluster_.world().after(wait, *this, ClientEvent::create_again, 0, port, input.serial);
}

void NatsClient::create(std::uint32_t port) {
  Input& input = inputs_[port];
  input.created = false;
  input.creating = true;
  ++input.serial;
  auto* op = cluster_.arena().make<Op>();
  op->kind = OpKind::create;
  op->target = input.consumer;
  op->slot = port;
  op->generation = input.generation;
  op->serial = input.serial;
  op->sequence = input.last > 0 ? input.last + 1 : -1;
  op->deliver = values_.inputs[port].deliver;
  write(op);
  // Without an answer the creation is tried again.
  input.backoff =
      input.backoff.ns == 0 ? create_backoff_least : std::min(input.backoff * 2, create_backoff_most);
  cluster_.world().after(cluster_.values().clients[process_.self()].ack_timeout + input.backoff, *this,
                         ClientEvent::create_again, 0, port, input.serial);
}

void NatsClient::created(const Op& op) {
  Input& input = inputs_[op.slot];
  if (op.serial != input.serial || input.created) return;
  input.created = true;
  input.creating = false;
  input.expected = 1;
  input.backoff = {};
  if (input.active) pull(op.slot);
}

}  // namespace mqlab::sim::nats
