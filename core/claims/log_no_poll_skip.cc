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
  walk_reads(j.facts, j.order,
             [&](const LogPair& pair) { report_skip(j, pair, pair.within ? "int-poll-skip" : "poll-skip"); });
}

}  // namespace

std::unique_ptr<Checker> make_log_no_poll_skip(const ClaimSpec& claim, const Scenario& scenario,
                                               const Topology& topology) {
  return make_log_checker(claim, scenario, topology, Parameters(claim, scenario, {}), {false, judge});
}

}  // namespace mqlab
