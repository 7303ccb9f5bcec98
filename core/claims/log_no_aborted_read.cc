// log.no_aborted_read: nobody reads a record whose every sending failed or was part of an aborted
// transaction. Anomaly "G1a" (Adya, "Weak Consistency", 1999). Readers at read_uncommitted do see such
// records: that is the point.
//
//   "log.no_aborted_read" = { in = "results" }
#include <algorithm>
#include <map>
#include <set>

#include "core/claims/log_checker.h"
#include "core/claims/makers.h"

namespace mqlab {
namespace {

void judge(LogJudgement& j) {
  std::map<MessageId, std::vector<std::uint64_t>> gone;  // the rows that say so
  std::set<MessageId> alive;
  for (const LogSend& s : j.facts.sends()) {
    const LogUnit& unit = j.facts.units()[s.unit];
    if (s.phase == Phase::fail || unit.fate == LogUnit::Fate::aborted) {
      gone[s.id].push_back(unit.fate == LogUnit::Fate::aborted ? unit.row : s.row);
    } else {
      alive.insert(s.id);
    }
  }
  std::set<MessageId> reported;
  for (const LogRead& r : j.facts.reads()) {
    const auto writer = gone.find(r.id);
    if (writer == gone.end() || alive.count(r.id) != 0) continue;
    if (j.facts.units()[r.unit].fate != LogUnit::Fate::committed || !reported.insert(r.id).second) continue;
    Anomaly a{.name = "G1a", .place = r.place, .ids = {r.id}, .rows = writer->second};
    a.rows.push_back(r.row);
    j.report(std::move(a));
  }
}

}  // namespace

std::unique_ptr<Checker> make_log_no_aborted_read(const ClaimSpec& claim, const Scenario& scenario,
                                                  const Topology& topology) {
  return make_log_checker(claim, scenario, topology, Parameters(claim, scenario, {}), {false, judge});
}

}  // namespace mqlab
