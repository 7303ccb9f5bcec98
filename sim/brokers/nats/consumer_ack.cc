// Acknowledgements, and what becomes of a message that is not acknowledged in time.
#include <algorithm>

#include "core/base/plant.h"
#include "sim/brokers/nats/cluster.h"
#include "sim/brokers/nats/consumer.h"
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
  const bool was_full = full();
  before_update();
  switch (op.kind) {
    case OpKind::ack:
    case OpKind::terminate:
      ack(op.sequence);
      break;
    case OpKind::nack:
      nack(op.sequence, op.delay);
      break;
    case OpKind::progress:  // its time starts again [progressUpdate]
      if (planted(Plant::nats_progress_settles)) ack(op.sequence);
      if (Pending* p = at(op.sequence); p != nullptr && p->open) p->since = cluster_.world().now();
      break;
    default:
      break;
  }
  after_update();
  if (was_full || !again_.empty()) deliver();
}

/// Whoever acks a pending sequence settles it, also with the ack of an earlier delivery that has come late.
/// [processAckMsg: AckExplicit, AckAll]
void Consumer::ack(std::int64_t sequence) {
  if (values_.ack == AckPolicy::all || planted(Plant::nats_ack_settles_all)) {
    for (std::int64_t s = window_base_; s <= sequence && !window_.empty(); s = std::max(s + 1, window_base_))
      settle(s);
  } else {
    settle(sequence);
  }
}

/// The stream is told of an ack even when nothing is pending any more: one that comes after the last
/// delivery's time takes its message out of a work queue. [processAckMsg; seen on nats-server 2.15.1]
void Consumer::settle(std::int64_t sequence) {
  close(sequence);
  stream_.acknowledged(sequence);
}

/// For streams that keep a message only as long as somebody wants it. [needAck]
bool Consumer::wants(std::int64_t sequence) const {
  if (!durable_) return false;
  if (sequence >= next_) return takes(sequence);
  const std::int64_t i = sequence - window_base_;
  return i >= 0 && i < window_.size() && (window_[static_cast<std::uint32_t>(i)].open);
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
  if (planted(Plant::nats_nak_settles)) return settle(sequence);
  if (delay.ns <= 0) {
    if (!p->queued) queue_again(sequence);
    return;
  }
  if (p->queued) unqueue(sequence);
  const Instant now = cluster_.world().now();
  p->since = now - values_.ack_wait + delay;
  arm(std::max(due_of(*p), now + nak_recheck) - ack_wait_delay);
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
  const std::uint32_t less = planted(Plant::nats_max_deliver_one_less) ? 1 : 0;
  return values_.max_deliver > 0 && p.attempts + less >= values_.max_deliver;
}

// ---- the time to acknowledge
// -----------------------------------------------------------------------------------

Instant Consumer::due_of(const Pending& p) const {
  const Duration wait = values_.wait(p.attempts);
  return p.since + (planted(Plant::nats_ack_wait_half) ? wait / 2 : wait);
}

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
  if (pending_ == 0 || planted(Plant::nats_ack_wait_never)) return;
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
    const Instant due = due_of(*p);
    if (!stream_.has(s) || (due <= now && exhausted(*p))) {
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

}  // namespace mqlab::sim::nats
