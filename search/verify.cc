#include "search/verify.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <future>

#include "core/base/draw.h"
#include "core/scenario/error.h"
#include "core/scenario/text.h"
#include "search/cause.h"
#include "search/job.h"
#include "search/shrink.h"

namespace mqlab::search {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto progress_interval = std::chrono::milliseconds(100);
constexpr std::size_t corpus_at_most = 8192;

using Jobs = std::vector<std::unique_ptr<Job>>;

ClaimReport merged(const ClaimSpec& claim, const Jobs& jobs, std::size_t c) {
  ClaimReport report;
  report.claim = claim;
  std::string undecided_because;
  std::uint64_t lowest = none_yet, undecided_at = none_yet;
  for (const auto& job : jobs) {
    const Job::Tally& tally = job->tallies[c];
    report.observed += tally.observed;
    report.judged += tally.judged;
    report.violations += tally.violations;
    report.undecided += tally.undecided;
    report.vacuous += tally.vacuous;
    if (tally.value != 0) report.value = tally.value;
    if (tally.undecided_at < undecided_at) {
      undecided_at = tally.undecided_at;
      undecided_because = tally.undecided_because;
    }
    if (tally.lowest < lowest || report.explanation.empty()) report.explanation = tally.explanation;
    lowest = std::min(lowest, tally.lowest);
  }
  if (report.violations > 0) {
    report.verdict = Verdict::violated;
    report.first_failing_schedule = lowest;
  } else if (report.undecided > 0 || report.judged == 0) {
    report.explanation = std::to_string(report.undecided) + " of " +
                         std::to_string(report.undecided + report.judged) +
                         " schedules are undecided: " + undecided_because;
  } else {
    report.verdict = Verdict::holds;
  }
  return report;
}

/// The search as one who leads the jobs sees it.
class Search {
 public:
  Search(const sim::Setup& setup, const std::vector<ClaimSpec>& claims, const Options& options,
         OnProgress progress)
      : setup_(setup),
        options_(options),
        progress_(std::move(progress)),
        shared_(options),
        begin_(Clock::now()) {
    if (options.budget) shared_.end = begin_ + std::chrono::nanoseconds(options.budget->ns);
    for (std::size_t c = 0; c < claims.size(); ++c)
      shared_.lowest.push_back(std::make_unique<std::atomic<std::uint64_t>>(none_yet));
    for (unsigned j = 0; j < options.jobs; ++j)
      jobs_.push_back(std::make_unique<Job>(setup, claims, shared_));
  }

  void run() {
    jobs_.front()->reference();
    merge();
    const Rounds rounds(shared_.candidates.count(), setup_.scenario.menu.at_most, options_.mix);
    shared_.rounds = &rounds;
    for (std::uint64_t k = 0; shared_.wants(rounds.unit(k).first);) {
      const std::uint64_t end = rounds.generation_end(k);
      shared_.next = k;
      std::vector<std::future<void>> running;
      for (auto& job : jobs_)
        running.push_back(std::async(std::launch::async, [&job, end] { job->work(end); }));
      wait_for(running);
      merge();
      k = end;
    }
    seconds_ = std::chrono::duration<double>(Clock::now() - begin_).count();
  }

  void report(Report& into) const;
  const Jobs& jobs() const { return jobs_; }
  /// The schedule that broke the claim first.
  const Schedule& failing(std::size_t claim) const {
    const auto least = [&](const auto& a, const auto& b) {
      return a->tallies[claim].lowest < b->tallies[claim].lowest;
    };
    return (*std::min_element(jobs_.begin(), jobs_.end(), least))->tallies[claim].schedule;
  }

 private:
  void wait_for(std::vector<std::future<void>>& running) {
    for (auto& job : running) {
      while (job.wait_for(progress_interval) != std::future_status::ready) tell();
    }
    tell();
    for (auto& job : running) job.get();
  }
  void tell() {
    if (!progress_ || Clock::now() - told_ < progress_interval) return;
    told_ = Clock::now();
    const auto broken = std::count_if(shared_.lowest.begin(), shared_.lowest.end(),
                                      [](const auto& lowest) { return *lowest != none_yet; });
    if (!progress_({shared_.done.load(), static_cast<std::uint64_t>(broken)})) {
      shared_.stop = true;
      interrupted_ = true;
    }
  }

  /// Shapes by the lowest number that showed them, and those schedules by number: whatever job ran them.
  void merge() {
    std::vector<Job::Find> finds;
    Sights sights;
    for (auto& job : jobs_) {
      for (const auto& [shape, sight] : job->shapes) {
        const auto [at, fresh] = sights.try_emplace(shape, sight);
        if (!fresh && sight.number < at->second.number) at->second = sight;
      }
    }
    std::vector<std::uint64_t> numbers;
    for (const auto& [shape, sight] : sights) numbers.push_back(sight.number);
    std::sort(numbers.begin(), numbers.end());
    for (auto& job : jobs_) {
      for (Job::Find& find : job->finds) {
        if (std::binary_search(numbers.begin(), numbers.end(), find.number)) finds.push_back(std::move(find));
      }
      job->shapes.clear();
      job->finds.clear();
    }
    std::sort(finds.begin(), finds.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
    for (Job::Find& find : finds) shared_.corpus.push_back(std::move(find.schedule));
    if (shared_.corpus.size() > corpus_at_most) {
      const auto surplus = static_cast<std::ptrdiff_t>(shared_.corpus.size() - corpus_at_most);
      shared_.corpus.erase(shared_.corpus.begin(), shared_.corpus.begin() + surplus);
    }
    shared_.shapes.merge(sights);
  }

  void report_shapes(Report& into) const;

  const sim::Setup& setup_;
  const Options& options_;
  OnProgress progress_;
  Shared shared_;
  Jobs jobs_;
  Clock::time_point begin_, told_ = {};
  double seconds_ = 0;
  bool interrupted_ = false;
};

void Search::report(Report& into) const {
  into.seconds = seconds_;
  into.interrupted = interrupted_;
  into.systematic = shared_.candidates.count();
  into.anchors = shared_.candidates.anchors.size();
  std::map<std::uint64_t, std::uint64_t> pairs_of;
  for (int r = 0; r < static_cast<int>(Round::count_); ++r)
    into.rounds.push_back({static_cast<Round>(r), 0, 0, 0});
  std::vector<bool> anchors(into.anchors);
  for (const auto& job : jobs_) {
    into.reached += job->reached;
    into.pairs += job->pairs;
    pairs_of.insert(job->pairs_of.begin(), job->pairs_of.end());
    for (std::size_t a = 0; a < job->anchors_reached.size(); ++a)
      anchors[a] = anchors[a] || job->anchors_reached[a];
    for (std::size_t r = 0; r < into.rounds.size(); ++r) {
      into.rounds[r].schedules += job->rounds[r].schedules;
      into.rounds[r].seconds += job->rounds[r].seconds;
      into.schedules += job->rounds[r].schedules;
    }
  }
  into.anchors_reached = static_cast<std::uint64_t>(std::count(anchors.begin(), anchors.end(), true));
  for (const auto& [first, count] : pairs_of) into.pairs_total += count;
  if (!pairs_of.empty()) into.pairs_total = into.pairs_total * into.systematic / pairs_of.size();
  report_shapes(into);
  std::erase_if(into.rounds, [](const RoundReport& r) { return r.schedules == 0; });
}

void Search::report_shapes(Report& into) const {
  into.shapes = shared_.shapes.size();
  std::vector<std::uint64_t> numbers;
  for (const auto& [shape, sight] : shared_.shapes) {
    numbers.push_back(sight.number);
    ++into.rounds[static_cast<std::size_t>(sight.round)].new_shapes;
  }
  std::sort(numbers.begin(), numbers.end());
  const auto known = [&](std::uint64_t n) {
    return static_cast<std::uint64_t>(std::lower_bound(numbers.begin(), numbers.end(), n) - numbers.begin());
  };
  for (std::uint64_t n = 1; n < into.schedules; n *= 2) into.shapes_over.push_back({n, known(n)});
  into.shapes_over.push_back({into.schedules, into.shapes});
}

}  // namespace

std::vector<ClaimSpec> chosen_claims(const Scenario& scenario, const std::vector<std::string>& ids) {
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

Schedule single_fault(std::uint64_t number, std::uint64_t seed, const Candidates& candidates) {
  Schedule schedule;
  schedule.seed = seed;
  if (number > 0) schedule.faults = {candidates.to_spec(candidates.at(number - 1))};
  return schedule;
}

Schedule random_schedule(std::uint64_t number, const Options& options, const Candidates& candidates,
                         const Scenario& scenario) {
  Schedule schedule;
  schedule.seed = draw(options.seed, Purpose::schedule, number);
  if (options.mix.swarm && (schedule.seed & 1) != 0) schedule.order = mix(schedule.seed) | 1;
  const std::uint64_t singles = candidates.count();
  if (singles == 0) return schedule;
  const std::uint64_t faults =
      1 + below(draw(options.seed, Purpose::schedule, number, 1), scenario.menu.at_most);
  std::vector<std::uint64_t> picks;
  for (std::uint64_t k = 0; k < faults; ++k)
    picks.push_back(below(draw(options.seed, Purpose::schedule, number, 2, k), singles));
  std::sort(picks.begin(), picks.end());  // fault k + 1 arms after fault k: in the order of the reference run
  for (std::size_t k = 0; k < picks.size(); ++k) {
    const auto choice = candidates.at(picks[k]);
    const AnchorPoint anchor = k == 0 ? *choice.anchor : candidates.following(picks[k - 1], picks[k]);
    schedule.faults.push_back(candidates.to_spec({&anchor, choice.deed}));
  }
  return schedule;
}

std::optional<std::uint64_t> first_violation(const sim::Setup& setup, Options options) {
  options.first_only = true;
  const std::vector<ClaimSpec> claims = chosen_claims(setup.scenario, options.claims);
  Search search(setup, claims, options, {});
  search.run();
  std::uint64_t lowest = none_yet;
  for (const auto& job : search.jobs()) {
    for (const Job::Tally& tally : job->tallies) lowest = std::min(lowest, tally.lowest);
  }
  return lowest == none_yet ? std::nullopt : std::optional(lowest);
}

Verdict verdict_of(const sim::Setup& setup, const Options& options, const std::string& scope) {
  const std::vector<ClaimSpec> claims = chosen_claims(setup.scenario, options.claims);
  Search search(setup, claims, options, {});
  search.run();
  for (std::size_t c = 0; c < claims.size(); ++c) {
    if (claims[c].scope() == scope) return merged(claims[c], search.jobs(), c).verdict;
  }
  return Verdict::undecided;
}

Report verify(const sim::Setup& setup, const Options& options, const OnProgress& progress) {
  const std::vector<ClaimSpec> claims = chosen_claims(setup.scenario, options.claims);
  Search search(setup, claims, options, progress);
  search.run();
  Report report;
  search.report(report);
  Runner runner(setup, claims);
  for (std::size_t c = 0; c < claims.size(); ++c) {
    report.claims.push_back(merged(claims[c], search.jobs(), c));
    ClaimReport& claim = report.claims.back();
    if (!claim.first_failing_schedule) continue;
    claim.counterexample = shrink(runner, c, search.failing(c));
    claim.explanation = claim.counterexample->finding.explanation;
    claim.counterexample->causes =
        causes(setup, claims[c], *claim.counterexample, options, *claim.first_failing_schedule);
  }
  return report;
}

}  // namespace mqlab::search
