// log.no_aborted_read: nobody reads a record whose every sending to there failed or was part of an aborted
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

struct Sending {
  const LogSend* send;
  bool gone;
  std::uint64_t row;  // that says so
};

void judge(LogJudgement& j) {
  std::map<MessageId, std::vector<Sending>> sent;
  for (const LogSend& s : j.facts.sends()) {
    const LogUnit& unit = j.facts.units()[s.unit];
    const bool aborted = unit.fate == LogUnit::Fate::aborted;
    sent[s.id].push_back({&s, s.phase == Phase::fail || aborted, aborted ? unit.row : s.row});
  }
  std::set<MessageId> reported;
  for (const LogRead& r : j.facts.reads()) {
    const auto sendings = sent.find(r.id);
    if (sendings == sent.end() || j.facts.units()[r.unit].fate != LogUnit::Fate::committed) continue;
    Anomaly a{.name = "G1a", .place = r.place, .ids = {r.id}};
    bool alive = false;
    for (const Sending& s : sendings->second) {  // those elsewhere, say of the request it answers, are others
      if (!s.send->may_be_in(r.place)) continue;
      alive = alive || !s.gone;
      a.rows.push_back(s.row);
    }
    if (alive || a.rows.empty() || !reported.insert(r.id).second) continue;
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
