// Runs checkers over a history.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/claims/claim.h"
#include "core/history/history.h"

namespace mqlab {

/// Every claim of the scenario, in its order. Throws ScenarioError.
std::vector<std::unique_ptr<Checker>> make_checkers(const Scenario& scenario, const Topology& topology);

/// Resets the checkers, shows them all rows of `history`, and returns their findings in the same order.
/// The history must not have recycled rows: in window mode feed the checkers as chunks fill.
/// `complete` = false: rows are known to be missing (a file cut short); then nothing holds.
std::vector<Finding> judge(std::span<const std::unique_ptr<Checker>> checkers, const History& history,
                           bool complete = true);

}  // namespace mqlab
