#include "core/claims/verdicts.h"

namespace mqlab {

std::vector<std::unique_ptr<Checker>> make_checkers(const Scenario& scenario, const Topology& topology) {
  std::vector<std::unique_ptr<Checker>> checkers;
  for (const ClaimSpec& claim : scenario.claims) checkers.push_back(make_checker(claim, scenario, topology));
  return checkers;
}

std::vector<Finding> judge(std::span<const std::unique_ptr<Checker>> checkers, const History& history,
                           bool complete) {
  MQLAB_CHECK(history.first() == 0);
  for (const auto& checker : checkers) checker->reset();
  history.for_each(0, [&](std::span<const Row> rows) {
    for (const auto& checker : checkers) checker->observe(rows);
  });
  std::vector<Finding> findings;
  findings.reserve(checkers.size());
  for (const auto& checker : checkers) {
    Finding& finding = findings.emplace_back(checker->finish());
    if (complete || finding.verdict != Verdict::holds) continue;
    finding.verdict = Verdict::undecided;
    finding.explanation = "the history is cut short";
  }
  return findings;
}

}  // namespace mqlab
