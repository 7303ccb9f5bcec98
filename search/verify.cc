#include "search/verify.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include "core/base/draw.h"
#include "core/scenario/error.h"
#include "core/scenario/text.h"
#include "search/share.h"
#include "search/shrink.h"

namespace mqlab::search {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto progress_interval = std::chrono::milliseconds(100);

std::vector<ClaimSpec> chosen(const Scenario& scenario, const std::vector<std::string>& ids) {
  if (ids.empty()) return scenario.claims;
  std::vector<ClaimSpec> claims;
  std::vector<std::string> names;
  for (const ClaimSpec& claim : scenario.claims) {
    names.push_back(claim.id);
    if (std::find(ids.begin(), ids.end(), claim.id) != ids.end()) claims.push_back(claim);
  }
  for (const std::string& id : ids) {
    if (std::find(names.begin(), names.end(), id) == names.end()) {
      throw ScenarioError(scenario.file, 0, "claims." + id,
                          "the scenario makes no such claim; " + suggestion(id, names));
    }
  }
  return claims;
}

ClaimReport merged(const ClaimSpec& claim, const std::vector<std::unique_ptr<Share>>& shares, std::size_t c) {
  ClaimReport report;
  report.claim = claim;
  std::string undecided_because;
  for (const auto& share : shares) {
    const Share::Tally& tally = share->tallies[c];
    report.observed += tally.observed;
    report.judged += tally.judged;
    report.violations += tally.violations;
    report.undecided += tally.undecided;
    report.vacuous += tally.vacuous;
    if (tally.value != 0) report.value = tally.value;
    if (undecided_because.empty()) undecided_because = tally.undecided_because;
    const bool lower =
        tally.lowest && (!report.first_failing_schedule || *tally.lowest < *report.first_failing_schedule);
    if (lower) report.first_failing_schedule = tally.lowest;
    if (lower || report.explanation.empty()) report.explanation = tally.explanation;
  }
  if (report.violations > 0) {
    report.verdict = Verdict::violated;
  } else if (report.undecided > 0 || report.judged == 0) {
    report.explanation = std::to_string(report.undecided) + " of " +
                         std::to_string(report.undecided + report.judged) +
                         " schedules are undecided: " + undecided_because;
  } else {
    report.verdict = Verdict::holds;
  }
  return report;
}

void wait_for(std::vector<std::future<void>>& jobs, Shared& shared, const OnProgress& progress) {
  for (auto& job : jobs) {
    while (job.wait_for(progress_interval) != std::future_status::ready) {
      if (progress && !progress({shared.done.load(), shared.broken.load()})) shared.stop = true;
    }
  }
  for (auto& job : jobs) job.get();
}

}  // namespace

std::uint64_t shape(const History& history) {
  std::uint64_t hash = 0;
  history.for_each(0, [&](std::span<const Row> rows) {
    for (const Row& row : rows) {
      const auto what = static_cast<std::uint64_t>(row.kind) << 8 | static_cast<std::uint64_t>(row.phase);
      hash = (hash ^ (what << 16 | row.process)) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 29;
    }
  });
  return hash;
}

Schedule schedule_number(std::uint64_t number, std::uint64_t seed, const Candidates& candidates,
                         const Scenario& scenario) {
  Schedule schedule;
  schedule.seed = seed;
  if (number == 0) return schedule;
  const std::uint64_t singles = candidates.count();
  if (number <= singles) {
    const auto choice = candidates.at(number - 1);
    schedule.faults = {to_spec(*choice.anchor, *choice.deed)};
    return schedule;
  }
  schedule.seed = draw(seed, Purpose::schedule, number);
  if (singles == 0) return schedule;
  const std::uint64_t faults = 1 + below(draw(seed, Purpose::schedule, number, 1), scenario.menu.at_most);
  std::vector<std::uint64_t> picks;
  for (std::uint64_t k = 0; k < faults; ++k)
    picks.push_back(below(draw(seed, Purpose::schedule, number, 2, k), singles));
  std::sort(picks.begin(), picks.end());  // fault k + 1 arms after fault k: in the order of the reference run
  for (const std::uint64_t pick : picks) {
    const auto choice = candidates.at(pick);
    schedule.faults.push_back(to_spec(*choice.anchor, *choice.deed));
  }
  return schedule;
}

Report verify(const sim::Setup& setup, const Options& options, const OnProgress& progress) {
  const std::vector<ClaimSpec> claims = chosen(setup.scenario, options.claims);
  const auto begin = Clock::now();
  Shared shared{options, begin};
  if (options.budget) shared.end = begin + std::chrono::nanoseconds(options.budget->ns);
  std::vector<std::unique_ptr<Share>> shares;
  for (unsigned job = 0; job < options.jobs; ++job)
    shares.push_back(std::make_unique<Share>(setup, claims, shared, job));
  std::vector<std::future<void>> jobs;
  for (auto& share : shares) jobs.push_back(std::async(std::launch::async, [&share] { share->run(); }));
  wait_for(jobs, shared, progress);

  Report report;
  report.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  report.interrupted = shared.stop.load() && !(options.budget && Clock::now() >= shared.end);
  const Candidates& candidates = shares.front()->candidates;
  report.systematic = candidates.count();
  report.anchors = candidates.anchors.size();
  std::unordered_set<std::uint64_t> shapes;
  for (const auto& share : shares) {
    report.schedules += share->schedules;
    report.reached += share->reached;
    report.anchors_reached += share->anchors_reached;
    shapes.insert(share->shapes.begin(), share->shapes.end());
  }
  report.anchors_reached = std::min(report.anchors_reached, report.anchors);
  report.shapes = shapes.size();
  Runner runner(setup, claims);
  for (std::size_t c = 0; c < claims.size(); ++c) {
    report.claims.push_back(merged(claims[c], shares, c));
    ClaimReport& claim = report.claims.back();
    if (!claim.first_failing_schedule) continue;
    claim.counterexample = shrink(
        runner, c, schedule_number(*claim.first_failing_schedule, options.seed, candidates, setup.scenario));
    claim.explanation = claim.counterexample->finding.explanation;
  }
  return report;
}

}  // namespace mqlab::search
