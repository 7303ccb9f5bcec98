// For claims about all observers of one topic together.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "core/claims/effects.h"
#include "core/claims/end_phase.h"
#include "core/claims/paged.h"
#include "core/claims/scope.h"
#include "core/scenario/text.h"

namespace mqlab {

/// A scope for each observer of topic `in` (or of the only topic that is observed), or for `as` alone.
/// Throws ScenarioError when there are fewer than `at_least`.
inline std::vector<Scope> resolve_observers(const ClaimSpec& claim, const Scenario& scenario,
                                            const Topology& topology, const Parameters& parameters,
                                            std::size_t at_least) {
  if (!claim.of.empty())
    parameters.fail("of", "has no meaning here; the claim is about observers (in = TOPIC)");
  std::vector<std::string> topics;
  for (const ObserverSpec& o : scenario.observers) {
    if (std::find(topics.begin(), topics.end(), o.topic) == topics.end()) topics.push_back(o.topic);
  }
  std::string in = claim.in;
  if (in.empty() && claim.as.empty() && topics.size() == 1) in = topics[0];
  if (in.empty() && claim.as.empty())
    parameters.fail("in", "in which topic? " + (topics.empty() ? std::string("there are no observers")
                                                               : "the observers read " + joined(topics)));
  std::vector<Scope> scopes;
  for (const ObserverSpec& o : scenario.observers) {
    if (claim.as.empty() ? o.topic != in : o.name != claim.as) continue;
    ClaimSpec one = claim;
    one.as = o.name;
    scopes.push_back(resolve_topic_scope(one, scenario, topology, parameters));
  }
  if (scopes.empty() && !claim.as.empty())
    resolve_topic_scope(claim, scenario, topology, parameters);  // throws
  if (scopes.size() < at_least) {
    parameters.fail("in", "takes " + std::string(at_least == 1 ? "an observer" : "two observers") + " of " +
                              quoted(in) + " at least; there is " + std::to_string(scopes.size()));
  }
  return scopes;
}

/// In which order each observer met ids for the first time.
class FirstReadings {
 public:
  struct Reading {
    MessageId id = 0;
    PlaceId place = no_place;
    std::int64_t position = -1;
    std::uint64_t row = 0;
  };
  struct Observer {
    explicit Observer(Scope s) : scope(std::move(s)) {}
    Scope scope;
    std::vector<Reading> order;
    Paged<std::uint64_t> met;  ///< by id: the row, plus one
  };

  explicit FirstReadings(std::vector<Scope> scopes) {
    observers_.reserve(scopes.size());  // the ends look at the scopes here
    for (Scope& scope : scopes) ends_.emplace_back(observers_.emplace_back(std::move(scope)).scope);
  }
  FirstReadings(const FirstReadings&) = delete;
  FirstReadings& operator=(const FirstReadings&) = delete;

  std::uint64_t kinds() const {
    std::uint64_t kinds = bit(Kind::deliver);
    for (const EndPhase& end : ends_) kinds |= end.kinds();
    return kinds;
  }
  void see(const Row& row, std::uint64_t index) {
    for (EndPhase& end : ends_) end.see(row, index);
    if (row.kind != Kind::deliver || row.message == 0) return;
    for (Observer& o : observers_) {
      if (row.process != o.scope.observer || !o.scope.is_in(row.place)) continue;
      std::uint64_t& met = o.met[row.message];
      if (met != 0) continue;
      met = index + 1;
      o.order.push_back({row.message, row.place, row.position, index});
    }
  }
  void reset() {
    for (EndPhase& end : ends_) end.reset();
    for (Observer& o : observers_) {
      o.met.reset();
      o.order.clear();
    }
  }

  const std::vector<Observer>& observers() const { return observers_; }
  /// Why what was read says nothing yet; empty when it does.
  std::string problem() const {
    for (std::size_t o = 0; o < observers_.size(); ++o) {
      if (!ends_[o].complete()) return ends_[o].problem(observers_[o].scope);
    }
    return "";
  }

 private:
  std::vector<Observer> observers_;
  std::vector<EndPhase> ends_;
};

}  // namespace mqlab
