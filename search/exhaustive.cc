#include "search/exhaustive.h"

#include <algorithm>
#include <chrono>
#include <unordered_set>

#include "core/scenario/error.h"
#include "search/shape.h"
#include "search/shrink.h"

namespace mqlab::search {
namespace {

using Clock = std::chrono::steady_clock;

class Explorer {
 public:
  Explorer(const sim::Setup& setup, std::vector<ClaimSpec> claims, const Options& options,
           const OnProgress& progress)
      : options_(options),
        progress_(progress),
        runner_(setup, std::move(claims)),
        shape_(setup.topology),
        begin_(Clock::now()) {
    schedule_.seed = options.seed;
    for (const ClaimSpec& claim : runner_.claims()) {
      out_.report.claims.emplace_back();
      out_.report.claims.back().claim = claim;
    }
    first_failing_.resize(runner_.claims().size());
    collect_faults();
  }

  Exhaustive run() {
    runner_.begin(schedule_);
    runner_.world().explore();
    do {
      descend();
      note(runner_.finish());
    } while (more() && next());
    out_.complete = depth_ == 0;
    finish();
    return std::move(out_);
  }

 private:
  /// A moment at which there is a choice.
  struct Frame {
    sim::World::Snapshot snapshot;
    std::size_t faults = 0;     ///< of the runner's, at that moment
    std::size_t overtakes = 0;  ///< of the schedule's
    std::uint32_t choice = 0;   ///< its number among the moments of choice
    std::uint32_t rivals = 0;
    std::uint32_t options = 1;
    std::uint32_t taken = 0;
    Duration at = {};  ///< when a fault would happen
  };

  /// What may be done to whom; a fault spelled out, but for the time.
  void collect_faults() {
    const Candidates candidates = collect(runner_, schedule_);
    const Topology& topology = runner_.setup().topology;
    for (const Deed& deed : candidates.deeds) {
      FaultSpec spec;
      spec.action = deed.action;
      spec.target = deed.target;
      spec.heal = deed.heal;
      if (!deed.target.empty()) deeds_.push_back(spec);
      if (!deed.target.empty()) continue;
      for (const Group& group : candidates.groups) {
        for (const ProcessId process : group.processes) {
          spec.target = topology.processes[process].name;
          deeds_.push_back(spec);
        }
      }
    }
  }

  /// To the end of the run, the first way at each moment of choice.
  void descend() {
    sim::World& world = runner_.world();
    do {
      const sim::World::Prospect prospect = world.prospect();
      if (!prospect.message) continue;
      const std::size_t left = runner_.setup().scenario.menu.at_most - schedule_.faults.size();
      const Duration at = world.now() + Duration::nanos(1) - Instant{};
      const bool may_fail = left > 0 && Instant{} + at < due();
      const std::uint32_t options =
          1 + prospect.rivals + static_cast<std::uint32_t>(may_fail ? deeds_.size() : 0);
      if (options == 1) continue;
      if (depth_ == frames_.size()) frames_.emplace_back();
      Frame& frame = frames_[depth_++];
      world.save(frame.snapshot);
      frame.faults = runner_.faults();
      frame.overtakes = schedule_.overtakes.size();
      frame.choice = world.choices();
      frame.rivals = prospect.rivals;
      frame.options = options;
      frame.taken = 0;
      frame.at = at;
    } while (world.step());
  }

  /// When the next event comes: it is let happen, and taken back.
  Instant due() {
    sim::World& world = runner_.world();
    world.save(probe_);
    world.step();
    const Instant at = world.now();
    runner_.branch(probe_, runner_.faults(), {}, 0);
    return at;
  }

  /// The next way at the latest moment that has one; false when there is none.
  bool next() {
    while (depth_ > 0 && frames_[depth_ - 1].taken + 1 == frames_[depth_ - 1].options) --depth_;
    if (depth_ == 0) return false;
    Frame& frame = frames_[depth_ - 1];
    ++frame.taken;
    const std::size_t own = runner_.setup().scenario.faults.size();
    schedule_.faults.resize(frame.faults - own);
    schedule_.overtakes.resize(frame.overtakes);
    runner_.branch(frame.snapshot, frame.faults, {}, 0);
    if (frame.taken <= frame.rivals) {
      schedule_.overtakes.push_back({frame.choice, frame.taken});
      runner_.world().choose(frame.taken);
      runner_.world().step();
    } else {
      FaultSpec spec = deeds_[frame.taken - frame.rivals - 1];
      spec.at.time = frame.at;
      schedule_.faults.push_back(spec);
      runner_.extend(bind(spec, runner_.setup().scenario, runner_.setup().topology));
      runner_.world().step();  // the fault
    }
    return true;
  }

  bool more() {
    if (out_.report.schedules >= options_.schedules) return false;
    if (out_.report.schedules % 64 != 0) return true;
    const auto passed = Clock::now() - begin_;
    if (options_.budget && passed >= std::chrono::nanoseconds(options_.budget->ns)) return false;
    if (!progress_) return true;
    const auto broken = std::count_if(first_failing_.begin(), first_failing_.end(),
                                      [](const Schedule& s) { return s.seed != 0; });
    out_.report.interrupted = !progress_({out_.report.schedules, static_cast<std::uint64_t>(broken)});
    return !out_.report.interrupted;
  }

  void note(const Outcome& outcome) {
    const std::uint64_t number = out_.report.schedules++;
    out_.report.reached += outcome.faults_reached ? 1 : 0;
    shapes_.insert(shape_.of(runner_.history()));
    const bool plain = schedule_.faults.empty() && schedule_.overtakes.empty();
    for (std::size_t c = 0; c < first_failing_.size(); ++c) {
      ClaimReport& claim = out_.report.claims[c];
      const Finding& finding = outcome.findings[c];
      if (!plain && !judged_under_faults(claim.claim)) continue;
      claim.observed += finding.observed;
      claim.vacuous += finding.verdict == Verdict::undecided && finding.vacuous ? 1 : 0;
      claim.undecided += finding.verdict == Verdict::undecided && !finding.vacuous ? 1 : 0;
      claim.judged += finding.verdict != Verdict::undecided ? 1 : 0;
      if (claim.explanation.empty()) claim.explanation = finding.explanation;
      if (finding.verdict != Verdict::violated || claim.violations++ > 0) continue;
      claim.first_failing_schedule = number;
      claim.explanation = finding.explanation;
      first_failing_[c] = schedule_;
    }
  }

  void finish() {
    out_.report.shapes = shapes_.size();
    out_.report.seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    for (std::size_t c = 0; c < first_failing_.size(); ++c) {
      ClaimReport& claim = out_.report.claims[c];
      if (claim.violations > 0) {
        claim.verdict = Verdict::violated;
        claim.counterexample = shrink(runner_, c, first_failing_[c]);
        claim.explanation = claim.counterexample->finding.explanation;
      } else if (claim.undecided == 0 && claim.judged > 0) {
        claim.verdict = Verdict::holds;
      }
    }
  }

  const Options& options_;
  const OnProgress& progress_;
  Runner runner_;
  Shapes shape_;
  Clock::time_point begin_;
  Schedule schedule_;  ///< of the run under way
  std::vector<FaultSpec> deeds_;
  sim::World::Snapshot probe_;
  std::vector<Frame> frames_;
  std::size_t depth_ = 0;  ///< frames in use
  std::unordered_set<std::uint64_t> shapes_;
  std::vector<Schedule> first_failing_;
  Exhaustive out_;
};

}  // namespace

Exhaustive verify_all(const sim::Setup& setup, const Options& options, const OnProgress& progress) {
  if (!setup.snapshots) {
    throw ScenarioError(setup.scenario.file, 0, "stages",
                        "an exhaustive search copies the world; a module in Python cannot be copied");
  }
  return Explorer(setup, chosen_claims(setup.scenario, options.claims), options, progress).run();
}

}  // namespace mqlab::search
