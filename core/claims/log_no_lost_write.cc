// log.no_lost_write: what was sent for certain is read by somebody, as far as the log was read at all: a
// record that nobody saw, though readers went past it, will not come any more. Anomaly "lost-write". An audit
// is a reading. Source: jepsen.io/analyses/redpanda-21.10.1, "Lost/Stale Messages".
//
//   "log.no_lost_write" = { in = "requests" }
#include <algorithm>
#include <set>

#include "core/claims/log_checker.h"
#include "core/claims/makers.h"

namespace mqlab {
namespace {

constexpr std::uint64_t nobody = ~std::uint64_t{0};

struct Seen {
  PlaceId place;
  std::int64_t position;
  MessageId id;
  std::uint64_t row;
};

std::vector<Seen> readings(const LogFacts& facts) {
  std::vector<Seen> seen;
  for (const LogRead& r : facts.reads()) {
    if (r.id != 0 && facts.units()[r.unit].fate == LogUnit::Fate::committed)
      seen.push_back({r.place, r.position, r.id, r.row});
  }
  for (const LogAudit& a : facts.audits()) seen.push_back({a.place, a.position, a.id, a.row});
  return seen;
}

void judge(LogJudgement& j) {
  const std::vector<Seen> seen = readings(j.facts);
  std::vector<std::int64_t> furthest(j.facts.places(), -1);
  std::vector<std::pair<PlaceId, MessageId>> read;
  for (const Seen& s : seen) {
    furthest[s.place] = std::max(furthest[s.place], s.position);
    read.push_back({s.place, s.id});
  }
  std::sort(read.begin(), read.end());
  std::vector<std::uint64_t> furthest_row(j.facts.places(), nobody);
  for (const Seen& s : seen) {
    if (s.id == j.order.owner(s.place, furthest[s.place]))
      furthest_row[s.place] = std::min(furthest_row[s.place], s.row);
  }
  std::set<std::pair<PlaceId, MessageId>> reported;
  for (const LogSend& s : j.facts.sends()) {
    const bool certain = s.position >= 0 && s.phase != Phase::fail && j.order.committed(s.unit);
    if (!certain || s.position > furthest[s.place]) continue;
    const std::pair<PlaceId, MessageId> key = {s.place, s.id};
    if (std::binary_search(read.begin(), read.end(), key) || !reported.insert(key).second) continue;
    Anomaly a{
        .name = "lost-write", .place = s.place, .ids = {s.id}, .positions = {s.position}, .rows = {s.row}};
    a.index = j.order.index_of(s.place, s.position);
    a.bound = j.order.index_of(s.place, furthest[s.place]);
    if (furthest_row[s.place] != nobody) a.rows.push_back(furthest_row[s.place]);
    j.report(std::move(a));
  }
}

}  // namespace

std::unique_ptr<Checker> make_log_no_lost_write(const ClaimSpec& claim, const Scenario& scenario,
                                                const Topology& topology) {
  return make_log_checker(claim, scenario, topology, Parameters(claim, scenario, {}), {true, judge});
}

}  // namespace mqlab
