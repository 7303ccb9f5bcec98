// log.monotonic_poll: within an assignment, the positions that a process reads rise.
// Anomalies "nonmonotonic-poll", "int-nonmonotonic-poll" (within one transaction or batch).
// Source: Kafka's documentation, "Guarantees": messages stand in the order they are sent, consumers see them
// so.
//
//   "log.monotonic_poll" = { in = "requests" }
#include "core/claims/log_checker.h"
#include "core/claims/log_walk.h"
#include "core/claims/makers.h"

namespace mqlab {
namespace {

void judge(LogJudgement& j) {
  walk_reads(j.facts, j.order, [&](const LogPair& pair) {
    if (pair.to > pair.from) return;
    j.report({.name = pair.within ? "int-nonmonotonic-poll" : "nonmonotonic-poll",
              .place = pair.place,
              .ids = {pair.first, pair.second},
              .delta = pair.delta(j.order),
              .rows = {pair.first_row, pair.second_row}});
  });
}

}  // namespace

std::unique_ptr<Checker> make_log_monotonic_poll(const ClaimSpec& claim, const Scenario& scenario,
                                                 const Topology& topology) {
  return make_log_checker(claim, scenario, topology, Parameters(claim, scenario, {}), {false, judge});
}

}  // namespace mqlab
