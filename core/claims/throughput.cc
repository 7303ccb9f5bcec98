// throughput: effects per second in the steady window are at least so many. The window is the time of the
// intended sends, without a share `trim` of it at either end, where the pipeline fills and drains.
#include <limits>

#include "core/claims/effect_clock.h"
#include "core/claims/makers.h"
#include "core/claims/row_checker.h"
#include "core/claims/wording.h"
#include "core/scenario/units.h"

namespace mqlab {
namespace {

constexpr std::uint64_t sends_needed = 100;

class Throughput final : public RowChecker<Throughput> {
 public:
  Throughput(Scope scope, double at_least, double trim)
      : scope_(std::move(scope)), at_least_(at_least), trim_(trim), end_(scope_), clock_(scope_) {
    kinds_ = end_.kinds() | clock_.kinds() | bit(Kind::invoke);
  }

  void see(const Row& row, std::uint64_t index) {
    if (row.kind == Kind::invoke) {
      if (!scope_.sends(row.process) || row.message == 0 || state_[row.message] != 0) return;
      state_[row.message] = sent;
      ++sent_;
      first_ = std::min(first_, row.aux);
      last_ = std::max(last_, row.aux);
      return;
    }
    end_.see(row, index);
    clock_.see(row, [&](MessageId id, bool certain) {
      std::uint8_t& state = state_[id];
      if (state != sent && state != perhaps) return;  // not ours, or a repeat
      state = certain ? done : perhaps;
      if (certain) times_.push_back(row.time);
    });
  }
  Finding finish() override;
  void reset() override {
    index_ = 0;
    end_.reset();
    clock_.reset();
    state_.reset();
    times_.clear();
    sent_ = 0;
    first_ = std::numeric_limits<std::int64_t>::max();
    last_ = std::numeric_limits<std::int64_t>::min();
  }

 private:
  static constexpr std::uint8_t sent = 1, perhaps = 2, done = 3;

  Scope scope_;
  double at_least_, trim_;
  EndPhase end_;
  EffectClock clock_;
  Paged<std::uint8_t> state_;        // by id: sent, perhaps with an effect, with one
  std::vector<std::int64_t> times_;  // of first effects
  std::uint64_t sent_ = 0;
  std::int64_t first_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ = std::numeric_limits<std::int64_t>::min();
};

Finding Throughput::finish() {
  Finding finding;
  finding.population = sent_;
  if (!end_.complete()) {
    finding.explanation = end_.problem(scope_);
    return finding;
  }
  if (sent_ < scope_.observed_at_least) {
    finding.explanation = too_few(finding, sent_, scope_.observed_at_least, "send");
    return finding;
  }
  const auto cut = static_cast<std::int64_t>(static_cast<double>(last_ - first_) * trim_);
  const std::int64_t begin = first_ + cut, end = last_ - cut;
  if (end <= begin) {
    finding.explanation = "the sends span no time in which to count";
    return finding;
  }
  for (const std::int64_t time : times_) finding.observed += time >= begin && time < end;
  std::uint64_t in_doubt = 0;  // effects without a time
  state_.for_each([&](std::uint64_t, std::uint8_t state) { in_doubt += state == perhaps; });
  const double seconds = Duration::nanos(end - begin).in_seconds();
  finding.value = static_cast<double>(finding.observed) / seconds;
  const bool enough = finding.value >= at_least_;
  if (!enough && static_cast<double>(finding.observed + in_doubt) / seconds >= at_least_) {
    finding.explanation =
        "nobody was told when " + counted(in_doubt, "effect") + " took place, on which the rate depends";
    return finding;
  }
  finding.verdict = enough ? Verdict::holds : Verdict::violated;
  finding.violations = enough ? 0 : 1;
  if (!enough) finding.witness = {end_.quiet_row()};
  const double rounded = static_cast<double>(static_cast<std::int64_t>(finding.value * 10)) / 10;
  finding.explanation = format_number(rounded) + "/s " + (enough ? "≥ " : "< ") + format_number(at_least_) +
                        "/s over " + format_duration(Duration::nanos(end - begin));
  return finding;
}

}  // namespace

std::unique_ptr<Checker> make_throughput(const ClaimSpec& claim, const Scenario& scenario,
                                         const Topology& topology) {
  const Parameters parameters(claim, scenario, {"at_least", "trim", "deliveries", "stage"});
  const std::optional<double> at_least = parameters.rate("at_least");
  if (!at_least) parameters.fail("at_least", "is needed: at_least = \"1000/s\"");
  const double trim = parameters.share("trim", 0.1);
  if (trim >= 0.5) parameters.fail("trim", "must be less than 0.5: it is cut off at both ends");
  Scope scope = resolve_scope(claim, scenario, topology, parameters, sends_needed);
  need_one_reader(scope, parameters);
  return std::make_unique<Throughput>(std::move(scope), *at_least, trim);
}

}  // namespace mqlab
