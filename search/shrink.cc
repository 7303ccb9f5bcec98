#include "search/shrink.h"

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>

#include "core/base/check.h"
#include "core/scenario/error.h"
#include "search/story.h"
#include "search/variants.h"

namespace mqlab::search {
namespace {

/// What shrinking may cost, in events of the simulation: seconds, whatever the machine does besides.
constexpr std::uint64_t events_at_most = 12'000'000;
/// Settings are taken away only where the run does not get longer by it: a story that waits for a session
/// timeout of 45 s instead of the scenario's 2 s is not simpler.
constexpr std::int64_t longer_by_percent = 10;

/// Kinds of the rows that prove a violation, and whose they are; how many of each does not matter.
using WitnessShape = std::set<std::tuple<Kind, Phase, std::string>>;

class Shrinker {
 public:
  Shrinker(Runner& runner, std::size_t claim, const Schedule& schedule)
      : first_(runner), claim_(claim), best_(schedule), scenario_(runner.setup().scenario) {
    for (const Generator& g : runner.setup().generators) {
      for (std::uint64_t i = 0; i < g.count(); ++i)
        messages_.push_back(g.first_id() + static_cast<MessageId>(i));
    }
    std::erase_if(messages_, [&](MessageId id) {
      return std::binary_search(best_.masked.begin(), best_.masked.end(), id);
    });
    const Outcome outcome = runner.run(best_);
    MQLAB_CHECK(outcome.findings[claim].verdict == Verdict::violated);
    shape_ = witness_shape(runner, outcome.findings[claim]);
    length_ = runner.world().now();
  }

  void run() {
    drop_order();
    drop_faults();
    drop_messages();
    drop_faults();
    first_occurrence();
    const std::uint64_t before = simplified_;
    simplify();
    if (simplified_ != before) drop_messages();
    drop_settings();
    drop_order();
  }
  /// The last word: the shrunk run, with the runner that ran it.
  Runner& runner() { return changed_ ? *changed_ : first_; }
  const Schedule& best() const { return best_; }
  const Scenario& scenario() const { return scenario_; }
  std::uint64_t runs() const { return runs_; }
  std::size_t messages() const { return messages_.size(); }

 private:
  static WitnessShape witness_shape(Runner& runner, const Finding& finding) {
    WitnessShape shape;
    for (const std::uint64_t i : finding.witness) {
      const Row& row = runner.history()[i];
      shape.emplace(row.kind, row.phase, runner.setup().topology.processes[row.process].group);
    }
    return shape;
  }

  bool fails(Runner& runner, const Schedule& schedule) {
    if (events_ >= events_at_most) return false;
    ++runs_;
    const Outcome outcome = runner.run(schedule);
    events_ += outcome.steps;
    const Finding& finding = outcome.findings[claim_];
    return outcome.faults_reached && finding.verdict == Verdict::violated &&
           witness_shape(runner, finding) == shape_;
  }
  bool keep(Schedule schedule) {
    if (!fails(runner(), schedule)) return false;
    best_ = std::move(schedule);
    length_ = runner().world().now();
    return true;
  }
  /// `longer`: whether the run may take longer than before.
  bool keep(const Variant& variant, bool longer) {
    const std::optional<Scenario> read = changed(scenario_, variant);
    if (!read) return false;
    try {
      auto setup = std::make_unique<sim::Setup>(*read);
      auto trial = std::make_unique<Runner>(*setup, first_.claims());
      if (!fails(*trial, best_)) return false;
      const std::int64_t now = trial->world().now().ns;
      if (!longer && now > length_.ns + length_.ns / 100 * longer_by_percent) return false;
      changed_ = std::move(trial);
      setup_ = std::move(setup);
    } catch (const ScenarioError&) {  // say, a fault names a process that is no longer there
      return false;
    }
    length_ = changed_->world().now();
    scenario_ = *read;
    return true;
  }

  void drop_order() {
    Schedule plain = best_;
    plain.order = 0;
    plain.overtakes.clear();
    const bool ordered = best_.order != 0 || !best_.overtakes.empty();
    if (ordered) keep(std::move(plain));
    for (std::size_t i = best_.overtakes.size(); i-- > 0;) {
      Schedule less = best_;
      less.overtakes.erase(less.overtakes.begin() + static_cast<std::ptrdiff_t>(i));
      keep(std::move(less));
    }
    if (best_.zero_jitter) return;
    Schedule calm = best_;
    calm.zero_jitter = true;
    keep(std::move(calm));
  }

  void drop_faults() {
    for (std::size_t i = best_.faults.size(); i-- > 0;) {
      Schedule less = best_;
      less.faults.erase(less.faults.begin() + static_cast<std::ptrdiff_t>(i));
      keep(std::move(less));
    }
  }

  /// Masks ever smaller runs of messages. An anchor that counts ("the 12th commit") may have to count less
  /// then.
  void drop_messages() {
    for (std::size_t block = (messages_.size() + 1) / 2; block > 0;
         block = block == 1 ? 0 : (block + 1) / 2) {
      for (std::size_t begin = 0; begin < messages_.size();) {
        const std::size_t end = std::min(begin + block, messages_.size());
        if (mask(begin, end)) {
          messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(begin),
                          messages_.begin() + static_cast<std::ptrdiff_t>(end));
        } else {
          begin = end;
        }
      }
    }
  }

  bool mask(std::size_t begin, std::size_t end) {
    Schedule less = best_;
    less.masked.insert(less.masked.end(), messages_.begin() + static_cast<std::ptrdiff_t>(begin),
                       messages_.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(less.masked.begin(), less.masked.end());
    if (keep(less) || mask_named(less, begin, end)) return true;
    for (std::size_t f = 0; f < less.faults.size(); ++f) {
      const std::uint32_t nth = less.faults[f].at.nth;
      const std::uint32_t removed = static_cast<std::uint32_t>(end - begin);
      for (const std::uint32_t to : {nth > removed ? nth - removed : 1u, (nth + 1) / 2, 1u}) {
        if (to >= nth) continue;
        Schedule earlier = less;
        earlier.faults[f].at.nth = to;
        if (keep(std::move(earlier))) return true;
      }
    }
    return false;
  }

  /// A fault that waits for what happens to one of the masked messages may as well wait for a neighbour's.
  bool mask_named(const Schedule& less, std::size_t begin, std::size_t end) {
    for (const bool before : {true, false}) {
      if (before ? begin == 0 : end == messages_.size()) continue;
      bool any = false;
      Schedule other = less;
      for (FaultSpec& fault : other.faults) {
        if (fault.at.message < messages_[begin] || fault.at.message > messages_[end - 1]) continue;
        fault.at.message = before ? messages_[begin - 1] : messages_[end];
        any = true;
      }
      if (any && keep(std::move(other))) return true;
    }
    return false;
  }

  void first_occurrence() {
    for (std::size_t f = 0; f < best_.faults.size(); ++f) {
      for (std::uint32_t nth = 1; nth < best_.faults[f].at.nth; ++nth) {
        Schedule earlier = best_;
        earlier.faults[f].at.nth = nth;
        if (keep(std::move(earlier))) break;
      }
    }
  }

  /// Fewer processes, nodes, partitions and keys, as long as one of them can go.
  void simplify() {
    for (bool again = true; again;) {
      again = false;
      for (const Variant& variant : simpler(scenario_)) {
        if (!keep(variant, true)) continue;
        ++simplified_;
        again = true;
        break;  // the others were made from the scenario before
      }
    }
  }

  /// From the last to the first, so that places in the lists stay what they were.
  void drop_settings() {
    for (std::size_t left = without_settings(scenario_).size(); left-- > 0;) {
      const std::vector<Variant> variants = without_settings(scenario_);
      if (left < variants.size()) keep(variants[left], false);
    }
  }

  Runner& first_;
  std::size_t claim_;
  Schedule best_;
  Scenario scenario_;
  std::unique_ptr<sim::Setup> setup_;  ///< of a changed scenario; outlives its runner
  std::unique_ptr<Runner> changed_;
  WitnessShape shape_;
  Instant length_ = {};
  std::vector<MessageId> messages_;  ///< not masked
  std::uint64_t runs_ = 0, events_ = 0, simplified_ = 0;
};

}  // namespace

Counterexample shrink(Runner& runner, std::size_t claim, const Schedule& schedule) {
  Shrinker shrinker(runner, claim, schedule);
  Counterexample example;
  example.messages_before = shrinker.messages();
  shrinker.run();
  example.schedule = shrinker.best();
  example.scenario = shrinker.scenario();
  example.messages_after = shrinker.messages();
  example.shrink_runs = shrinker.runs();
  Runner& last = shrinker.runner();
  const Outcome outcome = last.run(example.schedule);
  example.finding = outcome.findings[claim];
  tell(last.setup(), last.history(), example.finding, example);
  return example;
}

}  // namespace mqlab::search
