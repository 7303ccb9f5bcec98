// What a claim is about, as numbers: who sends, where effects are found, which places must have been audited.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/claims/claim.h"
#include "core/claims/parameters.h"

namespace mqlab {

/// Where a claim finds the effects of an id.
enum class Source : std::uint8_t {
  audit,      ///< records the auditor found in topic `in`
  observer,   ///< records that reached observer `as`
  store,      ///< rows the auditor found in the store `in`
  completed,  ///< completions at the stages that read `of`
  handled,    ///< handler starts there (deliveries)
};

struct Scope {
  Source source = Source::audit;
  std::string of, in, as;  ///< topics and observer; `in`: topic or store, empty for completed, handled
  TopicId in_topic = no_topic;
  std::vector<std::uint8_t> workload;     ///< by process: it belongs to any workload
  std::vector<std::uint8_t> sender;       ///< by process: it belongs to a workload that sends to `of`
  std::vector<std::uint8_t> writer;       ///< by process: it may publish into topic `in`
  std::vector<std::uint8_t> dead_writer;  ///< by process: it may publish dead letters of `of`
  std::vector<std::int16_t> lane;         ///< by process: which reader its effects belong to; −1 = none
  std::vector<std::string> lanes;         ///< names of the readers: stages, the observer, or `in`
  std::vector<std::uint8_t> of_place, in_place, dead_place;  ///< by place
  std::vector<std::uint8_t> concerned;                       ///< by place: must have been audited to its end
  std::vector<std::vector<PlaceId>> inputs;                  ///< reader scopes: by lane, what it reads
  std::vector<std::uint32_t> stage_number;  ///< reader scopes: by lane, into Scenario::stages
  std::vector<std::uint8_t> transactional;  ///< reader scopes: by lane
  std::vector<PlaceId> queue;          ///< reader scopes: by lane, the only stream it reads; no_place = none
  std::vector<std::string> places;     ///< names
  std::vector<std::string> processes;  ///< names
  ProcessId observer = no_process;
  std::uint64_t observed_at_least = 1;
  double unknown_at_most = 0.5;

  bool sends(ProcessId p) const { return p < sender.size() && sender[p] != 0; }
  int lane_of(ProcessId p) const { return p < lane.size() ? lane[p] : -1; }
  bool is_of(PlaceId p) const { return p < of_place.size() && of_place[p] != 0; }
  bool is_in(PlaceId p) const { return p < in_place.size() && in_place[p] != 0; }
  bool is_dead(PlaceId p) const { return p < dead_place.size() && dead_place[p] != 0; }
  /// "vectors/0@4"
  std::string at(PlaceId place, std::int64_t position) const;
  std::string name_of_process(ProcessId p) const;
};

/// Resolves of, in, as, deliveries and stage. `observed_at_least` is the claim's own floor unless the user
/// gave one. Throws ScenarioError.
Scope resolve_scope(const ClaimSpec& claim, const Scenario& scenario, const Topology& topology,
                    const Parameters& parameters, std::uint64_t observed_at_least = 1);

/// For claims about the records of one topic: `in`, else `of`, else the only topic of the workloads. `sender`
/// is who may publish to it, workloads and stages alike.
Scope resolve_topic_scope(const ClaimSpec& claim, const Scenario& scenario, const Topology& topology,
                          const Parameters& parameters);

/// For claims about how stages read: those that read `of`, any topic or stream (default: whatever is read),
/// or `stage` alone. `lane` is a process's stage, `of_place` what they read.
Scope resolve_reader_scope(const ClaimSpec& claim, const Scenario& scenario, const Topology& topology,
                           const Parameters& parameters);

/// For claims about logs: topic `in` or all there are; in_place says which places are concerned. Streams are
/// none: they give their entries out again, in any order.
Scope resolve_log_scope(const ClaimSpec& claim, const Scenario& scenario, const Topology& topology,
                        const Parameters& parameters);

/// For txn.atomic: the stages that write in transactions (or `stage` alone). `lane` is a process's stage, an
/// index into lanes; `of_place` are their inputs, `in_place` their outputs.
Scope resolve_transaction_scope(const ClaimSpec& claim, const Scenario& scenario, const Topology& topology,
                                const Parameters& parameters);

}  // namespace mqlab
