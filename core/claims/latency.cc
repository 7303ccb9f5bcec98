// latency.p50 … latency.max: the quantile, over all ids that were invoked, of the time from the intended send
// to the first effect; an id without effect counts as infinite.
#include <limits>

#include "core/claims/effect_clock.h"
#include "core/claims/makers.h"
#include "core/claims/row_checker.h"
#include "core/claims/wording.h"
#include "core/scenario/text.h"
#include "core/scenario/units.h"
#include "core/stats/quantile.h"

namespace mqlab {
namespace {

struct Quantile {
  std::string_view name;
  Share share;
  std::uint64_t samples;  // needed: 10 / (1 − q), that ten or so lie beyond the quantile
};
constexpr std::array quantiles = {Quantile{"p50", {50, 100}, 20},        Quantile{"p90", {90, 100}, 100},
                                  Quantile{"p95", {95, 100}, 200},       Quantile{"p99", {99, 100}, 1000},
                                  Quantile{"p999", {999, 1000}, 10'000}, Quantile{"max", {1, 1}, 1}};

std::string told(std::int64_t ns) {
  if (ns == infinite) return "∞ (unanswered)";
  const auto rounded = ns < 10'000 ? ns : ns < 10'000'000 ? ns / 1000 * 1000 : ns / 100'000 * 100'000;
  return format_duration(Duration::nanos(rounded));
}

class Latency final : public RowChecker<Latency> {
 public:
  Latency(Scope scope, const Quantile& quantile, Duration at_most)
      : scope_(std::move(scope)), quantile_(quantile), at_most_(at_most), end_(scope_), clock_(scope_) {
    kinds_ = end_.kinds() | clock_.kinds() | bit(Kind::invoke);
  }

  void see(const Row& row, std::uint64_t index) {
    if (row.kind == Kind::invoke) {
      if (!scope_.sends(row.process) || row.message == 0) return;
      std::int64_t& state = state_[row.message];
      if (state == 0) state = std::max<std::int64_t>(row.aux, 0) + 1;
      return;
    }
    end_.see(row, index);
    clock_.see(row, [&](MessageId id, bool certain) {
      if (certain) {
        answered(id, row.time, index);
      } else if (state_.get(id) > 0) {
        perhaps_[id] = 1;
      }
    });
    if (clock_.found(row)) {
      std::int64_t& state = state_[row.message];
      if (state > 0) state = untimed;
    }
  }
  Finding finish() override;
  void reset() override {
    index_ = 0;
    end_.reset();
    clock_.reset();
    state_.reset();
    perhaps_.reset();
    first_late_ = none;
  }

 private:
  static constexpr std::int64_t untimed = std::numeric_limits<std::int64_t>::min();
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

  void answered(MessageId id, std::int64_t time, std::uint64_t index) {
    std::int64_t& state = state_[id];
    if (state <= 0) return;
    const std::int64_t took = std::max<std::int64_t>(time - (state - 1), 0);
    state = -took - 1;
    if (took > at_most_.ns && first_late_ == none) first_late_ = index;
  }
  void judge(Finding& finding, std::uint64_t unanswered, std::uint64_t untimed_ids);

  Scope scope_;
  Quantile quantile_;
  Duration at_most_;
  EndPhase end_;
  EffectClock clock_;
  // By id: 0 not invoked; > 0 waiting since (intended send + 1); < 0 answered after −(state + 1); or untimed.
  Paged<std::int64_t> state_;
  Paged<std::uint8_t> perhaps_;  // by id: it may have an effect
  std::vector<std::int64_t> samples_;
  std::uint64_t first_late_ = none;
};

Finding Latency::finish() {
  Finding finding;
  samples_.clear();
  std::uint64_t unanswered = 0, untimed_ids = 0;
  state_.for_each([&](std::uint64_t id, std::int64_t state) {
    if (state == 0) return;
    if (state == untimed || (state > 0 && perhaps_.get(id) != 0)) {
      ++untimed_ids;
      return;
    }
    const bool late = state > 0 || -(state + 1) > at_most_.ns;
    if (state > 0) ++unanswered;
    if (state < 0) samples_.push_back(-(state + 1));
    if (late && finding.violations++ == 0) finding.message = static_cast<MessageId>(id);
  });
  finding.observed = samples_.size() + untimed_ids;
  finding.population = finding.observed + unanswered;
  if (!end_.complete()) {
    finding.explanation = end_.problem(scope_);
  } else if (finding.population < scope_.observed_at_least) {
    finding.explanation = too_few(finding, finding.population, scope_.observed_at_least, "sample");
  } else {
    judge(finding, unanswered, untimed_ids);
  }
  if (finding.verdict != Verdict::violated) {
    finding.violations = 0;
    finding.message = 0;
  }
  return finding;
}

void Latency::judge(Finding& finding, std::uint64_t unanswered, std::uint64_t untimed_ids) {
  const std::uint64_t n = finding.population;
  const std::uint64_t rank = quantile_rank(n, quantile_.share);
  const std::int64_t at_worst = sample_of_rank(samples_, rank);
  const std::int64_t at_best = rank <= untimed_ids ? 0 : sample_of_rank(samples_, rank - untimed_ids);
  const RankInterval interval = quantile_interval(n, quantile_.share);
  const std::int64_t low = sample_of_rank(samples_, interval.low);
  const std::int64_t high = sample_of_rank(samples_, interval.high);
  const std::string name(quantile_.name);
  finding.value =
      at_worst == infinite ? std::numeric_limits<double>::infinity() : Duration::nanos(at_worst).in_seconds();
  if (at_worst <= at_most_.ns) {
    finding.verdict = Verdict::holds;
    finding.explanation = name + " " + told(at_worst) + " ≤ " + format_duration(at_most_);
  } else if (at_best > at_most_.ns) {
    finding.verdict = Verdict::violated;
    finding.explanation = name + " " + told(at_worst) + " > " + format_duration(at_most_);
    finding.witness = {first_late_ != none ? first_late_ : end_.quiet_row()};
  } else {
    finding.explanation = "nobody was told when " + counted(untimed_ids, "effect") +
                          " took place, on which the " + name + " depends";
    return;
  }
  finding.explanation += " (" + counted(n, "sample");
  if (quantile_.share.numerator < quantile_.share.denominator) {
    finding.explanation += ", 95 % between " + told(low) + " and " + told(high);
  }
  if (unanswered > 0) finding.explanation += ", " + std::to_string(unanswered) + " unanswered";
  finding.explanation += ")";
}

}  // namespace

std::unique_ptr<Checker> make_latency(const ClaimSpec& claim, const Scenario& scenario,
                                      const Topology& topology) {
  const Parameters parameters(claim, scenario, {"at_most", "deliveries", "stage"});
  const std::string name = claim.id.substr(claim.id.find('.') + 1);
  const auto* quantile =
      std::find_if(quantiles.begin(), quantiles.end(), [&](const Quantile& q) { return q.name == name; });
  if (quantile == quantiles.end()) {
    std::vector<std::string> names;
    names.reserve(quantiles.size());
    for (const Quantile& q : quantiles) names.emplace_back(q.name);
    parameters.fail("", "there is no quantile " + quoted(name) + "; " + suggestion(name, names));
  }
  const std::optional<Duration> at_most = parameters.duration("at_most");
  if (!at_most) parameters.fail("at_most", "is needed: at_most = \"15ms\"");
  Scope scope = resolve_scope(claim, scenario, topology, parameters, quantile->samples);
  need_one_reader(scope, parameters);
  scope.observed_at_least = std::max(scope.observed_at_least, quantile->samples);
  return std::make_unique<Latency>(std::move(scope), *quantile, *at_most);
}

}  // namespace mqlab
