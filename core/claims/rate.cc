// rate.loss, rate.duplicates: of the acked ids, no larger share than `at_most` has no effect, or several.
// Beside the rate stands its interval at 95 % (Wilson, "Probable inference", 1927): what a longer run may
// well show.
//
//   "rate.loss" = { of = "requests", in = "results", at_most = "0.1%" }
#include <algorithm>
#include <cmath>

#include "core/claims/makers.h"
#include "core/claims/parameters.h"
#include "core/claims/wording.h"
#include "core/scenario/units.h"

namespace mqlab {
namespace {

struct Interval {
  double low = 0, high = 1;
};

/// n ≥ 1. Needs no more than a square root, so every build says the same.
Interval wilson(std::uint64_t hits, std::uint64_t n) {
  constexpr double z = 1.959963984540054;
  const double count = static_cast<double>(n), share = static_cast<double>(hits) / count;
  const double middle = share + z * z / (2 * count);
  const double reach = z * std::sqrt(share * (1 - share) / count + z * z / (4 * count * count));
  const double whole = 1 + z * z / count;
  return {std::max(0.0, (middle - reach) / whole), std::min(1.0, (middle + reach) / whole)};
}

/// "0.12 %", cut after two places.
std::string percent(double share) {
  return format_number(static_cast<double>(static_cast<std::int64_t>(share * 10'000)) / 100) + " %";
}

/// Counts by means of the claim that allows none.
class Rate final : public Checker {
 public:
  Rate(std::unique_ptr<Checker> none, double at_most, std::string what)
      : none_(std::move(none)), at_most_(at_most), what_(std::move(what)) {}

  void observe(std::span<const Row> rows) override { none_->observe(rows); }
  void reset() override { none_->reset(); }
  Finding finish() override {
    Finding finding = none_->finish();
    if (finding.verdict == Verdict::undecided) return finding;
    const std::uint64_t hits = finding.violations, n = std::max<std::uint64_t>(finding.population, 1);
    finding.value = static_cast<double>(hits) / static_cast<double>(n);
    const bool within = finding.value <= at_most_;
    const Interval interval = wilson(std::min(hits, n), n);
    finding.explanation = counted(hits, "acked id") + " of " + std::to_string(n) + " " + what_ + ": " +
                          percent(finding.value) + (within ? " ≤ " : " > ") + percent(at_most_) +
                          " (95 % between " + percent(interval.low) + " and " + percent(interval.high) + ")";
    if (!within) return finding;
    finding.verdict = Verdict::holds;
    finding.violations = 0;
    finding.witness.clear();
    finding.message = 0;
    return finding;
  }

 private:
  std::unique_ptr<Checker> none_;
  double at_most_;
  std::string what_;
};

std::unique_ptr<Checker> make(const ClaimSpec& claim, const Scenario& scenario, const Topology& topology,
                              Maker& none, const std::string& what) {
  const Parameters parameters(claim, scenario, {"at_most", "deliveries", "stage"});
  const double at_most = parameters.share("at_most", -1);
  if (at_most < 0) parameters.fail("at_most", "is needed: at_most = \"0.1%\"");
  ClaimSpec inner = claim;
  std::erase_if(inner.parameters, [](const Property& p) { return p.key == "at_most"; });
  return std::make_unique<Rate>(none(inner, scenario, topology), at_most, what);
}

}  // namespace

std::unique_ptr<Checker> make_rate_loss(const ClaimSpec& claim, const Scenario& scenario,
                                        const Topology& topology) {
  return make(claim, scenario, topology, make_no_loss, "without effect");
}

std::unique_ptr<Checker> make_rate_duplicates(const ClaimSpec& claim, const Scenario& scenario,
                                              const Topology& topology) {
  return make(claim, scenario, topology, make_no_duplicates, "with several effects");
}

}  // namespace mqlab
