// The faults worth trying: every anchor that a run without faults shows, with everything the scenario's menu
// allows.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/faults/anchor.h"
#include "search/runner.h"

namespace mqlab::search {

/// One anchor of the reference run, named so that it means the same in another run: the nth such step of a
/// group, or of a group on one message.
struct AnchorPoint {
  std::uint64_t step = 0;         ///< World::steps() before the event in which the row was written
  std::uint32_t seen_before = 0;  ///< matching rows before that event
  std::string group;              ///< stage or workload
  Step what;
  MessageId message = 0;
  std::uint32_t nth = 1;
};

/// A thing to do at an anchor.
struct Deed {
  Action action = Action::kill;
  std::string target;  ///< empty = the anchored process
  Duration heal = {};
};

struct Candidates {
  std::vector<AnchorPoint> anchors;  ///< in the order of the reference run
  std::vector<Deed> deeds;           ///< for application steps
  std::vector<Deed> request_deeds;   ///< further ones, for client requests only (delay, drop_response)

  std::uint64_t count() const;
  /// The i-th candidate, anchor by anchor.
  struct Choice {
    const AnchorPoint* anchor;
    const Deed* deed;
  };
  Choice at(std::uint64_t i) const;
  std::uint64_t per_anchor(const AnchorPoint& anchor) const;

  std::vector<std::uint64_t> first;  ///< by anchor: number of its first candidate
};

/// Runs the schedule (which must have no faults of its own) and collects.
Candidates collect(Runner& runner, const Schedule& reference);
FaultSpec to_spec(const AnchorPoint& anchor, const Deed& deed);

}  // namespace mqlab::search
