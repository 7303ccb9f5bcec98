// log.no_duplicates: no id stands at two positions of a log. Anomaly "duplicate".
// Source: what Kafka's idempotent producer promises, KIP-98.
//
//   "log.no_duplicates" = { in = "requests" }
#include <algorithm>

#include "core/claims/log_checker.h"
#include "core/claims/makers.h"

namespace mqlab {
namespace {

void judge(LogJudgement& j) {
  std::vector<LogOrder::Record> records(j.order.records().begin(), j.order.records().end());
  const auto key = [](const LogOrder::Record& r) { return std::tuple(r.place, r.id, r.position); };
  std::sort(records.begin(), records.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  for (std::size_t i = 0; i < records.size();) {
    std::size_t end = i + 1;
    while (end < records.size() && records[end].place == records[i].place && records[end].id == records[i].id)
      ++end;
    if (end - i > 1) {
      Anomaly a{.name = "duplicate", .place = records[i].place, .ids = {records[i].id}};
      for (; i < end; ++i) {
        a.positions.push_back(records[i].position);
        if (j.keeps()) a.rows.push_back(row_of(j.facts, records[i]));
      }
      j.report(std::move(a));
    }
    i = end;
  }
}

}  // namespace

std::unique_ptr<Checker> make_log_no_duplicates(const ClaimSpec& claim, const Scenario& scenario,
                                                const Topology& topology) {
  return make_log_checker(claim, scenario, topology, Parameters(claim, scenario, {}), {false, judge});
}

}  // namespace mqlab
