#include "search/cause.h"

#include <algorithm>
#include <memory>

#include "core/scenario/error.h"
#include "search/variants.h"

namespace mqlab::search {
namespace {

/// What looking for causes may cost, in events of the simulation.
constexpr std::uint64_t events_at_most = 40'000'000;
/// A changed setting is searched four times as far as the story was away, and at least so far.
constexpr std::uint64_t schedules_at_least = 300;
constexpr std::uint64_t further = 4;

class Blame {
 public:
  Blame(const sim::Setup& setup, const ClaimSpec& claim, const Counterexample& example,
        const Options& options, std::uint64_t failing_schedule)
      : setup_(setup), claim_(claim), example_(example), options_(options) {
    options_.schedules = std::max(schedules_at_least, further * failing_schedule);
    options_.claims = {claim.id};
    options_.jobs = 1;
    options_.keep_going = false;
    options_.budget.reset();
  }

  std::vector<Cause> run() {
    std::vector<Cause> found;
    for (const Variant& variant : other_settings(setup_.scenario)) {
      if (!found.empty() && found.back().setting == variant.path) continue;  // another value of it will do
      if (events_ >= events_at_most) break;
      if (vanishes(variant) && holds(variant))
        found.push_back({variant.path, variant.was, variant.instead, variant.line});
    }
    return found;
  }

 private:
  /// The story itself, with the change.
  bool vanishes(const Variant& variant) {
    try {
      const std::optional<Scenario> other = changed(example_.scenario, variant);
      if (!other) return false;
      const sim::Setup setup(*other);
      Runner runner(setup, {claim_});
      const Outcome outcome = runner.run(example_.schedule);
      events_ += outcome.steps;
      return outcome.findings[0].verdict != Verdict::violated;
    } catch (const ScenarioError&) {
      return false;
    }
  }

  /// The whole scenario, with the change.
  bool holds(const Variant& variant) {
    try {
      const std::optional<Scenario> other = changed(setup_.scenario, variant);
      if (!other) return false;
      const sim::Setup setup(*other);
      Runner runner(setup, {claim_});
      Schedule plain;
      plain.seed = options_.seed;
      const std::uint64_t steps = runner.run(plain).steps;
      if (events_ + steps * options_.schedules > events_at_most) return false;
      events_ += steps * options_.schedules;
      return verdict_of(setup, options_, claim_.scope()) == Verdict::holds;
    } catch (const ScenarioError&) {
      return false;
    }
  }

  const sim::Setup& setup_;
  const ClaimSpec& claim_;
  const Counterexample& example_;
  Options options_;
  std::uint64_t events_ = 0;
};

}  // namespace

std::vector<Cause> causes(const sim::Setup& setup, const ClaimSpec& claim, const Counterexample& example,
                          const Options& options, std::uint64_t failing_schedule) {
  return Blame(setup, claim, example, options, failing_schedule).run();
}

}  // namespace mqlab::search
