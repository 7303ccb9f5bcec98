#include "sim/brokers/nats/consumer.h"

#include <algorithm>

#include "core/history/audit.h"
#include "sim/brokers/nats/cluster.h"
#include "sim/brokers/nats/stream.h"
#include "sim/world.h"

namespace mqlab::sim::nats {
namespace {
/// The pending timer fires a little late, so that what was delivered in a burst expires together.
/// [nats-server: consumer.go ackWaitDelay]
constexpr Duration ack_wait_delay = Duration::millis(1);
/// After a nak with delay the timer looks again so soon. [processNak: resetPtmr]
constexpr Duration nak_recheck = Duration::millis(10);
}  // namespace

Consumer::Consumer(NatsCluster& cluster, Stream& stream, const ConsumerValues& values, std::uint32_t index, bool durable)
    : cluster_(cluster), stream_(stream), values_(values), index_(index), durable_(durable), exists_(durable),
      window_(cluster.arena()), again_(cluster.arena()), requests_(cluster.arena()), limbo_(cluster.arena()),
      stored_(cluster.arena()), floors_(cluster.arena()) {}

Consumer::Pending* Consumer::at(std::int64_t sequence) {
  const std::int64_t i = sequence - window_base_;
  return i < 0 || i >= window_.size() ? nullptr : &window_[static_cast<std::uint32_t>(i)];
}

// ---- pull requests ---------------------------------------------------------------------------------------------

void Consumer::pull(Op* op, const Packet& packet) {
  const bool other_life = !durable_ && op->serial != serial_;
  if (!exists_ || other_life || requests_.size() >= values_.max_waiting) {
    cluster_.refuse(stream_.replicas().leader(), packet.connection, packet.epoch, op->slot, op->generation, op->serial,
                    code::leadership_change, op->answer_lost);
  } else {
    // A fetch sends one request after the other; the one before has run out.
    client_done(op->slot, packet.connection);
    requests_.push_back({packet.connection, packet.epoch, op->slot, op->generation, op->batch, op->no_wait, op->answer_lost,
                         false, cluster_.world().now(), op->lifetime, cluster_.world().now() + op->delay, nullptr});
  }
  cluster_.arena().recycle(op);
  deliver();
}

void Consumer::client_done(std::uint32_t port, const Connection* connection) {
  keep_requests([&](const Request& r) { return r.connection != connection || r.port != port; });
}

void Consumer::client_gone(const Connection* connection, std::uint32_t epoch) {
  keep_requests([&](const Request& r) { return r.connection != connection || r.epoch != epoch; });
}

bool Consumer::create(Op* op) {
  requests_.clear();
  start_over();
  exists_ = true;
  serial_ = op->serial;
  if (op->sequence > 0) {
    next_ = op->sequence;
  } else if (op->deliver == DeliverPolicy::new_only) {
    next_ = stream_.last() + 1;
  } else if (op->deliver == DeliverPolicy::last) {
    next_ = std::max(stream_.last(), stream_.first());
  }
  window_base_ = next_;
  return true;
}

// ---- delivery --------------------------------------------------------------------------------------------------

/// [loopAndGatherMsgs] A replicated consumer sends a message only once a majority knows of it. [replicateDeliveries]
void Consumer::deliver() {
  if (requests_.empty() || !exists_) return;
  if (acks() && !stream_.replicas().quorum()) return;
  const Instant now = cluster_.world().now();
  keep_requests([&](const Request& r) { return r.expires > now; });
  bool stalled = false;
  std::int64_t sequence = 0;
  while (!requests_.empty() && next_message(sequence, stalled)) hand_out(sequence);
  if (!requests_.empty()) end_requests(stalled);
}

/// What is to be given again comes first, so it may arrive after newer messages. [getNextMsg]
bool Consumer::next_message(std::int64_t& sequence, bool& stalled) {
  if (!again_.empty() && next_again(sequence)) return true;
  if (acks() && values_.max_ack_pending > 0 && pending_ >= values_.max_ack_pending) {
    stalled = true;
    return false;
  }
  sequence = std::max(next_, stream_.first());
  return sequence <= stream_.last();
}

bool Consumer::next_again(std::int64_t& sequence) {
  while (!again_.empty()) {
    sequence = again_.front();
    again_.pop_front();
    Pending* p = at(sequence);
    if (p == nullptr || !p->open || !p->queued) continue;
    p->queued = false;
    if (sequence < stream_.first() || exhausted(*p)) {
      close(sequence);
      continue;
    }
    return true;
  }
  return false;
}

/// Each message goes to the oldest request, which then queues up behind the others. [nextWaiting, waitQueue.pop]
void Consumer::hand_out(std::int64_t sequence) {
  before_update();
  if (sequence >= next_) next_ = sequence + 1;
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
  const std::uint32_t attempt = track(sequence);
  const Record& record = stream_.log()[sequence];
  Message& m = r.delivery->messages.emplace_back();
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
  m.receipt = receipt_of(sequence, attempt, r.port);
  r.delivery->bytes += record.size + deliver_overhead_bytes;
  r.served = true;
  if (--r.left == 0) {
    send(r, true);
    requests_.pop_front();
  } else if (requests_.size() > 1) {
    const Request turn = r;
    requests_.pop_front();
    requests_.push_back(turn);
  }
  after_update();
}

/// There is no more. A one-shot request that got something is done with, except when only max_ack_pending holds
/// messages back: then it waits for acks until it expires. [processWaiting]
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
      r.expires = std::min(r.expires, end_of_request(r.received, r.lifetime, now));
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
  if (r.answer_lost) {
    d->lost = true;
    d->messages.clear();
  }
  const bool agree = acks() && !stream_.replicas().alone();
  cluster_.reply(stream_.replicas().leader(), d, agree ? stream_.replicas().round_trip() : Duration{});
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
  arm(p.since + values_.wait(p.attempts));
  return p.attempts;
}

void Consumer::open_window(std::int64_t sequence) {
  if (window_.empty()) window_base_ = sequence;
  while (window_base_ + window_.size() <= sequence) window_.push_back({});
}

// ---- acknowledgements ------------------------------------------------------------------------------------------

bool Consumer::answer(Op* op) {
  if (!exists_) {
    cluster_.arena().recycle(op);
    return false;
  }
  if (!stream_.replicas().alone() && !stream_.replicas().quorum()) {
    limbo_.push_back(op);
    return false;
  }
  apply(*op);
  if (op->confirm && !op->answer_lost) return true;
  cluster_.arena().recycle(op);
  return false;
}

void Consumer::apply(const Op& op) {
  if (!acks() || op.sequence >= next_) return;  // of a message that was not delivered [processAckMsg]
  const bool was_full = values_.max_ack_pending > 0 && pending_ >= values_.max_ack_pending;
  before_update();
  switch (op.kind) {
    case OpKind::ack:
    case OpKind::terminate: ack(op.sequence); break;
    case OpKind::nack: nack(op.sequence, op.delay); break;
    case OpKind::progress:  // its time starts again [progressUpdate]
      if (Pending* p = at(op.sequence); p != nullptr && p->open) p->since = cluster_.world().now();
      break;
    default: break;
  }
  after_update();
  if (was_full || !again_.empty()) deliver();
}

/// Whoever acks a pending sequence settles it, also with the ack of an earlier delivery that has come late.
/// [processAckMsg: AckExplicit, AckAll]
void Consumer::ack(std::int64_t sequence) {
  if (values_.ack == AckPolicy::all) {
    for (std::int64_t s = window_base_; s <= sequence && !window_.empty(); s = std::max(s + 1, window_base_)) close(s);
  } else {
    close(sequence);
  }
}

void Consumer::close(std::int64_t sequence) {
  Pending* p = at(sequence);
  if (p == nullptr || !p->open) return;
  if (p->queued) unqueue(sequence);
  p->open = false;
  --pending_;
  trim();
}

void Consumer::trim() {
  while (!window_.empty() && !window_.front().open) {
    window_.pop_front();
    ++window_base_;
  }
  if (window_.empty()) window_base_ = next_;
}

/// [processNak]
void Consumer::nack(std::int64_t sequence, Duration delay) {
  Pending* p = at(sequence);
  if (p == nullptr || !p->open) return;
  if (delay.ns <= 0) {
    if (!p->queued) queue_again(sequence);
    return;
  }
  if (p->queued) unqueue(sequence);
  const Instant now = cluster_.world().now();
  p->since = now - values_.ack_wait + delay;
  arm(std::max(p->since + values_.wait(p->attempts), now + nak_recheck) - ack_wait_delay);
}

void Consumer::queue_again(std::int64_t sequence) {
  at(sequence)->queued = true;
  again_.push_back(sequence);
}

void Consumer::unqueue(std::int64_t sequence) {
  at(sequence)->queued = false;
  for (std::uint32_t n = again_.size(); n > 0; --n) {
    const std::int64_t s = again_.front();
    again_.pop_front();
    if (s != sequence) again_.push_back(s);
  }
}

/// Delivered as often as allowed: it stays in the stream, and this consumer never gives it out again.
/// [hasMaxDeliveries]
bool Consumer::exhausted(const Pending& p) const {
  return values_.max_deliver > 0 && p.attempts >= values_.max_deliver;
}

// ---- the time to acknowledge -----------------------------------------------------------------------------------

void Consumer::arm(Instant due) {
  const Instant at = due + ack_wait_delay;
  if (at >= timer_at_) return;
  timer_at_ = at;
  cluster_.world().schedule(std::max(at, cluster_.world().now()), cluster_.node(stream_.replicas().leader()),
                            NodeEvent::ack_timer, 0, index_, ++timer_generation_);
}

void Consumer::timer(std::uint32_t generation) {
  if (generation != timer_generation_) return;
  timer_at_ = Instant::never();
  if (pending_ == 0) return;
  before_update();
  check_pending();
  after_update();
  deliver();
}

/// All that has expired goes to the queue of redeliveries, by sequence. [checkPending]
void Consumer::check_pending() {
  const Instant now = cluster_.world().now();
  Instant next = Instant::never();
  const std::int64_t end = window_base_ + window_.size();
  for (std::int64_t s = window_base_; s < end; ++s) {
    Pending* p = at(s);
    if (p == nullptr || !p->open || p->queued) continue;
    const Instant due = p->since + values_.wait(p->attempts);
    if (s < stream_.first() || (due <= now && exhausted(*p))) {
      close(s);
    } else if (due <= now) {
      queue_again(s);
      p->since = now;
    } else {
      next = std::min(next, due);
    }
  }
  if (next != Instant::never()) arm(next);
}

// ---- what happens to servers -----------------------------------------------------------------------------------

void Consumer::start_over() {
  next_ = 1;
  sequence_ = 1;
  window_base_ = 1;
  window_.clear();
  pending_ = 0;
  again_.clear();
  timer_at_ = Instant::never();
  ++timer_generation_;
}

/// Nothing that the server had in memory only is left: the requests, the queue of redeliveries.
void Consumer::led_anew() {
  timer_at_ = Instant::never();
  ++timer_generation_;
  drop_limbo(false);
  requests_.clear();
  if (!durable_) exists_ = false;
  reconcile();
}

void Consumer::recovered() {
  if (!durable_) return;
  exists_ = !stream_.replicas().gone();
  reconcile();
}

/// State and stream may not fit after a loss; what waits to be acknowledged is looked at soon.
/// [reconcileStateWithStream, applyState]
void Consumer::reconcile() {
  const std::int64_t last = stream_.last();
  while (!window_.empty() && window_base_ + window_.size() - 1 > last) window_.pop_back();
  next_ = std::min(next_, last + 1);
  window_base_ = std::min(window_base_, last + 1);
  pending_ = 0;
  again_.clear();
  for (std::uint32_t i = 0; i < window_.size(); ++i) {
    Pending& p = window_[i];
    if (p.queued) p.since = Instant{} - values_.wait(p.attempts);  // the refreshed time was in memory only
    p.queued = false;
    pending_ += p.open ? 1 : 0;
  }
  trim();
  if (stream_.replicas().alone()) write_state();
  if (pending_ == 0 || !acks()) return;
  World& world = cluster_.world();
  const auto bits = world.draw(Purpose::retry_jitter, index_, static_cast<std::uint64_t>(world.now().ns));
  Duration delay = Duration::millis(500) + Duration{static_cast<std::int64_t>(below(bits, 1'000'000'000))};
  if (values_.ack_wait < delay) delay = values_.ack_wait + ack_wait_delay;
  arm(world.now() + delay - ack_wait_delay);
}

void Consumer::quorum_back() { drop_limbo(true); }

/// Acks that a leader without its followers took: agreed on when they come back, forgotten when another one leads.
void Consumer::drop_limbo(bool apply_them) {
  for (Op* op : limbo_) {
    if (apply_them) apply(*op);
    cluster_.arena().recycle(op);
  }
  limbo_.clear();
}

void Consumer::audit(ProcessId auditor) const {
  if (!durable_ || !exists_ || !acks()) return;
  Row& row = cluster_.world().row(auditor, Kind::audit, Phase::ok);
  row.op = offset_audit;
  row.key = values_.stage;
  row.place = stream_.values().place;
  row.position = ack_floor() + 1;
}

}  // namespace mqlab::sim::nats
