// order.causal: no observer reads b without, or before, an acked a on which b depends. b depends on what its
// sender had sent before it, on what had reached its sender's handlers before it, and on what these depend
// on. What a process knew dies with its incarnation. Judged are pairs of records in the topic that is
// observed; a chain may lead through others.
//
// Linear in rows times senders (incarnations of processes that publish). Observed: records that depend on
// another one of the topic. When of more than `unknown_at_most` nobody can tell who sent them, undecided.
//
// Source: Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", 1978; causal
// broadcast: Birman and Joseph, "Reliable Communication in the Presence of Failures", 1987.
//
//   "order.causal" = { in = "chat" }
#include "core/claims/order_causal.h"

#include "core/claims/makers.h"
#include "core/claims/observers.h"
#include "core/claims/row_checker.h"
#include "core/claims/wording.h"

namespace mqlab {
namespace {

class OrderCausal final : public RowChecker<OrderCausal> {
 public:
  OrderCausal(std::vector<Scope> scopes, Causes causes)
      : readings_(std::move(scopes)), causes_(std::move(causes)) {
    kinds_ = Causes::kinds() | readings_.kinds();
  }

  void see(const Row& row, std::uint64_t index) {
    readings_.see(row, index);
    causes_.see(row, index);
  }
  Finding finish() override;
  void reset() override {
    index_ = 0;
    readings_.reset();
    causes_.reset();
  }

 private:
  using Reading = FirstReadings::Reading;
  using Observer = FirstReadings::Observer;
  struct Tally {
    std::uint64_t dependent = 0, readings = 0, untold = 0, violations = 0;
  };

  Tally judge(const Observer& observer, Finding& finding) const;
  void tell(Finding& finding, const Observer& observer, const Reading& late, std::uint32_t source,
            const Causes::Publish& missing) const;

  FirstReadings readings_;
  Causes causes_;
};

/// Follows, for each sender, the first of its acked records that the observer has not read yet.
OrderCausal::Tally OrderCausal::judge(const Observer& observer, Finding& finding) const {
  Tally tally;
  std::vector<std::vector<std::uint32_t>> acked(causes_.senders());
  std::vector<std::size_t> next(causes_.senders());
  for (std::uint32_t p = 0; p < causes_.publishes().size(); ++p) {
    const Causes::Publish& publish = causes_.publishes()[p];
    if (observer.scope.is_in(publish.place) && causes_.acked(publish)) acked[publish.sender].push_back(p);
  }
  const auto publish = [&](std::uint32_t p) -> const Causes::Publish& { return causes_.publishes()[p]; };
  for (const Reading& reading : observer.order) {
    ++tally.readings;
    const std::uint32_t source = causes_.source(reading.id, reading.place, reading.position);
    if (source == Causes::none) {
      ++tally.untold;
      continue;
    }
    bool dependent = false;
    std::uint32_t missing = Causes::none;
    for (std::size_t s = 0; s < acked.size(); ++s) {
      const std::uint32_t depends = causes_.depends(source, s);
      if (depends == 0 || acked[s].empty()) continue;
      dependent = dependent || publish(acked[s].front()).number <= depends;
      const auto read = [&](std::uint32_t p) {
        const std::uint64_t row = observer.met.get(publish(p).id);
        return row != 0 && row - 1 <= reading.row;
      };
      while (next[s] < acked[s].size() && read(acked[s][next[s]])) ++next[s];
      if (next[s] < acked[s].size() && publish(acked[s][next[s]]).number <= depends &&
          missing == Causes::none)
        missing = acked[s][next[s]];
    }
    tally.dependent += dependent;
    if (missing == Causes::none) continue;
    ++tally.violations;
    if (finding.witness.empty()) tell(finding, observer, reading, source, publish(missing));
  }
  return tally;
}

/// "billing read id 5 (chat/1@3) without id 2, which api-0 had sent before it"
void OrderCausal::tell(Finding& finding, const Observer& observer, const Reading& late, std::uint32_t source,
                       const Causes::Publish& missing) const {
  const Scope& scope = observer.scope;
  const Causes::Publish& sent = causes_.publishes()[source];
  const std::uint64_t met = observer.met.get(missing.id);
  finding.message = missing.id;
  finding.witness = {missing.row, sent.row, late.row};
  if (met != 0) finding.witness.push_back(met - 1);
  std::sort(finding.witness.begin(), finding.witness.end());
  finding.witness.erase(std::unique(finding.witness.begin(), finding.witness.end()), finding.witness.end());
  const std::string sender = scope.name_of_process(sent.process);
  finding.explanation = scope.as + " read id " + std::to_string(late.id) + " (" +
                        scope.at(late.place, late.position) + ") " + (met == 0 ? "without" : "before") +
                        " id " + std::to_string(missing.id) + " (" +
                        scope.at(missing.place, missing.position) + "), which " +
                        (missing.sender == sent.sender ? sender + " had sent before it"
                                                       : "had reached " + sender + " before it was sent");
}

Finding OrderCausal::finish() {
  Finding finding;
  finding.explanation = readings_.problem();
  const bool complete = finding.explanation.empty();
  causes_.settle();
  Tally all;
  Finding told;
  for (const Observer& observer : readings_.observers()) {
    const Tally one = judge(observer, told);
    all.dependent += one.dependent;
    all.readings += one.readings;
    all.untold += one.untold;
    all.violations += one.violations;
  }
  finding.observed = all.dependent;
  finding.population = all.readings;
  if (!complete) return finding;
  if (all.violations > 0) {
    told.verdict = Verdict::violated;
    told.violations = all.violations;
    told.observed = all.dependent;
    told.population = all.readings;
    if (all.violations > 1) told.explanation += " (and " + std::to_string(all.violations - 1) + " more)";
    return told;
  }
  const Scope& scope = readings_.observers().front().scope;
  if (all.dependent < scope.observed_at_least) {
    finding.explanation =
        too_few(finding, all.dependent, scope.observed_at_least, "record that depends on another");
  } else if (too_uncertain(all.untold, all.readings, scope.unknown_at_most)) {
    finding.explanation = "who sent them cannot be told for " + std::to_string(all.untold) + " of " +
                          counted(all.readings, "record");
  } else {
    finding.verdict = Verdict::holds;
    finding.explanation = counted(all.dependent, "record") + " that " +
                          (all.dependent == 1 ? "depends" : "depend") + " on others, none read too early";
  }
  return finding;
}

}  // namespace

std::unique_ptr<Checker> make_order_causal(const ClaimSpec& claim, const Scenario& scenario,
                                           const Topology& topology) {
  const Parameters parameters(claim, scenario, {});
  return std::make_unique<OrderCausal>(resolve_observers(claim, scenario, topology, parameters, 1),
                                       Causes(scenario, topology));
}

}  // namespace mqlab
