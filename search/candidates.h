// The faults worth trying: every anchor that a run shows, with everything the scenario's menu allows.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/faults/anchor.h"
#include "search/runner.h"

namespace mqlab::search {

/// One anchor of a run, named so that it means the same in another run: the nth such step of a group, or of a
/// group on one message, since the run's last fault.
struct AnchorPoint {
  std::uint64_t step = 0;         ///< World::steps() before the event in which the row was written
  std::uint64_t name = 0;         ///< equal for equal group, step and message
  std::uint32_t group = 0;        ///< into Candidates::groups
  std::uint32_t seen_before = 0;  ///< matching rows before that event, since the last fault
  Step what;
  MessageId message = 0;
  std::uint32_t nth = 1;
};

/// A thing to do at an anchor.
struct Deed {
  Action action = Action::kill;
  std::string target;  ///< empty = the anchored process
  Duration heal = {};
  std::vector<ProcessId> targets;  ///< the same as numbers
  TopicId grown = no_topic;
};

/// A stage or workload at whose steps faults may happen.
struct Group {
  std::string name;
  std::vector<ProcessId> processes;
};

struct Candidates {
  std::vector<Group> groups;
  std::vector<AnchorPoint> anchors;  ///< in the order of the run, from the last of its faults on
  std::vector<Deed> deeds;           ///< for application steps
  std::vector<Deed> request_deeds;   ///< further ones, for client requests only (delay, drop_response, reset)
  bool faults_reached = true;        ///< the run's own faults were all carried out

  std::uint64_t count() const;
  /// The i-th candidate, anchor by anchor.
  struct Choice {
    const AnchorPoint* anchor;
    const Deed* deed;
  };
  Choice at(std::uint64_t i) const;
  std::uint64_t per_anchor(const AnchorPoint& anchor) const;

  FaultSpec to_spec(const Choice& choice) const;
  Fault to_fault(const Choice& choice) const;
  /// Candidate `i` as it is to be named when it follows candidate `before` in one schedule: faults count from
  /// the one before them. before ≤ i.
  AnchorPoint following(std::uint64_t before, std::uint64_t i) const;

  std::vector<std::uint64_t> first;  ///< by anchor: number of its first candidate
};

/// Runs the schedule and collects, from the event on in which its last fault was carried out. Leaves the
/// runner at the end of that run, not yet judged: Runner::finish().
Candidates collect(Runner& runner, const Schedule& schedule);

}  // namespace mqlab::search
