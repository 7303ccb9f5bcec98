#include "search/job.h"

#include <algorithm>
#include <ctime>

#include "core/base/draw.h"

namespace mqlab::search {
namespace {

/// CPU seconds of this thread.
double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

}  // namespace

Job::Job(const sim::Setup& setup, const std::vector<ClaimSpec>& claims, Shared& shared)
    : tallies(claims.size()), runner_(setup, claims), shared_(shared), shape_(setup.topology) {}

bool Shared::wants(std::uint64_t number) const {
  if (number >= options.schedules || stop.load(std::memory_order_relaxed)) return false;
  if (options.keep_going) return true;
  const auto open = [&](const auto& claim) { return claim->load(std::memory_order_relaxed) > number; };
  return options.first_only ? std::all_of(lowest.begin(), lowest.end(), open)
                            : std::any_of(lowest.begin(), lowest.end(), open);
}

bool Job::more(std::uint64_t number) const { return shared_.wants(number); }

void Job::reference() {
  Schedule schedule;
  schedule.seed = shared_.options.seed;
  shared_.candidates = collect(runner_, schedule);
  note({Round::reference, 0}, runner_.finish(), true, [&] { return schedule; });
}

void Job::work(std::uint64_t end) {
  anchors_reached.resize(shared_.candidates.anchors.size());
  while (true) {
    const std::uint64_t k = shared_.next.fetch_add(1, std::memory_order_relaxed);
    if (k >= end) return;
    const Unit unit = shared_.rounds->unit(k);
    if (!more(unit.first)) return;
    const double begin = thread_seconds();
    switch (unit.round) {
      case Round::singles:
        singles(unit);
        break;
      case Round::pairs:
        pairs_behind(unit);
        break;
      case Round::mutation:
        mutation(unit);
        break;
      default:
        random(unit);
    }
    rounds[static_cast<std::size_t>(unit.round)].seconds += thread_seconds() - begin;
  }
}

void Job::singles(const Unit& unit) {
  Schedule base;
  base.seed = shared_.options.seed;
  std::vector<Branch> branches;
  for (std::uint64_t i = 0; i < unit.count; ++i) branches.push_back({{unit.first - 1 + i}});
  fan(base, shared_.candidates, branches, {unit.round, unit.first});
}

/// A second fault behind each first: first faults in an order that spreads, a unit's worth of seconds each;
/// then again with the next ones.
void Job::pairs_behind(const Unit& unit) {
  const std::uint64_t singles = shared_.candidates.count();
  const std::uint64_t first = spread(unit.index % singles, singles);
  const std::uint64_t done = unit.index / singles * unit.count;
  Schedule base;
  base.seed = shared_.options.seed;
  base.faults = {shared_.candidates.to_spec(shared_.candidates.at(first))};
  const Candidates found = collect(runner_, base);
  pairs_of[first] = found.count();
  std::vector<Branch> branches;
  for (std::uint64_t j = done; j < std::min(done + unit.count, found.count()); ++j)
    branches.push_back({{spread(j, found.count())}});
  pairs += branches.size();
  fan(base, found, branches, {unit.round, unit.first});
  straight(unit, unit.first + branches.size());
}

/// A seed and an order for all, another handful of faults for each.
void Job::random(const Unit& unit) {
  if (!shared_.options.mix.swarm || shared_.candidates.count() == 0) return straight(unit, unit.first);
  const std::uint64_t bits = draw(shared_.options.seed, Purpose::schedule, unit.first);
  Schedule base;
  base.seed = bits;
  base.order = (bits & 1) != 0 ? mix(bits) | 1 : 0;
  const Candidates found = collect(runner_, base);
  if (!more(unit.first)) return;
  note({unit.round, unit.first}, runner_.finish(), base.order == 0, [&] { return base; });
  if (found.count() == 0) return straight(unit, unit.first + 1);
  std::vector<Branch> branches;
  for (std::uint64_t i = 1; i < unit.count; ++i)
    branches.push_back({random_picks(unit, found, unit.first + i)});
  fan(base, found, branches, {unit.round, unit.first + 1});
}

/// A handful of faults out of the unit's own part of the menu: half of its deeds, half of the kinds of steps.
std::vector<std::uint64_t> Job::random_picks(const Unit& unit, const Candidates& found,
                                             std::uint64_t number) const {
  constexpr std::uint64_t tries = 8;
  const std::uint64_t seed = shared_.options.seed;
  const auto in_menu = [&](const Candidates::Choice& choice) {
    const std::uint64_t deed = mix(static_cast<std::uint64_t>(choice.deed->action) << 32 |
                                   static_cast<std::uint64_t>(choice.deed->heal.ns)) ^
                               (choice.deed->targets.empty() ? no_process : choice.deed->targets.front());
    const std::uint64_t step = static_cast<std::uint64_t>(choice.anchor->what.kind) << 32 |
                               static_cast<std::uint64_t>(choice.anchor->what.phase) << 16 |
                               choice.anchor->what.request;
    return draw(seed, Purpose::schedule, unit.first, 3, deed) % 2 == 0 &&
           draw(seed, Purpose::schedule, unit.first, 4, step) % 2 == 0;
  };
  const std::uint32_t at_most = std::max(1u, runner_.setup().scenario.menu.at_most);
  const std::uint64_t faults = 1 + below(draw(seed, Purpose::schedule, number, 1), at_most);
  std::vector<std::uint64_t> picks;
  for (std::uint64_t k = 0; k < faults; ++k) {
    std::uint64_t pick = 0;
    for (std::uint64_t t = 0; t < tries; ++t) {
      pick = below(draw(seed, Purpose::schedule, number, 2, k * tries + t), found.count());
      if (in_menu(found.at(pick))) break;
    }
    picks.push_back(pick);
  }
  std::sort(picks.begin(), picks.end());  // fault k + 1 arms after fault k: in the order of the run
  return picks;
}

/// A schedule that reached a new shape with one more fault, or with another in place of its last, near where
/// that was; now and then in another order.
void Job::mutation(const Unit& unit) {
  const std::vector<Schedule>& corpus = shared_.corpus;
  if (corpus.empty()) return straight(unit, unit.first);
  const std::uint64_t bits = draw(shared_.options.seed, Purpose::schedule, unit.first, 5);
  // Half of the time one of the latest.
  const std::uint64_t among = (bits & 1) != 0 ? std::min<std::uint64_t>(corpus.size(), 64) : corpus.size();
  Schedule base = corpus[corpus.size() - 1 - below(mix(bits), among)];
  const bool longer = base.faults.size() < runner_.setup().scenario.menu.at_most && (bits & 2) != 0;
  std::optional<FaultSpec> last;
  if (!longer && !base.faults.empty()) {
    last = base.faults.back();
    base.faults.pop_back();
  }
  if ((bits & 12) == 0) base.order = mix(bits + 1) | 1;
  const Candidates found = collect(runner_, base);
  std::vector<Branch> branches;
  std::uint64_t centre = found.anchors.empty() ? 0 : below(mix(bits + 2), found.anchors.size());
  for (std::uint64_t a = 0; last && a < found.anchors.size(); ++a) {
    const AnchorPoint& anchor = found.anchors[a];
    if (anchor.message == last->at.message && anchor.nth == last->at.nth &&
        found.groups[anchor.group].name == last->at.process && name_of(anchor.what) == last->at.step)
      centre = a;
  }
  for (std::uint64_t i = 0; i < unit.count && found.count() > 0; ++i) {
    const std::uint64_t b = draw(shared_.options.seed, Purpose::schedule, unit.first + i, 6);
    const std::uint64_t away = below(mix(b), std::uint64_t{1} << (b % 8));
    const std::uint64_t a =
        (centre + ((b & 256) != 0 ? away : found.anchors.size() - away % found.anchors.size())) %
        found.anchors.size();
    branches.push_back({{found.first[a] + below(mix(b + 1), found.per_anchor(found.anchors[a]))}});
  }
  fan(base, found, branches, {unit.round, unit.first});
  straight(unit, unit.first + branches.size());
}

void Job::straight(const Unit& unit, std::uint64_t from) {
  for (std::uint64_t i = from; i < unit.first + unit.count && more(i); ++i) {
    const Schedule schedule =
        random_schedule(i, shared_.options, shared_.candidates, runner_.setup().scenario);
    note({unit.round, i}, runner_.run(schedule), schedule.faults.empty() && schedule.order == 0,
         [&] { return schedule; });
  }
}

Schedule Job::joined(const Schedule& base, const Candidates& found, const Branch& branch) const {
  Schedule schedule = base;
  for (std::size_t k = 0; k < branch.picks.size(); ++k) {
    Candidates::Choice choice = found.at(branch.picks[k]);
    const AnchorPoint anchor =
        k == 0 ? *choice.anchor : found.following(branch.picks[k - 1], branch.picks[k]);
    schedule.faults.push_back(found.to_spec({&anchor, choice.deed}));
  }
  return schedule;
}

/// Walks the base's run once; at each event that holds an anchor to branch off at, a snapshot.
void Job::fan(const Schedule& base, const Candidates& found, std::vector<Branch>& branches, Where where) {
  std::sort(branches.begin(), branches.end(),
            [](const Branch& a, const Branch& b) { return a.picks < b.picks; });
  const bool from_snapshots = runner_.setup().snapshots;
  std::size_t own = 0;  // faults of the base
  bool saved = false;
  std::uint64_t at = 0;
  if (from_snapshots) {
    runner_.begin(base);
    own = runner_.faults();
  }
  for (const Branch& branch : branches) {
    if (!more(where.number)) return;
    const AnchorPoint& anchor = *found.at(branch.picks.front()).anchor;
    Outcome outcome;
    if (!from_snapshots) {
      outcome = runner_.run(joined(base, found, branch));
    } else {
      if (saved && at != anchor.step) runner_.branch(snapshot_, own, {}, 0);
      if (!saved || at != anchor.step) {
        while (runner_.world().steps() < anchor.step) runner_.world().step();
        runner_.world().save(snapshot_);
        saved = true;
        at = anchor.step;
      }
      faults_.clear();
      for (std::size_t k = 0; k < branch.picks.size(); ++k) {
        const Candidates::Choice choice = found.at(branch.picks[k]);
        const AnchorPoint then =
            k == 0 ? *choice.anchor : found.following(branch.picks[k - 1], branch.picks[k]);
        faults_.push_back(found.to_fault({&then, choice.deed}));
      }
      runner_.branch(snapshot_, own, faults_, anchor.seen_before);
      outcome = runner_.finish();
    }
    if (where.round == Round::singles && outcome.faults_reached)
      anchors_reached[static_cast<std::size_t>(&anchor - found.anchors.data())] = true;
    note(where, outcome, false, [&] { return joined(base, found, branch); });
    ++where.number;
  }
}

/// `plain`: without any fault or order of the search's own.
template <class MakeSchedule>
void Job::note(Where where, const Outcome& outcome, bool plain, MakeSchedule&& schedule) {
  ++rounds[static_cast<std::size_t>(where.round)].schedules;
  reached += outcome.faults_reached ? 1 : 0;
  const std::uint64_t shape = shape_.of(runner_.history());
  if (!shared_.shapes.contains(shape)) {
    const auto [at, fresh] = shapes.try_emplace(shape, Sight{where.number, where.round});
    if (fresh) {
      finds.push_back({where.number, schedule()});
    } else if (where.number < at->second.number) {
      at->second = {where.number, where.round};
    }
  }
  const bool with_faults = !plain || !runner_.setup().scenario.faults.empty();
  for (std::size_t c = 0; c < tallies.size(); ++c) {
    if (where.number == 0) tallies[c].value = outcome.findings[c].value;
    if (where.number > 0 && with_faults && !judged_under_faults(runner_.claims()[c])) continue;
    const bool lower = outcome.findings[c].verdict == Verdict::violated && where.number < tallies[c].lowest;
    note_claim(c, where.number, outcome.findings[c]);
    if (lower) tallies[c].schedule = schedule();
  }
  const std::uint64_t done = 1 + shared_.done.fetch_add(1, std::memory_order_relaxed);
  if (done % 16 == 0 && shared_.options.budget && std::chrono::steady_clock::now() >= shared_.end)
    shared_.stop = true;
}

void Job::note_claim(std::size_t claim, std::uint64_t number, const Finding& finding) {
  Tally& tally = tallies[claim];
  tally.observed += finding.observed;
  if (finding.verdict == Verdict::undecided && finding.vacuous && number > 0) {
    ++tally.vacuous;
    return;
  }
  if (finding.verdict == Verdict::undecided) {
    ++tally.undecided;
    if (number < tally.undecided_at) {
      tally.undecided_at = number;
      tally.undecided_because = finding.explanation;
    }
    return;
  }
  ++tally.judged;
  if (tally.explanation.empty()) tally.explanation = finding.explanation;
  if (finding.verdict != Verdict::violated) return;
  ++tally.violations;
  if (number >= tally.lowest) return;
  tally.lowest = number;
  tally.explanation = finding.explanation;
  std::atomic<std::uint64_t>& lowest = *shared_.lowest[claim];
  for (std::uint64_t now = lowest.load(); number < now && !lowest.compare_exchange_weak(now, number);) {
  }
}

}  // namespace mqlab::search
