// What every port keeps to, in both worlds: an observer of the events that reach a module and of the effects
// it asks for. It says what is wrong with the first step that breaks a rule.
//
// Rules: an op settles at most once, and only after it was asked for · a fetch has one answer, and only a
// fetch that is open has one · where partitions are assigned: assigned and revoking come one at a time, each
// after the answer to the one before; only what is held is revoked; no record comes from a place that is not
// held.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

#include "core/seam/capabilities.h"
#include "core/seam/effect.h"
#include "core/seam/event.h"

namespace mqlab {

class TranscriptAutomaton {
 public:
  /// `assigns`: records may only come from places that were accepted (logs: groups and observers alike).
  explicit TranscriptAutomaton(bool assigns) : assigns_(assigns) {}

  /// One step of the module: what it was told, and what it asked for. Empty when all is well.
  std::string step(const Event& event, std::span<const Effect> effects);

 private:
  std::string told(const Event& event);
  std::string delivered(const Event& event);
  std::string settled(const Settlement& settlement);
  std::string handover(const Event& event);
  std::string asked(const Effect& effect);

  bool assigns_;
  std::map<OpId, Kind> open_;
  std::set<OpId> ended_;
  std::set<PlaceId> held_;
  bool awaits_accept_ = false;
  bool awaits_release_ = false;
};

}  // namespace mqlab
