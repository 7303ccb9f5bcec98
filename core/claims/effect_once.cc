// effect_once: a write to a store takes effect at most once per id, however often it is asked for. What
// counts are writes that were applied, so that writing the same row twice is seen, though the store shows one
// row.
//
// Source: "effectively once" by deduplication at the sink, Helland, "Idempotence Is Not a Medical Condition",
// 2012.
//
//   effect_once = { of = "requests", in = "index" }
#include <algorithm>

#include "core/claims/effects.h"
#include "core/claims/makers.h"
#include "core/claims/row_checker.h"
#include "core/claims/wording.h"

namespace mqlab {
namespace {

class EffectOnce final : public RowChecker<EffectOnce> {
 public:
  explicit EffectOnce(Scope scope) : scope_(std::move(scope)), end_(scope_), writes_(scope_) {
    kinds_ = end_.kinds() | bit(Kind::store_write) | bit(Kind::invoke);
  }

  void see(const Row& row, std::uint64_t index) {
    end_.see(row, index);
    if (row.kind == Kind::invoke && scope_.sends(row.process) && row.message != 0) {
      invoked_ += ids_[row.message].invoked == 0;
      ids_[row.message].invoked = 1;
    }
    writes_.see(row, [&](MessageId id, bool certain) { applied(id, certain, index); });
  }
  bool decided() const override { return repeated_ > 0; }
  Finding finish() override;
  void reset() override {
    index_ = 0;
    end_.reset();
    writes_.reset();
    ids_.reset();
    invoked_ = applied_ = repeated_ = 0;
    first_ = {};
  }

 private:
  struct Id {
    std::uint64_t row : 40 = 0;  // of the first write that was applied
    std::uint64_t certain : 11 = 0;
    std::uint64_t perhaps : 11 = 0;
    std::uint64_t invoked : 1 = 0;
    std::uint64_t spare : 1 = 0;
  };
  struct Repeat {
    std::uint64_t first = 0, second = 0;
    MessageId id = 0;
  };
  static constexpr std::uint64_t most = 2047;

  void applied(MessageId message, bool certain, std::uint64_t index) {
    Id& id = ids_[message];
    if (!certain) {
      if (id.perhaps < most) id.perhaps = id.perhaps + 1;
      return;
    }
    ++applied_;
    if (id.certain == 0) id.row = index;
    if (id.certain < most) id.certain = id.certain + 1;
    if (id.certain == 2 && ++repeated_ == 1) first_ = {id.row, index, message};
  }

  Scope scope_;
  EndPhase end_;
  StoreWrites writes_;
  Paged<Id> ids_;
  std::uint64_t invoked_ = 0, applied_ = 0, repeated_ = 0;
  Repeat first_;
};

Finding EffectOnce::finish() {
  Finding finding;
  finding.observed = applied_;
  finding.population = invoked_;
  finding.violations = repeated_;
  std::uint64_t doubtful = 0;
  ids_.for_each(
      [&](std::uint64_t, const Id& id) { doubtful += id.perhaps > 0 && id.certain + id.perhaps > 1; });
  if (repeated_ > 0) {
    finding.verdict = Verdict::violated;
    finding.message = first_.id;
    finding.witness = {first_.first, first_.second};
    finding.explanation =
        "the write of id " + std::to_string(first_.id) + " to " + scope_.in + " took effect twice";
    if (repeated_ > 1) finding.explanation += " (and " + std::to_string(repeated_ - 1) + " more)";
  } else if (!end_.complete()) {
    finding.explanation = end_.problem(scope_);
  } else if (applied_ < scope_.observed_at_least) {
    finding.explanation = too_few(finding, applied_, scope_.observed_at_least, "write that took effect");
  } else if (doubtful > 0) {
    finding.explanation = "for " + counted(doubtful, "id") +
                          " nobody can tell whether a second write took effect: its end is unknown";
  } else {
    finding.verdict = Verdict::holds;
    finding.explanation = counted(applied_, "write") + ", each of another id";
  }
  return finding;
}

}  // namespace

std::unique_ptr<Checker> make_effect_once(const ClaimSpec& claim, const Scenario& scenario,
                                          const Topology& topology) {
  const Parameters parameters(claim, scenario, {});
  Scope scope = resolve_scope(claim, scenario, topology, parameters);
  if (scope.source != Source::store) parameters.fail("in", "is needed: the store whose writes are counted");
  return std::make_unique<EffectOnce>(std::move(scope));
}

}  // namespace mqlab
