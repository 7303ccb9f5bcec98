#include "core/modules/producer.h"

#include <algorithm>

namespace mqlab {

void Producer::handle(const Now&, const Event& event, Effects& effects) {
  switch (event.kind) {
    case EventKind::invoke:
      for (const Message& m : event.messages) {
        if (blocked_) {
          waiting_.push_back(m);
        } else {
          send(m, effects);
        }
      }
      break;
    case EventKind::settled:
      for (const Settlement& s : event.settlements) settled(s, effects);
      break;
    case EventKind::blocked:
      blocked_ = true;
      break;
    case EventKind::unblocked:
      blocked_ = false;
      while (!waiting_.empty() && !blocked_) {
        const Message m = waiting_.front();
        waiting_.pop_front();
        send(m, effects);
      }
      break;
    case EventKind::stop:
      effects.flush();
      break;
    default:
      break;
  }
}

void Producer::send(const Message& message, Effects& effects) {
  const OpId op = effects.publish(0, message);
  in_flight_.push_back({op, false, message});
}

/// Ops are given out one after another, so the place of a publish in the ring is known from its op.
Producer::Sent* Producer::find(OpId op) {
  if (in_flight_.empty() || op < in_flight_.front().op) return nullptr;
  std::uint32_t i = std::min(op - in_flight_.front().op, in_flight_.size() - 1);
  while (in_flight_[i].op > op && i > 0) --i;  // ops of other effects lie between
  return in_flight_[i].op == op ? &in_flight_[i] : nullptr;
}

void Producer::settled(const Settlement& s, Effects& effects) {
  if (s.of != Kind::publish) return;
  Sent* sent = find(s.op);
  if (sent == nullptr || sent->settled) return;
  sent->settled = true;
  const Message message = sent->message;
  while (!in_flight_.empty() && in_flight_.front().settled) in_flight_.pop_front();
  if (s.outcome == Outcome::ok) return;
  if (s.error == ErrorClass::full) {
    blocked_ = true;
    waiting_.push_back(message);
  } else if (settings_.resend && s.error != ErrorClass::fatal && s.error != ErrorClass::fenced) {
    send(message, effects);
  }
}

}  // namespace mqlab
