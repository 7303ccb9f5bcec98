#include "search/share.h"

#include <algorithm>

#include "core/base/draw.h"

namespace mqlab::search {

Share::Share(const sim::Setup& setup, const std::vector<ClaimSpec>& claims, Shared& shared, unsigned job)
    : tallies(claims.size()), runner_(setup, claims), shared_(shared), job_(job) {}

bool Share::more() const {
  if (shared_.stop.load(std::memory_order_relaxed)) return false;
  if (shared_.options.keep_going) return true;
  return !std::all_of(tallies.begin(), tallies.end(), [](const Tally& t) { return t.lowest.has_value(); });
}

void Share::run() {
  Schedule reference;
  reference.seed = shared_.options.seed;
  candidates = collect(runner_, reference);
  if (mine(0)) note(0, runner_.finish());
  if (more()) systematic();
  if (more()) random();
}

/// Walks the reference run once; at each event that holds anchors of this job, a snapshot, and a branch per
/// fault.
void Share::systematic() {
  const bool from_snapshots = runner_.setup().snapshots && runner_.setup().scenario.faults.empty();
  if (!from_snapshots) {
    for (std::uint64_t i = 0; i < candidates.count() && i + 1 < shared_.options.schedules && more(); ++i) {
      if (mine(i + 1))
        note(i + 1,
             runner_.run(schedule_number(i + 1, shared_.options.seed, candidates, runner_.setup().scenario)));
    }
    return;
  }
  Schedule reference;
  reference.seed = shared_.options.seed;
  runner_.begin(reference);
  for (std::size_t a = 0; a < candidates.anchors.size() && more();) {
    const std::uint64_t step = candidates.anchors[a].step;
    while (runner_.world().steps() < step) runner_.world().step();
    runner_.world().save(snapshot_);
    for (; a < candidates.anchors.size() && candidates.anchors[a].step == step; ++a) {
      branch(candidates.anchors[a], candidates.first[a] + 1);
    }
    runner_.world().restore(snapshot_);
  }
}

void Share::branch(const AnchorPoint& anchor, std::uint64_t first) {
  const std::uint64_t variants = candidates.per_anchor(anchor);
  bool reached_here = false;
  for (std::uint64_t v = 0; v < variants && first + v < shared_.options.schedules && more(); ++v) {
    if (!mine(first + v)) continue;
    const auto choice = candidates.at(first + v - 1);
    faults_.assign(1,
                   bind(to_spec(anchor, *choice.deed), runner_.setup().scenario, runner_.setup().topology));
    runner_.world().restore(snapshot_);
    runner_.world().arm(faults_, anchor.seen_before);
    Outcome outcome = runner_.finish();
    outcome.faults_reached = runner_.world().faults_fired() == 1;
    reached_here = reached_here || outcome.faults_reached;
    note(first + v, outcome);
  }
  anchors_reached += reached_here ? 1 : 0;
}

void Share::random() {
  const Scenario& scenario = runner_.setup().scenario;
  const std::uint64_t begin = candidates.count() + 1;
  for (std::uint64_t i = begin; i < shared_.options.schedules && more(); ++i) {
    if (mine(i)) note(i, runner_.run(schedule_number(i, shared_.options.seed, candidates, scenario)));
  }
}

void Share::note(std::uint64_t number, const Outcome& outcome) {
  ++schedules;
  reached += outcome.faults_reached ? 1 : 0;
  shapes.insert(shape(runner_.history()));
  const bool with_faults = number > 0 && (candidates.count() > 0 || !runner_.setup().scenario.faults.empty());
  for (std::size_t c = 0; c < tallies.size(); ++c) {
    const Finding& finding = outcome.findings[c];
    Tally& tally = tallies[c];
    if (number == 0) tally.value = finding.value;
    if (with_faults && !judged_under_faults(runner_.claims()[c])) continue;
    tally.observed += finding.observed;
    if (finding.verdict == Verdict::undecided && finding.vacuous && number > 0) {
      ++tally.vacuous;
      continue;
    }
    if (finding.verdict == Verdict::undecided) {
      if (tally.undecided++ == 0) tally.undecided_because = finding.explanation;
      continue;
    }
    ++tally.judged;
    if (tally.explanation.empty()) tally.explanation = finding.explanation;
    if (finding.verdict != Verdict::violated) continue;
    ++tally.violations;
    if (!tally.lowest) {
      tally.lowest = number;
      tally.explanation = finding.explanation;
      shared_.broken.fetch_add(1, std::memory_order_relaxed);
    }
  }
  shared_.done.fetch_add(1, std::memory_order_relaxed);
  if (schedules % 16 == 0 && shared_.options.budget && std::chrono::steady_clock::now() >= shared_.end)
    shared_.stop = true;
}

}  // namespace mqlab::search
