// log.no_write_cycle: where one transaction's record stands before another's in a log, none of its records
// stands after one of the other's in any log, directly or by way of others. Anomaly "G0" (Adya, "Weak
// Consistency", 1999). Reported only: Kafka never promised it; its transactions write where they will until
// they commit.
//
//   "log.no_write_cycle" = true
#include "core/claims/log_cycles.h"
#include "core/claims/makers.h"

namespace mqlab {

std::unique_ptr<Checker> make_log_no_write_cycle(const ClaimSpec& claim, const Scenario& scenario,
                                                 const Topology& topology) {
  return make_log_checker(claim, scenario, topology, Parameters(claim, scenario, {}),
                          {false, [](LogJudgement& j) { judge_cycles(j, false, true); }});
}

}  // namespace mqlab
