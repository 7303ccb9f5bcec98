// log.no_precommitted_read: no transaction reads what it sent itself: until it commits, nobody may see that.
// Anomaly "precommitted-read". Only histories whose readings belong to transactions can show it.
//
//   "log.no_precommitted_read" = true
#include <algorithm>

#include "core/claims/log_checker.h"
#include "core/claims/makers.h"

namespace mqlab {
namespace {

void judge(LogJudgement& j) {
  std::vector<std::pair<std::uint32_t, MessageId>> sent;
  for (const LogSend& s : j.facts.sends()) sent.push_back({s.unit, s.id});
  std::sort(sent.begin(), sent.end());
  for (const LogRead& r : j.facts.reads()) {
    if (r.id == 0 || j.facts.units()[r.unit].fate != LogUnit::Fate::committed) continue;
    if (std::binary_search(sent.begin(), sent.end(), std::pair{r.unit, r.id}))
      j.report({.name = "precommitted-read", .place = r.place, .ids = {r.id}, .rows = {r.row}});
  }
}

}  // namespace

std::unique_ptr<Checker> make_log_no_precommitted_read(const ClaimSpec& claim, const Scenario& scenario,
                                                       const Topology& topology) {
  return make_log_checker(claim, scenario, topology, Parameters(claim, scenario, {}), {false, judge});
}

}  // namespace mqlab
