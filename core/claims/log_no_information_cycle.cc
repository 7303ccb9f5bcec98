// log.no_information_cycle: no transaction reads, directly or by way of others, what depends on its own
// records. Anomaly "G1c" (Adya, "Weak Consistency", 1999). Write order counts, too, unless writes = false.
// Only histories whose readings belong to transactions can show it. Reported only: Kafka never promised it.
//
//   "log.no_information_cycle" = { writes = false }
#include "core/claims/log_cycles.h"
#include "core/claims/makers.h"

namespace mqlab {

std::unique_ptr<Checker> make_log_no_information_cycle(const ClaimSpec& claim, const Scenario& scenario,
                                                       const Topology& topology) {
  const Parameters parameters(claim, scenario, {"writes"});
  const bool writes = parameters.word("writes", {"true", "false"}) == "true";
  return make_log_checker(claim, scenario, topology, parameters,
                          {false, [writes](LogJudgement& j) { judge_cycles(j, true, writes); }});
}

}  // namespace mqlab
