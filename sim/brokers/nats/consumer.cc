#include "sim/brokers/nats/consumer.h"

#include <algorithm>
#include <utility>

#include "sim/brokers/nats/cluster.h"
#include "sim/brokers/nats/stream.h"
#include "sim/world.h"

namespace mqlab::sim::nats {

Consumer::Consumer(NatsCluster& cluster, Stream& stream, const ConsumerValues& values, std::uint32_t index,
                   bool durable)
    : cluster_(cluster),
      stream_(stream),
      values_(values),
      index_(index),
      durable_(durable),
      exists_(durable),
      window_(cluster.arena()),
      again_(cluster.arena()),
      requests_(cluster.arena()),
      subscribers_(cluster.arena()),
      flow_(flow_anew()),
      limbo_(cluster.arena()),
      stored_(cluster.arena()),
      floors_(cluster.arena()) {}

Consumer::Pending* Consumer::at(std::int64_t sequence) {
  const std::int64_t i = sequence - window_base_;
  return i < 0 || i >= window_.size() ? nullptr : &window_[static_cast<std::uint32_t>(i)];
}

// ---- pull requests
// ---------------------------------------------------------------------------------------------

void Consumer::pull(Op* op, const Packet& packet) {
  const bool other_life = !durable_ && op->serial != serial_;
  if (!exists_ || other_life || requests_.size() >= values_.max_waiting) {
    cluster_.refuse(stream_.replicas().leader(), packet.connection, packet.epoch, op->slot, op->generation,
                    op->serial, code::leadership_change, op->answer_lost);
  } else {
    // A fetch sends one request after the other; the one before has run out.
    client_done(op->slot, packet.connection);
    const Instant now = cluster_.world().now();
    requests_.push_back({packet.connection, packet.epoch, op->slot, op->generation, op->batch, op->no_wait,
                         op->answer_lost, false, now, op->lifetime, now + op->delay, now, ++turns_, nullptr});
  }
  cluster_.arena().recycle(op);
  deliver();
}

void Consumer::client_done(std::uint32_t port, const Connection* connection) {
  keep_requests([&](const Request& r) { return r.connection != connection || r.port != port; });
}

void Consumer::client_gone(const Connection* connection, std::uint32_t epoch) {
  keep_requests([&](const Request& r) { return r.connection != connection || r.epoch != epoch; });
  std::erase_if(subscribers_,
                [&](const Subscriber& s) { return s.connection == connection && s.epoch == epoch; });
}

bool Consumer::create(Op* op) {
  flow_ = flow_anew();
  start_over();
  exists_ = true;
  serial_ = op->serial;
  loses_first_ = std::exchange(op->answer_lost, false);
  if (op->sequence > 0) {
    next_ = op->sequence;
  } else if (op->deliver == DeliverPolicy::new_only) {
    next_ = stream_.last() + 1;
  } else if (op->deliver == DeliverPolicy::last) {
    next_ = stream_.last();
    while (next_ > stream_.first() && !takes(next_)) --next_;
  }
  window_base_ = next_;
  return true;
}

// ---- delivery
// --------------------------------------------------------------------------------------------------

/// [loopAndGatherMsgs] A replicated consumer sends a message only once a majority knows of it.
/// [replicateDeliveries]
void Consumer::deliver() {
  if (values_.push) return push();
  if (requests_.empty() || !exists_) return;
  if (acks() && !stream_.replicas().quorum()) return;
  stream_.expire();
  const Instant now = cluster_.world().now();
  keep_requests([&](const Request& r) { return r.expires > now; });
  bool stalled = false;
  std::int64_t sequence = 0;
  while (serve_next_request() && next_message(sequence, stalled)) hand_out(sequence);
  if (!requests_.empty()) end_requests(stalled);
}

/// A request that ran out is followed by the client's next one, which queues up anew.
Instant Consumer::at_end_of_queue(const Request& r, Instant now) {
  return std::max(r.queued, begin_of_request(r.received, r.lifetime, now));
}

/// Puts the request whose turn it is to the front. False when nobody waits right now.
bool Consumer::serve_next_request() {
  const Instant now = cluster_.world().now();
  std::uint32_t best = requests_.size();
  Instant back = Instant::never();
  for (std::uint32_t i = 0; i < requests_.size(); ++i) {
    const Request& r = requests_[i];
    if (between_requests(r.received, r.lifetime, now) && r.delivery == nullptr) {
      back = std::min(back, end_of_request(r.received, r.lifetime, now));
      continue;
    }
    const bool first = best == requests_.size();
    const Instant since = at_end_of_queue(r, now);
    const Instant least = first ? Instant::never() : at_end_of_queue(requests_[best], now);
    if (first || since < least || (since == least && r.turn < requests_[best].turn)) best = i;
  }
  if (best < requests_.size()) {
    std::swap(requests_[0], requests_[best]);
    return true;
  }
  const bool waits = !again_.empty() || (!full() && next_new() <= stream_.last());
  if (back != Instant::never() && waits) wake_at(back);
  return false;
}

void Consumer::wake_at(Instant at) {
  if (wake_at_ <= at && wake_at_ > cluster_.world().now()) return;
  wake_at_ = at;
  cluster_.world().schedule(at, cluster_.node(stream_.replicas().leader()), NodeEvent::pull_wake, 0, index_);
}

void Consumer::wake() {
  wake_at_ = Instant::never();
  deliver();
}

/// What is to be given again comes first, so it may arrive after newer messages. [getNextMsg]
bool Consumer::next_message(std::int64_t& sequence, bool& stalled) {
  if (!again_.empty() && next_again(sequence)) return true;
  if (full()) {
    stalled = true;
    return false;
  }
  sequence = next_new();
  if (!values_.filters.empty()) next_ = std::max(next_, sequence);
  return sequence <= stream_.last();
}

bool Consumer::takes(std::int64_t sequence) const {
  if (!stream_.has(sequence)) return false;
  const Record& record = stream_.log()[sequence];
  return values_.filters.empty() || values_.takes[record.form].has(record.key);
}

std::int64_t Consumer::next_new() const {
  std::int64_t sequence = stream_.at_or_after(next_);
  while (sequence <= stream_.last() && !takes(sequence)) sequence = stream_.at_or_after(sequence + 1);
  return sequence;
}

bool Consumer::next_again(std::int64_t& sequence) {
  while (!again_.empty()) {
    sequence = again_.front();
    again_.pop_front();
    Pending* p = at(sequence);
    if (p == nullptr || !p->open || !p->queued) continue;
    p->queued = false;
    if (!stream_.has(sequence) || exhausted(*p)) {
      close(sequence);
      continue;
    }
    return true;
  }
  return false;
}

/// Each message goes to the oldest request, which then queues up behind the others. [nextWaiting,
/// waitQueue.pop]
void Consumer::hand_out(std::int64_t sequence) {
  before_update();
  Arena& arena = cluster_.arena();
  Request& r = requests_.front();
  if (r.delivery == nullptr) {
    r.delivery = arena.make<Delivery>(arena);
    r.delivery->connection = r.connection;
    r.delivery->epoch = r.epoch;
    r.delivery->port = r.port;
    r.delivery->generation = r.generation;
    r.delivery->serial = serial_;
    r.delivery->first_sequence = sequence_;
    r.delivery->messages.reserve(std::min(r.left, 8u));
  }
  fill(*r.delivery, sequence, r.port);
  r.served = true;
  if (--r.left == 0) {
    send(r, true);
    requests_.pop_front();
  } else {
    r.queued = cluster_.world().now();
    r.turn = ++turns_;
  }
  after_update();
}

/// Returns the bytes it takes.
std::uint32_t Consumer::fill(Delivery& delivery, std::int64_t sequence, std::uint32_t port) {
  if (sequence >= next_) next_ = sequence + 1;
  const std::uint32_t attempt = track(sequence);
  cluster_.node(stream_.replicas().leader()).work(stream_.replicas().service_times().deliver);
  const Record& record = stream_.log()[sequence];
  Message& m = delivery.messages.emplace_back();
  m.id = record.id;
  m.cause = record.cause;
  m.key = record.key;
  m.size = record.size;
  m.digest = record.digest;
  m.payload = stream_.log().payload(sequence);
  m.place = stream_.values().place;
  m.attempt = attempt;
  m.position = sequence;
  m.timestamp = record.stored;
  m.receipt = receipt_of(sequence, attempt, port);
  const std::uint32_t bytes = record.size + deliver_overhead_bytes;
  delivery.bytes += bytes;
  if (!acks()) stream_.acknowledged(sequence);
  return bytes;
}

/// There is no more. A one-shot request that got something is done with, except when only max_ack_pending
/// holds messages back: then it waits for acks until it expires. [processWaiting]
void Consumer::end_requests(bool stalled) {
  const Instant now = cluster_.world().now();
  for (std::uint32_t n = requests_.size(); n > 0; --n) {
    Request r = requests_.front();
    requests_.pop_front();
    if (r.no_wait && r.served && !stalled) {
      send(r, true);
      continue;
    }
    if (r.delivery != nullptr) {
      send(r, false);
      r.expires = std::min(r.expires, end_of_request(r.received, r.lifetime, now) - request_margin);
    }
    requests_.push_back(r);
  }
}

void Consumer::send(Request& r, bool complete) {
  Delivery* d = r.delivery;
  r.delivery = nullptr;
  if (d == nullptr) {
    d = cluster_.arena().make<Delivery>(cluster_.arena());
    d->connection = r.connection;
    d->epoch = r.epoch;
    d->port = r.port;
    d->generation = r.generation;
    d->serial = serial_;
    d->first_sequence = sequence_;
    d->bytes = small_op_bytes;
  }
  d->complete = complete;
  if (r.answer_lost) {  // the first message that comes of it; the client waits for as many as it asked for
    d->lost = d->messages.size() <= 1;
    r.answer_lost = d->messages.empty();
    if (!d->messages.empty()) d->messages.erase(d->messages.begin());
    if (!d->lost) d->complete = complete && r.left > 0;
  }
  send_out(d);
}

void Consumer::send_out(Delivery* delivery) {
  const ProcessId leader = stream_.replicas().leader();
  const bool agree = acks() && !stream_.replicas().alone();
  const Duration agreed = agree ? stream_.replicas().round_trip() : Duration{};
  // Where nobody follows, nothing is committed: only a leader planted to do without comes here.
  const Duration wait = agreed == Duration::forever() ? Duration{} : agreed;
  cluster_.reply(leader, delivery, cluster_.node(leader).behind() + wait);
}

/// [deliverMsg, trackPending]
std::uint32_t Consumer::track(std::int64_t sequence) {
  ++sequence_;
  if (!acks()) {
    window_base_ = next_;
    return 1;
  }
  open_window(sequence);
  Pending& p = *at(sequence);
  if (!p.open) {
    p.open = true;
    ++pending_;
  }
  ++p.attempts;
  p.since = cluster_.world().now();
  arm(due_of(p));
  return p.attempts;
}

void Consumer::open_window(std::int64_t sequence) {
  if (window_.empty()) window_base_ = sequence;
  while (window_base_ + window_.size() <= sequence) window_.push_back({});
}

}  // namespace mqlab::sim::nats
