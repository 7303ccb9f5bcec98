// accounted: every acked id ends in exactly one of the named places, once: in `in`, or as a dead letter of a
// stage that reads `of`, or in the store `store`. No message may be both processed and set aside, nor fall
// between.
//
// Source: reconciliation as payment systems do it; the dead letter channel of Hohpe and Woolf, "Enterprise
// Integration Patterns", 2003.
//
//   accounted = { of = "requests", in = "results" }
#include <algorithm>

#include "core/claims/effects.h"
#include "core/claims/excuses.h"
#include "core/claims/makers.h"
#include "core/claims/row_checker.h"
#include "core/claims/wording.h"

namespace mqlab {
namespace {

class Accounted final : public RowChecker<Accounted> {
 public:
  Accounted(Scope scope, Excuses excuses)
      : scope_(std::move(scope)), end_(scope_), excuses_(std::move(excuses)) {
    kinds_ = end_.kinds() | bit(Kind::publish) | bit(Kind::invoke) | excuses_.kinds();
  }

  void see(const Row& row, std::uint64_t index) {
    end_.see(row, index);
    if (excuses_.any()) excuses_.see(row);
    if (row.message == 0) return;
    if (row.kind == Kind::invoke && scope_.sends(row.process)) {
      ids_[row.message].invoked = 1;
    } else if (row.kind == Kind::publish && row.phase == Phase::ok && scope_.sends(row.process) &&
               scope_.is_of(row.place)) {
      Id& id = ids_[row.message];
      if (!id.acked) id.acked_row = index;
      id.acked = 1;
    } else if (is_record_audit(row) && (scope_.is_in(row.place) || scope_.is_dead(row.place))) {
      see_ending(row, index);
    }
  }
  Finding finish() override;
  void reset() override {
    index_ = 0;
    end_.reset();
    excuses_.reset();
    ids_.reset();
    endings_.reset();
  }

 private:
  struct Id {
    std::uint64_t acked_row : 61 = 0;
    std::uint64_t invoked : 1 = 0;
    std::uint64_t acked : 1 = 0;
    std::uint64_t open : 1 = 0;  // a record of a transaction without an outcome
  };
  struct Ending {
    std::uint64_t row = 0;
    std::int64_t position = -1;
    PlaceId place = no_place;
  };
  struct Endings {
    Ending first, second;
    std::uint32_t count = 0;
  };

  void see_ending(const Row& row, std::uint64_t index) {
    if ((row.flags & flag::open) != 0) ids_[row.message].open = 1;
    if ((row.flags & (flag::aborted | flag::open)) != 0) return;
    Endings& endings = endings_[row.message];
    const Ending ending = {index, row.position, row.place};
    if (endings.count == 0) endings.first = ending;
    if (endings.count == 1) endings.second = ending;
    ++endings.count;
  }
  void tell_lost(Finding& finding, MessageId lost) const;
  void tell_twice(Finding& finding, MessageId twice) const;

  Scope scope_;
  EndPhase end_;
  Excuses excuses_;
  Paged<Id> ids_;
  Paged<Endings> endings_;
};

Finding Accounted::finish() {
  Finding finding;
  std::uint64_t invoked = 0, open = 0, excused = 0, doubtful = 0;
  MessageId lost = 0, twice = 0;
  ids_.for_each([&](std::uint64_t id, const Id& state) {
    invoked += state.invoked;
    if (!state.invoked || !state.acked) return;
    ++finding.population;
    const std::uint32_t endings = endings_.get(id).count;
    finding.observed += endings;
    open += state.open;
    const bool missing = endings == 0 && !state.open;
    const Excuse excuse = missing ? excuses_.of(static_cast<MessageId>(id)) : Excuse::none;
    excused += excuse == Excuse::excused;
    doubtful += excuse == Excuse::doubtful;
    finding.violations += endings > 1 || (missing && excuse == Excuse::none);
    if (missing && excuse == Excuse::none && lost == 0) lost = static_cast<MessageId>(id);
    if (endings > 1 && twice == 0) twice = static_cast<MessageId>(id);
  });
  if (!end_.complete()) {
    finding.violations = 0;
    finding.explanation = end_.problem(scope_);
  } else if (finding.violations > 0) {
    finding.verdict = Verdict::violated;
    lost != 0 ? tell_lost(finding, lost) : tell_twice(finding, twice);
    if (finding.violations > 1)
      finding.explanation += " (and " + std::to_string(finding.violations - 1) + " more)";
  } else if (open > 0) {
    finding.explanation =
        "for " + counted(open, "id") + " nobody can tell where it ends: an open transaction";
  } else if (doubtful > 0) {
    finding.explanation = "for " + counted(doubtful, "id") +
                          " nobody can tell whether its loss is excused: an outcome is unknown";
  } else if (finding.observed < scope_.observed_at_least) {
    finding.explanation =
        too_few(finding, finding.observed, scope_.observed_at_least, "ending of an acked id");
  } else if (too_uncertain(invoked - finding.population, invoked, scope_.unknown_at_most)) {
    finding.explanation = uncertain(invoked - finding.population, invoked);
  } else {
    finding.verdict = Verdict::holds;
    finding.explanation = counted(finding.population, "acked id") + ", each in one place";
    if (excused > 0)
      finding.explanation +=
          ", " + std::to_string(excused) + (excused == 1 ? " loss" : " losses") + " excused";
  }
  return finding;
}

void Accounted::tell_lost(Finding& finding, MessageId lost) const {
  const std::uint64_t acked = ids_.get(lost).acked_row, quiet = end_.quiet_row();
  finding.message = lost;
  finding.explanation = "id " + std::to_string(lost) + " was acked by " + scope_.of + ", but is nowhere";
  finding.witness = {std::min(acked, quiet), std::max(acked, quiet)};
}

void Accounted::tell_twice(Finding& finding, MessageId twice) const {
  const Endings endings = endings_.get(twice);
  finding.message = twice;
  finding.explanation = "id " + std::to_string(twice) +
                        " ends twice: " + scope_.at(endings.first.place, endings.first.position) + " and " +
                        scope_.at(endings.second.place, endings.second.position);
  finding.witness = {endings.first.row, endings.second.row};
}

}  // namespace

std::unique_ptr<Checker> make_accounted(const ClaimSpec& claim, const Scenario& scenario,
                                        const Topology& topology) {
  const Parameters parameters(claim, scenario, {});
  if (claim.in.empty()) parameters.fail("in", "is needed: the topic or store in which an id should end");
  if (!claim.as.empty()) parameters.fail("as", "has no meaning here: what counts is where ids end");
  Scope scope = resolve_scope(claim, scenario, topology, parameters);
  Excuses excuses(claim, scenario, topology, scope, parameters);
  return std::make_unique<Accounted>(std::move(scope), std::move(excuses));
}

}  // namespace mqlab
