// log.no_send_skip: what one transaction sends to a partition stands there without others between. Reported
// only: no broker promises it. Anomaly "int-send-skip".
//
//   "log.no_send_skip" = { in = "requests" }
#include "core/claims/log_checker.h"
#include "core/claims/log_walk.h"
#include "core/claims/makers.h"

namespace mqlab {
namespace {

void judge(LogJudgement& j) {
  walk_sends(j.facts, j.order, [&](const LogPair& pair) {
    if (pair.within) report_skip(j, pair, "int-send-skip");
  });
}

}  // namespace

std::unique_ptr<Checker> make_log_no_send_skip(const ClaimSpec& claim, const Scenario& scenario,
                                               const Topology& topology) {
  return make_log_checker(claim, scenario, topology, Parameters(claim, scenario, {}), {false, judge});
}

}  // namespace mqlab
