#include "core/modules/producer.h"

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
  in_flight_.push_back({op, message});
}

void Producer::settled(const Settlement& s, Effects& effects) {
  if (s.of != Kind::publish) return;
  Message message;
  for (std::uint32_t i = 0; i < in_flight_.size();
       ++i) {  // settlements come nearly in order: found near the front
    if (in_flight_[i].op != s.op) continue;
    message = in_flight_[i].message;
    in_flight_[i] = in_flight_.front();
    in_flight_.pop_front();
    break;
  }
  if (s.outcome == Outcome::ok || message.id == 0) return;
  if (s.error == ErrorClass::full) {
    blocked_ = true;
    waiting_.push_back(message);
  } else if (settings_.resend && s.error != ErrorClass::fatal && s.error != ErrorClass::fenced) {
    send(message, effects);
  }
}

}  // namespace mqlab
