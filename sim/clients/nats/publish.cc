// js_PublishMsgAsync: many publishes at a time, each answered or timed out by itself. [nats.c: src/js.c]
#include <cstring>

#include "core/base/plant.h"
#include "sim/brokers/nats/cluster.h"
#include "sim/clients/nats/client.h"
#include "sim/process.h"
#include "sim/world.h"

namespace mqlab::sim::nats {

void NatsClient::publish(const Effect& effect) {
  const Message& m = effect.message;
  Arena& arena = cluster_.arena();
  std::uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(publishes_.size());
    publishes_.push_back({});
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  Publish& p = publishes_[slot];
  const std::uint32_t stream = values_.outputs[effect.port].stream;
  p = {effect.op, m.id, cluster_.values().streams[stream].place, p.generation + 1, true};
  ++in_flight_;
  Record record{m.id, m.cause, m.key, m.size, values_.message_id ? 1u : 0u, 0, m.digest, {}};
  // The library looks at the server's limit before it sends; the header counts. [nats.c: src/pub.c]
  if (header_bytes(record) + m.size > cluster_.values().server.max_payload) {
    Settlement too_large;
    too_large.outcome = Outcome::fail;
    too_large.error = ErrorClass::fatal;
    too_large.code = status::max_payload;
    end(slot, too_large);
    return post_settled();
  }
  auto* op = arena.make<Op>();
  op->kind = OpKind::publish;
  op->target = stream;
  op->slot = slot;
  op->generation = p.generation;
  op->record = record;
  if (m.payload.size > 0) {
    auto* kept = static_cast<std::byte*>(arena.allocate(m.payload.size));
    std::memcpy(kept, m.payload.data, m.payload.size);
    op->payload = {kept, m.payload.size};
  }
  if (in_flight_ - stalled_.size() <= values_.max_pending) return send(op);
  // The call blocks until there is room, and fails after stall_wait.
  if (stalled_.empty()) cluster_.world().after(values_.stall_wait, *this, ClientEvent::stall_deadline);
  stalled_.push_back({cluster_.world().now() + values_.stall_wait, op});
}

void NatsClient::send(Op* op) {
  sent_.push_back({cluster_.world().now() + values_.ack_timeout, op->slot, op->generation});
  arm_answers();
  write(op);
}

void NatsClient::arm_answers() {
  if (answers_armed_ || sent_.empty()) return;
  answers_armed_ = true;
  cluster_.world().schedule(sent_.front().deadline, *this, ClientEvent::answer_deadline);
}

/// The answer came. "No responders" is tried again a few times: a stream may be between two leaders.
/// [nats-architecture-and-design: ADR-22; nats.go: js.go]
void NatsClient::published(Op* op) {
  const std::uint32_t slot = op->slot;
  const bool open = publishes_[slot].open && publishes_[slot].generation == op->generation;
  if (open && op->code == code::no_responders && op->tries < values_.retry_attempts) {
    ++op->tries;
    op->code = code::none;
    op->duplicate = false;
    return cluster_.world().after(values_.retry_wait, *this, ClientEvent::retry,
                                  reinterpret_cast<std::uint64_t>(op));
  }
  if (open) {
    Settlement s;
    if (op->code == code::none) {
      s.position = op->sequence;
      s.duplicate = op->duplicate;
    } else {
      // A refusal excludes the effect, except that an id "in process" may yet be stored by its first publish.
      s.outcome = op->code == code::in_process ? Outcome::unknown : Outcome::fail;
      s.error = op->code == code::exceeds_maximum ? ErrorClass::fatal : ErrorClass::retriable;
      s.code = op->code == code::no_responders ? status::no_responders : op->code;
    }
    end(slot, s);
  }
  cluster_.arena().recycle(op);
}

void NatsClient::end(std::uint32_t slot, Settlement s) {
  Publish& p = publishes_[slot];
  s.op = p.op;
  s.of = Kind::publish;
  s.message = p.message;
  if (s.outcome == Outcome::ok) s.place = p.place;
  p.open = false;
  --in_flight_;
  free_slots_.push_back(slot);
  settle(s);
  room();
  if (!flushes_.empty()) settle_flush();
}

/// Unanswered for too long: stored or not, nobody knows. [js.c _timeoutPubAsync]
void NatsClient::answer_deadline() {
  answers_armed_ = false;
  const Instant now = cluster_.world().now();
  while (!sent_.empty()) {
    const Sent oldest = sent_.front();
    const Publish& p = publishes_[oldest.slot];
    const bool open = p.open && p.generation == oldest.generation;
    if (open && oldest.deadline > now) break;
    sent_.pop_front();
    if (!open) continue;
    Settlement silent;
    silent.outcome = planted(Plant::nats_client_timeout_is_ok) ? Outcome::ok : Outcome::unknown;
    silent.error = ErrorClass::retriable;
    silent.code = status::timeout;
    end(oldest.slot, silent);
  }
  arm_answers();
  post_settled();
}

void NatsClient::room() {
  while (!stalled_.empty() && in_flight_ - stalled_.size() < values_.max_pending) {
    Op* op = stalled_.front().op;
    stalled_.pop_front();
    send(op);
  }
  if (refused_for_room_ && stalled_.empty() && in_flight_ < values_.max_pending) {
    refused_for_room_ = false;
    tell(EventKind::unblocked);
  }
}

void NatsClient::stall_deadline() {
  const Instant now = cluster_.world().now();
  while (!stalled_.empty() && stalled_.front().deadline <= now) {
    Op* op = stalled_.front().op;
    stalled_.pop_front();
    Settlement full;
    full.outcome = Outcome::fail;
    full.error = ErrorClass::full;
    full.code = status::timeout;
    refused_for_room_ = true;
    end(op->slot, full);
    cluster_.arena().recycle(op);
  }
  if (!stalled_.empty())
    cluster_.world().schedule(stalled_.front().deadline, *this, ClientEvent::stall_deadline);
  post_settled();
}

/// js_PublishAsyncComplete: nothing is without an answer.
void NatsClient::settle_flush() {
  if (in_flight_ > 0) return;
  while (!flushes_.empty()) {
    Settlement done;
    done.op = flushes_.front();
    done.of = Kind::flush;
    flushes_.pop_front();
    settle(done);
  }
  post_settled();
}

}  // namespace mqlab::sim::nats
