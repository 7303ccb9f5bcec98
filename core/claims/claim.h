// A claim is checked by a streaming, linear-time checker over the rows of a history, and says holds, violated
// with the rows that prove it, or undecided with the reason. Definitions: docs/claims.md.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/history/row.h"
#include "core/scenario/scenario.h"
#include "core/scenario/topology.h"

namespace mqlab {

enum class Verdict : std::uint8_t { holds, violated, undecided };
std::string_view name_of(Verdict verdict);

/// One violation of a log claim, in full. Its names are those under which Jepsen's Kafka workload reports
/// them.
struct Anomaly {
  /// An edge of a cycle: the second transaction wrote after the first in one log (ww), or read what it wrote
  /// (wr).
  struct Step {
    std::string_view type = {};
    PlaceId place = no_place;
    MessageId id = 0, next = 0;  ///< ww: the record that follows; wr: 0
    std::uint64_t from_row = 0, to_row = 0;
  };
  std::string_view name = {};
  PlaceId place = no_place;
  std::vector<MessageId> ids = {};           ///< those concerned
  std::vector<MessageId> skipped = {};       ///< those that stand between
  std::vector<std::int64_t> positions = {};  ///< where they stand
  std::int64_t delta = 0;  ///< between the indexes of two records: positions counted without gaps
  std::int64_t index = -1, bound = -1;   ///< index of the record; of the furthest one that was read
  std::vector<std::uint64_t> rows = {};  ///< what proves it
  std::vector<Step> steps = {};
};

struct Finding {
  Verdict verdict = Verdict::undecided;
  std::uint64_t observed = 0;    ///< what was looked at: effects, deliveries, samples
  std::uint64_t population = 0;  ///< out of how many acked ids (or the claim's own unit)
  std::uint64_t violations = 0;
  std::string explanation;             ///< one sentence: why
  std::vector<std::uint64_t> witness;  ///< indices of the rows that prove a violation, in history order
  bool vacuous = false;                ///< undecided only because there was too little to observe
  MessageId message = 0;               ///< the first id concerned; 0 = none
  std::vector<Anomaly> anomalies;      ///< log claims: the first thousand
  double value = 0;  ///< latency (seconds), throughput (per second) … where the claim has a number
};

/// Sees every row once, in history order.
class Checker {
 public:
  virtual ~Checker() = default;
  virtual void observe(std::span<const Row> rows) = 0;
  /// True once a prefix-closed claim is violated: nothing that follows can mend it.
  virtual bool decided() const { return false; }
  /// The verdict over all that was observed.
  virtual Finding finish() = 0;
  /// Ready for another history of the same scenario; keeps its memory.
  virtual void reset() = 0;
};

struct ClaimInfo {
  std::string_view id;          ///< "latency.*" stands for a family
  std::string_view definition;  ///< holds if and only if …
  bool end_judged;              ///< E of the definitions: judged after the end phase
  std::string_view parameters;  ///< names and defaults
  std::unique_ptr<Checker> (*make)(const ClaimSpec&, const Scenario&, const Topology&);
  bool gates = true;  ///< false: `mqlab check` reports it only, since no broker promises it
};

/// Every claim there is, in the order of docs/claims.md.
std::span<const ClaimInfo> all_claims();
/// Throws ScenarioError when the claim, a topic or an observer it names does not exist.
std::unique_ptr<Checker> make_checker(const ClaimSpec& spec, const Scenario& scenario,
                                      const Topology& topology);

}  // namespace mqlab
