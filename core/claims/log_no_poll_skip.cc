// log.no_poll_skip: within an assignment, a process that reads on jumps no record that is in the log.
// Anomalies "poll-skip", "int-poll-skip" (within one batch). Markers, aborted records, and what is gone from
// the log when it is audited, are nothing that could be jumped.
//
//   "log.no_poll_skip" = { in = "requests" }
#include "core/claims/log_checker.h"
#include "core/claims/log_walk.h"
#include "core/claims/makers.h"

namespace mqlab {
namespace {

void judge(LogJudgement& j) {
  walk_reads(j.facts, j.order, [&](const LogPair& pair) {
    if (pair.to <= pair.from) return;
    std::vector<MessageId> skipped = j.order.between(pair.place, pair.from, pair.to);
    if (skipped.empty()) return;
    j.report({.name = pair.within ? "int-poll-skip" : "poll-skip",
              .place = pair.place,
              .ids = {pair.first, pair.second},
              .skipped = std::move(skipped),
              .delta = pair.delta(j.order),
              .rows = {pair.first_row, pair.second_row}});
  });
}

}  // namespace

std::unique_ptr<Checker> make_log_no_poll_skip(const ClaimSpec& claim, const Scenario& scenario,
                                               const Topology& topology) {
  return make_log_checker(claim, scenario, topology, Parameters(claim, scenario, {}), {false, judge});
}

}  // namespace mqlab
