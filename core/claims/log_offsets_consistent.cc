// log.offsets_consistent: one position of a log never shows two ids, be it to readers or in acks.
// Anomaly "inconsistent-offsets". Source: jepsen.io/analyses/redpanda-21.10.1, "Inconsistent Offsets".
//
//   "log.offsets_consistent" = { in = "requests" }
#include "core/claims/log_checker.h"
#include "core/claims/makers.h"

namespace mqlab {
namespace {

void judge(LogJudgement& j) {
  const LogOrder everything(j.facts, true);
  const auto records = everything.records();
  for (std::size_t i = 0; i < records.size();) {
    std::size_t end = i + 1;
    while (end < records.size() && records[end].place == records[i].place &&
           records[end].position == records[i].position)
      ++end;
    if (end - i > 1) {
      Anomaly a{
          .name = "inconsistent-offsets", .place = records[i].place, .positions = {records[i].position}};
      a.index = everything.index_of(records[i].place, records[i].position);
      for (; i < end; ++i) {
        a.ids.push_back(records[i].id);
        if (j.keeps()) a.rows.push_back(row_of(j.facts, records[i]));
      }
      j.report(std::move(a));
    }
    i = end;
  }
}

}  // namespace

std::unique_ptr<Checker> make_log_offsets_consistent(const ClaimSpec& claim, const Scenario& scenario,
                                                     const Topology& topology) {
  return make_log_checker(claim, scenario, topology, Parameters(claim, scenario, {}), {false, judge});
}

}  // namespace mqlab
