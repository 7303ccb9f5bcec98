#include "core/seam/transcript_automaton.h"

namespace mqlab {
namespace {
std::string op_text(OpId op) { return "op " + std::to_string(op); }
std::string place_text(PlaceId place) { return "place " + std::to_string(place); }
}  // namespace

std::string TranscriptAutomaton::step(const Event& event, std::span<const Effect> effects) {
  std::string wrong = told(event);
  for (const Effect& effect : effects) {
    if (wrong.empty()) wrong = asked(effect);
  }
  return wrong;
}

std::string TranscriptAutomaton::told(const Event& event) {
  switch (event.kind) {
    case EventKind::delivered:
      return delivered(event);
    case EventKind::assigned:
    case EventKind::revoking:
      return handover(event);
    case EventKind::settled:
      for (const Settlement& s : event.settlements) {
        if (std::string wrong = settled(s); !wrong.empty()) return wrong;
      }
      return {};
    default:
      return {};
  }
}

std::string TranscriptAutomaton::delivered(const Event& event) {
  const auto found = open_.find(event.op);
  if (found == open_.end() || found->second != Kind::fetch)
    return op_text(event.op) + " is answered but no open fetch";
  open_.erase(found);
  ended_.insert(event.op);
  for (const Message& m : event.messages) {
    if (assigns_ && !held_.contains(m.place))
      return "a record of " + place_text(m.place) + ", which is not held";
  }
  return {};
}

std::string TranscriptAutomaton::settled(const Settlement& s) {
  if (ended_.contains(s.op)) return op_text(s.op) + " settles twice";
  const auto found = open_.find(s.op);
  if (found == open_.end()) return op_text(s.op) + " settles but was never asked for";
  if (found->second != s.of) return op_text(s.op) + " settles as another kind of effect";
  open_.erase(found);
  ended_.insert(s.op);
  return {};
}

std::string TranscriptAutomaton::handover(const Event& event) {
  if (awaits_accept_ || awaits_release_) return "a rebalance begins before the one before it was answered";
  const bool assigning = event.kind == EventKind::assigned;
  for (const PlacePosition& p : event.places) {
    if (held_.contains(p.place) == assigning) {
      return place_text(p.place) + (assigning ? " is assigned but held" : " is revoked but not held");
    }
  }
  (assigning ? awaits_accept_ : awaits_release_) = true;
  return {};
}

std::string TranscriptAutomaton::asked(const Effect& effect) {
  if (effect.op == 0) return {};
  if (open_.contains(effect.op) || ended_.contains(effect.op))
    return op_text(effect.op) + " is asked for twice";
  open_[effect.op] = effect.kind;
  if (effect.kind == Kind::accept) {
    if (!awaits_accept_) return "accept without assigned";
    awaits_accept_ = false;
    for (const PlacePosition& p : effect.places) held_.insert(p.place);
  } else if (effect.kind == Kind::release) {
    if (!awaits_release_) return "release without revoking";
    awaits_release_ = false;
    for (const PlacePosition& p : effect.places) held_.erase(p.place);
  }
  return {};
}

}  // namespace mqlab
