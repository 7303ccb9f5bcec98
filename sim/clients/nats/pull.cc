// Fetches. natsSubscription_Fetch sends a pull request and waits; an application that waits longer than one
// request lives sends them one after the other. Waiting costs no events here: a request stays parked at the
// server, and only where one was lost is the next one played out, at the time it would be sent.
#include <algorithm>

#include "sim/brokers/nats/cluster.h"
#include "sim/clients/nats/client.h"
#include "sim/process.h"
#include "sim/world.h"

namespace mqlab::sim::nats {
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
  if (input.fetch.wait != Duration::forever()) {
    cluster_.world().after(input.fetch.wait, *this, ClientEvent::fetch_deadline, 0, port, input.generation);
  }
  if (values_.inputs[port].push) return take(port);
  if (!input.left_over.empty()) {  // what came too late for the fetch before
    const std::size_t n = std::min<std::size_t>(input.left_over.size(), input.fetch.max);
    input.got.assign(input.left_over.begin(), input.left_over.begin() + static_cast<std::ptrdiff_t>(n));
    input.left_over.erase(input.left_over.begin(), input.left_over.begin() + static_cast<std::ptrdiff_t>(n));
    return hand_over(port);
  }
  pull(port);
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
  write(op);
}

void NatsClient::delivery(Delivery& d) {
  Input& input = inputs_[d.port];
  if (values_.inputs[d.port].push) return pushed(d);
  const bool current = input.active && d.generation == input.generation;
  if (d.lost) {  // all the client has is silence, until its request has run out
    if (!current) return;
    const Instant runs_out = end_of_request(input.sent, values_.pull_expires, cluster_.world().now());
    return pull_later(d.port, runs_out);
  }
  if (!current) {
    input.left_over.insert(input.left_over.end(), d.messages.begin(), d.messages.end());
    return;
  }
  input.got.insert(input.got.end(), d.messages.begin(), d.messages.end());
  if (d.status != code::none && input.got.empty())
    return pull_later(d.port, cluster_.world().now() + values_.pull_retry);
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
    if (values_.inputs[port].stream != stream) continue;
    if (values_.inputs[port].push) {
      watch_heartbeats(port);
    } else if (inputs_[port].active) {
      pull_later(port, cluster_.world().now() + values_.pull_retry);
    }
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
  if (!input.got.empty()) return hand_over(port);
  pull(port);
}

}  // namespace mqlab::sim::nats
