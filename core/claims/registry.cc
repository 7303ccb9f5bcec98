#include <algorithm>
#include <array>

#include "core/claims/claim.h"
#include "core/claims/makers.h"
#include "core/scenario/error.h"
#include "core/scenario/text.h"

namespace mqlab {
namespace {

constexpr std::string_view delivery_parameters = "of, in, as, deliveries = false, stage";
constexpr std::string_view loss_parameters = "of, in, as, deliveries = false, stage, excused = []";

constexpr std::array claims = {
    ClaimInfo{"no_loss", "each acked id has at least one effect; a dead letter counts", true, loss_parameters,
              make_no_loss},
    ClaimInfo{"no_duplicates", "no id has more than one effect", true, delivery_parameters,
              make_no_duplicates},
    ClaimInfo{"no_phantom", "each effect's id was invoked, not failed or aborted, its digest equal", false,
              delivery_parameters, make_no_phantom},
    ClaimInfo{"exactly_once", "no loss, no duplicate, no phantom; an unknown sending has none or one effect",
              true, loss_parameters, make_exactly_once},
    ClaimInfo{"accounted", "every acked id ends in exactly one of: in, a dead letter", true,
              "of, in, excused = []", make_accounted},
    ClaimInfo{"effect_once", "a write to a store takes effect at most once per id", false, "of, in",
              make_effect_once},
    ClaimInfo{"answered", "each call has one reply or error, in time", true,
              "within, of, in, as, deliveries = false, stage", make_answered},
    ClaimInfo{"recovers", "the backlog that the last fault leaves is gone in time", true,
              "within, of, in, as, deliveries = false, stage", make_recovers},
    ClaimInfo{"rate.loss", "the share of acked ids without effect is at most so much", true,
              "at_most, of, in, as, deliveries = false, stage, excused = []", make_rate_loss},
    ClaimInfo{"rate.duplicates", "the share of acked ids with several effects is at most so much", true,
              "at_most, of, in, as, deliveries = false, stage", make_rate_duplicates},
    ClaimInfo{"order.partition",
              "per producer incarnation, first occurrences in a partition follow send order", false,
              "in, as, repeats = allowed | strict", make_order_partition},
    ClaimInfo{"order.key", "per key and producer, first effects follow send order, across consumers", false,
              delivery_parameters, make_order_key},
    ClaimInfo{"order.total", "the observers of a topic agree on one order of first occurrences", true, "in",
              make_order_total},
    ClaimInfo{"order.causal", "no observer reads a record without or before an acked one that it depends on",
              true, "in, as", make_order_causal},
    ClaimInfo{"log.offsets_consistent", "one position of a log never shows two ids, acks included", false,
              "in", make_log_offsets_consistent},
    ClaimInfo{"log.no_poll_skip", "within an assignment, reading jumps no record that is in the log", false,
              "in", make_log_no_poll_skip},
    ClaimInfo{"log.monotonic_poll", "within an assignment, the positions that are read rise", false, "in",
              make_log_monotonic_poll},
    ClaimInfo{"log.monotonic_send", "per producer and partition, positions follow the order of sending",
              false, "in", make_log_monotonic_send},
    ClaimInfo{"log.no_send_skip",
              "what one transaction sends to a partition stands there without others between", false, "in",
              make_log_no_send_skip, false},
    ClaimInfo{"log.no_duplicates", "no id stands at two positions of a log", false, "in",
              make_log_no_duplicates},
    ClaimInfo{"log.no_lost_write",
              "what was sent for certain is read by somebody, up to the furthest reading", true, "in",
              make_log_no_lost_write},
    ClaimInfo{"log.no_aborted_read", "nobody reads what was sent in aborted transactions only", false, "in",
              make_log_no_aborted_read},
    ClaimInfo{"log.no_precommitted_read", "no transaction reads what it sent itself", false, "in",
              make_log_no_precommitted_read},
    ClaimInfo{"log.no_write_cycle", "the order of transactions by their writes in all logs is acyclic", false,
              "in", make_log_no_write_cycle, false},
    ClaimInfo{"log.no_information_cycle", "the order of transactions by who read whose record is acyclic",
              false, "in, writes = true", make_log_no_information_cycle, false},
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
    ClaimInfo{"disk.bounded", "a topic or stream never takes more than so many bytes on disk", false,
              "at_most, in", make_disk_bounded},
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
  if (!spec.excused.empty() && found->parameters.find("excused") == std::string_view::npos)
    fail(".excused",
         "nothing can be excused here; no_loss, exactly_once, accounted and rate.loss know losses");
  return found->make(spec, scenario, topology);
}

}  // namespace mqlab
