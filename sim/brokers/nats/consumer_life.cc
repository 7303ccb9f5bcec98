// What becomes of a consumer when the server that leads it dies or another one takes over.
#include <algorithm>

#include "core/history/audit.h"
#include "sim/brokers/nats/cluster.h"
#include "sim/brokers/nats/consumer.h"
#include "sim/brokers/nats/stream.h"
#include "sim/world.h"

namespace mqlab::sim::nats {

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
  flow_ = flow_anew();
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
  if (values_.ack_wait < delay) delay = values_.ack_wait;
  arm(world.now() + delay);
}

void Consumer::quorum_back() { drop_limbo(true); }

/// Acks that a leader without its followers took: agreed on when they come back, forgotten when another one
/// leads.
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
