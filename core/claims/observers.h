// For claims about all observers of one topic together.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

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

}  // namespace mqlab
