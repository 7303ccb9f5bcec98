// Scenarios that differ from one in a single thing: simpler ones for shrinking, and ones with another value
// of a setting for finding what causes a violation.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/scenario/scenario.h"

namespace mqlab::search {

struct Variant {
  std::string path;     ///< "stages.worker.commit", as in --set
  std::string was;      ///< as written; empty for what is no setting
  std::string instead;  ///< "default", or another value
  int line = 0;         ///< where it is written
  /// Of the scenario it was made for, or of one made from it; of no effect where the thing is not there.
  std::function<void(Scenario&)> change;
};

/// Fewer instances, producers, partitions, nodes, keys: the largest step first.
std::vector<Variant> simpler(const Scenario& scenario);
/// Each setting that the file writes, taken away: its default counts.
std::vector<Variant> without_settings(const Scenario& scenario);
/// Each setting that the file writes with its default, and with its neighbours: the other truth value, the
/// other words, half and twice a number.
std::vector<Variant> other_settings(const Scenario& scenario);

/// The scenario with the change, read anew as from a file so that all checks are made; empty when it is
/// refused, or when by the change somebody's heartbeats come less often than its session lasts.
std::optional<Scenario> changed(const Scenario& scenario, const Variant& variant);

}  // namespace mqlab::search
