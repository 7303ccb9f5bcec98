#include <algorithm>
#include <array>

#include "core/claims/claim.h"
#include "core/claims/makers.h"
#include "core/scenario/error.h"
#include "core/scenario/text.h"

namespace mqlab {
namespace {

constexpr std::string_view delivery_parameters = "of, in, as, deliveries = false, stage";

constexpr std::array claims = {
    ClaimInfo{"no_loss", "each acked id has at least one effect; a dead letter counts", true,
              delivery_parameters, make_no_loss},
    ClaimInfo{"no_duplicates", "no id has more than one effect", true, delivery_parameters,
              make_no_duplicates},
    ClaimInfo{"no_phantom", "each effect's id was invoked, not failed or aborted, its digest equal", false,
              delivery_parameters, make_no_phantom},
    ClaimInfo{"exactly_once", "no loss, no duplicate, no phantom; an unknown sending has none or one effect",
              true, delivery_parameters, make_exactly_once},
    ClaimInfo{"order.partition",
              "per producer incarnation, first occurrences in a partition follow send order", false,
              "in, as, repeats = allowed | strict", make_order_partition},
    ClaimInfo{"order.key", "per key and producer, first effects follow send order, across consumers", false,
              delivery_parameters, make_order_key},
    ClaimInfo{"commit.covers_processed", "no committed position passes a record that was not processed",
              false, "of, stage", make_commit_covers_processed},
    ClaimInfo{
        "progress.consumer",
        "while there is something to read and no fault, each partition or pending entry advances in time",
        false, "within, of, stage", make_progress_consumer},
    ClaimInfo{"txn.atomic", "committed: all writes and offsets; aborted: none; unknown: all or none", true,
              "stage", make_txn_atomic},
    ClaimInfo{"txn.read_committed", "no observer reads a record aborted, or before its commit was invoked",
              false, "as", make_txn_read_committed},
    ClaimInfo{"latency.*",
              "the quantile from the intended send to the first effect, unanswered = ∞, is at most so much",
              true, "at_most, of, in, as, deliveries = false, stage; * = p50, p90, p95, p99, p999, max",
              make_latency},
    ClaimInfo{"throughput", "effects per second in the steady window are at least so many", true,
              "at_least, trim = 0.1, of, in, as, deliveries = false, stage", make_throughput},
    ClaimInfo{"backlog.bounded", "acked ids without effect are never more than so many, and 0 at the end",
              false, "at_most, of, in, as, deliveries = false, stage", make_backlog_bounded},
};

/// "latency.*" names a family.
bool names(const ClaimInfo& claim, std::string_view id) {
  if (!claim.id.ends_with('*')) return claim.id == id;
  return id.starts_with(claim.id.substr(0, claim.id.size() - 1));
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::violated:
      return "violated";
    case Verdict::undecided:
      return "undecided";
  }
  return "";
}

std::span<const ClaimInfo> all_claims() { return claims; }

std::unique_ptr<Checker> make_checker(const ClaimSpec& spec, const Scenario& scenario,
                                      const Topology& topology) {
  const auto fail = [&](std::string_view key, const std::string& problem) {
    throw ScenarioError(scenario.file, spec.line, "claims." + spec.id + std::string(key), problem);
  };
  const auto found =
      std::find_if(claims.begin(), claims.end(), [&](const ClaimInfo& c) { return names(c, spec.id); });
  if (found == claims.end()) {
    std::vector<std::string> valid;
    valid.reserve(claims.size());
    for (const ClaimInfo& claim : claims) valid.emplace_back(claim.id);
    fail("", "there is no such claim; " + suggestion(spec.id, valid));
  }
  if (!spec.excused.empty()) {
    fail(".excused", "nothing can be excused here: what retention or max-deliver removes counts as lost");
  }
  return found->make(spec, scenario, topology);
}

}  // namespace mqlab
