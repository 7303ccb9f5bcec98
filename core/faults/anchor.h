// Fault anchors: points of the history at which something is done to the system. One matcher for both worlds.
//
// Step names. Application steps, portable to a live run: every kind of row by its name, as the *start* of the
// effect
// ("publish", "commit", "ack", "commit_transaction", …), the same with ".ok", ".fail" or ".unknown" for its
// end
// ("publish.ok"), and the events "deliver", "handle", "complete", "fetch.ok", "assigned", "revoking",
// "start". Client requests, portable: "request.produce", "request.offset_commit", "request.end_txn" …
// Broker-internal ones ("append", "elect" …) are model-only.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/history/row.h"
#include "core/scenario/scenario.h"
#include "core/scenario/topology.h"

namespace mqlab {

/// Requests of client libraries, the `code` of request rows. Kafka's carry their API keys' meaning.
enum class RequestKind : std::uint16_t {
  none,
  produce,
  fetch,
  join_group,
  sync_group,
  heartbeat,
  leave_group,
  offset_commit,
  offset_fetch,
  find_coordinator,
  init_producer_id,
  add_partitions_to_txn,
  add_offsets_to_txn,
  end_txn,
  txn_offset_commit,
  publish,
  pull,
  ack,
  metadata,
  list_offsets,
  offset_for_leader_epoch,
  count_
};
std::string_view name_of(RequestKind kind);

/// What a row must be to match. Everything is a number: matching is a few comparisons.
struct Step {
  Kind kind = Kind::start;
  Phase phase = Phase::invoke;
  std::uint16_t request = 0;  ///< RequestKind, for request rows
  bool operator==(const Step&) const = default;
};
/// Empty when there is no such step.
std::optional<Step> parse_step(std::string_view name);
std::string name_of(const Step& step);
/// The step a row is; batch members (rows behind a header) have none of their own.
std::optional<Step> step_of(const Row& row);
bool portable(const Step& step);
/// Do rows of this step name one message, so that an anchor may ask for it? (A commit or an ack concerns
/// many.)
bool names_message(const Step& step);
/// Every step there is.
std::vector<std::string> step_names();

/// A fault bound to numbers, ready to be matched.
struct Fault {
  bool timed = false;
  Instant time = {};                ///< when timed
  std::vector<ProcessId> anchored;  ///< processes whose rows count
  Step step;
  MessageId message = 0;  ///< 0 = any
  std::uint32_t nth = 1;
  Action action = Action::kill;
  std::vector<ProcessId> targets;  ///< empty = the process whose row matched
  TopicId grown = no_topic;        ///< add_partitions: to this topic; told of the lab
  PlaceId leader_of = no_place;    ///< target is this partition's leader at that moment
  /// Partition with named sides; both empty: between the target and the brokers.
  std::vector<ProcessId> side_a, side_b;
  Duration heal = {};
};

/// Throws ScenarioError when a name is not known.
Fault bind(const FaultSpec& spec, const Scenario& scenario, const Topology& topology);
/// All faults the scenario spells out, in order. Who loads a scenario calls this and menu_steps, since the
/// reader itself does not know the steps. Both throw ScenarioError.
std::vector<Fault> bind_faults(const Scenario& scenario, const Topology& topology);
/// The steps of the menu; empty = all.
std::vector<Step> menu_steps(const Scenario& scenario);

/// An ordered list of faults, armed one after the other: k + 1 arms once k was carried out.
/// Trivially restorable: armed() and seen() are its whole state.
class Matcher {
 public:
  void arm(std::span<const Fault> faults) {
    faults_ = faults;
    armed_ = 0;
    seen_ = 0;
  }
  /// For a run that branches off half-way: another list that begins with the one there was. `seen`: how many
  /// rows that match its next fault were written before; of no effect where an earlier fault is still armed.
  void extend(std::span<const Fault> faults, std::uint32_t seen) {
    if (exhausted()) seen_ = seen;
    faults_ = faults;
  }
  /// The fault that this row sets off, or nullptr. Timed faults are the world's to fire, by fired().
  const Fault* match(const Row& row) {
    if (armed_ >= faults_.size()) return nullptr;
    const Fault& fault = faults_[armed_];
    if (fault.timed || !matches(fault, row) || ++seen_ < fault.nth) return nullptr;
    fired();
    return &fault;
  }
  /// The next fault if it waits for a time.
  const Fault* timed() const {
    return armed_ < faults_.size() && faults_[armed_].timed ? &faults_[armed_] : nullptr;
  }
  void fired() {
    ++armed_;
    seen_ = 0;
  }
  std::uint32_t armed() const { return armed_; }
  bool exhausted() const { return armed_ == faults_.size(); }

 private:
  static bool matches(const Fault& fault, const Row& row);

  std::span<const Fault> faults_;
  std::uint32_t armed_ = 0;
  std::uint32_t seen_ = 0;
};

}  // namespace mqlab
