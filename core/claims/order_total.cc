// order.total: the observers of a topic agree on one order: put together, the orders in which each of them
// met ids for the first time contradict nowhere. What only some of them read is free to stand anywhere.
//
// Source: total order broadcast, Défago, Schiper and Urbán, "Total Order Broadcast and Multicast Algorithms",
// 2004.
//
//   "order.total" = { in = "events" }
#include <algorithm>

#include "core/claims/makers.h"
#include "core/claims/observers.h"
#include "core/claims/row_checker.h"
#include "core/claims/wording.h"

namespace mqlab {
namespace {

class OrderTotal final : public RowChecker<OrderTotal> {
 public:
  /// One scope an observer.
  explicit OrderTotal(std::vector<Scope> scopes) : readings_(std::move(scopes)) {
    kinds_ = readings_.kinds();
  }

  void see(const Row& row, std::uint64_t index) { readings_.see(row, index); }
  Finding finish() override;
  void reset() override {
    index_ = 0;
    readings_.reset();
  }

 private:
  using Reading = FirstReadings::Reading;
  using Observer = FirstReadings::Observer;
  struct Step {  // an observer met one id right before another
    std::size_t observer;
    Reading first, second;
  };

  std::vector<std::pair<MessageId, std::uint32_t>> left_over() const;
  std::vector<Step> contradiction(const std::vector<std::pair<MessageId, std::uint32_t>>& left) const;
  const std::vector<Observer>& observers() const { return readings_.observers(); }

  FirstReadings readings_;
};

/// Takes off, again and again, an id that no other comes before; what is left stands in cycles or behind
/// them.
std::vector<std::pair<MessageId, std::uint32_t>> OrderTotal::left_over() const {
  Paged<std::uint32_t> before;  // by id: observers in whose orders an id still comes before it
  std::vector<std::size_t> next(observers().size());  // of each order
  std::vector<MessageId> ids, free;
  Paged<std::uint8_t> known;
  for (const Observer& o : observers()) {
    for (std::size_t i = 0; i < o.order.size(); ++i) {
      const MessageId id = o.order[i].id;
      if (i > 0) ++before[id];
      if (known[id] == 0) ids.push_back(id);
      known[id] = 1;
    }
  }
  for (const MessageId id : ids) {
    if (before.get(id) == 0) free.push_back(id);
  }
  for (std::size_t i = 0; i < free.size(); ++i) {
    for (std::size_t o = 0; o < observers().size(); ++o) {
      const std::vector<Reading>& order = observers()[o].order;
      if (next[o] >= order.size() || order[next[o]].id != free[i]) continue;
      if (++next[o] < order.size() && --before[order[next[o]].id] == 0) free.push_back(order[next[o]].id);
    }
  }
  std::vector<std::pair<MessageId, std::uint32_t>> left;
  for (const MessageId id : ids) {
    if (before.get(id) > 0) left.push_back({id, before.get(id)});
  }
  return left;
}

/// Goes back from an id that is left to one that some observer met right before it and that is left as well,
/// until one comes again.
std::vector<OrderTotal::Step> OrderTotal::contradiction(
    const std::vector<std::pair<MessageId, std::uint32_t>>& left) const {
  Paged<std::uint32_t> waits;
  for (const auto& [id, before] : left) waits[id] = before;
  Paged<Step> back;
  for (std::size_t o = 0; o < observers().size(); ++o) {
    const std::vector<Reading>& order = observers()[o].order;
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (waits.get(order[i].id) > 0 && waits.get(order[i - 1].id) > 0 &&
          back.get(order[i].id).second.id == 0)
        back[order[i].id] = {o, order[i - 1], order[i]};
    }
  }
  Paged<std::uint32_t> visited;
  std::vector<Step> path;
  MessageId id = left.front().first;
  while (visited.get(id) == 0) {
    visited[id] = static_cast<std::uint32_t>(path.size()) + 1;
    path.push_back(back.get(id));
    id = path.back().first.id;
  }
  path.erase(path.begin(), path.begin() + (visited.get(id) - 1));
  std::reverse(path.begin(), path.end());
  std::vector<Step> told;  // what one observer met in a row is one step
  for (const Step& step : path) {
    const bool goes_on = !told.empty() && told.back().observer == step.observer;
    if (!goes_on) told.push_back(step);
    told.back().second = step.second;
  }
  if (told.size() > 2 && told.front().observer == told.back().observer) {
    told.front().first = told.back().first;
    told.pop_back();
  }
  return told;
}

Finding OrderTotal::finish() {
  Finding finding;
  for (const Observer& o : observers()) finding.observed += o.order.size();
  Paged<std::uint32_t> shared;
  for (const Observer& o : observers()) {
    for (const Reading& meeting : o.order) finding.population += ++shared[meeting.id] == 2;
  }
  finding.explanation = readings_.problem();
  if (!finding.explanation.empty()) return finding;
  const auto left = left_over();
  if (!left.empty()) {
    finding.verdict = Verdict::violated;
    finding.violations = 1;
    for (const Step& step : contradiction(left)) {
      finding.explanation += (finding.explanation.empty() ? "" : "; ") + observers()[step.observer].scope.as +
                             " read id " + std::to_string(step.first.id) + " before id " +
                             std::to_string(step.second.id);
      finding.witness.insert(finding.witness.end(), {step.first.row, step.second.row});
      finding.message = step.first.id;
    }
    std::sort(finding.witness.begin(), finding.witness.end());
    finding.witness.erase(std::unique(finding.witness.begin(), finding.witness.end()), finding.witness.end());
  } else if (finding.population < observers().front().scope.observed_at_least) {
    finding.explanation = too_few(finding, finding.population, observers().front().scope.observed_at_least,
                                  "id that several observers read");
  } else {
    finding.verdict = Verdict::holds;
    finding.explanation = counted(observers().size(), "observer") + " read " +
                          counted(finding.population, "common id") + " in one order";
  }
  return finding;
}

}  // namespace

std::unique_ptr<Checker> make_order_total(const ClaimSpec& claim, const Scenario& scenario,
                                          const Topology& topology) {
  const Parameters parameters(claim, scenario, {});
  if (!claim.as.empty())
    parameters.fail("as", "has no meaning here; the claim is about all observers of in = TOPIC");
  return std::make_unique<OrderTotal>(resolve_observers(claim, scenario, topology, parameters, 2));
}

}  // namespace mqlab
