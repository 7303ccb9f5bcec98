// backlog.bounded: at no time are more than `at_most` acked ids without their effect, and none is at the end.
#include "core/claims/effect_clock.h"
#include "core/claims/makers.h"
#include "core/claims/row_checker.h"
#include "core/claims/wording.h"

namespace mqlab {
namespace {

class BacklogBounded final : public RowChecker<BacklogBounded> {
 public:
  BacklogBounded(Scope scope, std::uint64_t at_most)
      : scope_(std::move(scope)), at_most_(at_most), end_(scope_), clock_(scope_) {
    kinds_ = end_.kinds() | clock_.kinds() | bit(Kind::publish);
  }

  void see(const Row& row, std::uint64_t index) {
    if (row.kind == Kind::publish && row.message != 0) see_publish(row, index);
    end_.see(row, index);
    const auto effect = [&](MessageId id, bool certain) { certain ? done(id) : perhaps(id); };
    see_letter(scope_, row, effect);
    clock_.see(row, effect);
    if (clock_.found(row)) done(row.message);
  }
  bool decided() const override { return exceeded_ > 0; }
  Finding finish() override;
  void reset() override {
    index_ = 0;
    end_.reset();
    clock_.reset();
    ids_.reset();
    backlog_ = in_doubt_ = most_ = acked_ = done_ = exceeded_ = 0;
    doubtful_ = false;
  }

 private:
  void see_publish(const Row& row, std::uint64_t index) {
    const bool ok = row.phase == Phase::ok;
    if (ok && scope_.sends(row.process) && scope_.is_of(row.place)) acked(row.message, index);
  }
  enum class Effect : std::uint8_t { none, perhaps, done };
  struct Id {
    std::uint64_t acked_row = 0;  // plus one
    Effect effect = Effect::none;
  };
  void acked(MessageId id, std::uint64_t index) {
    Id& state = ids_[id];
    if (state.acked_row != 0) return;
    state.acked_row = index + 1;
    ++acked_;
    if (state.effect == Effect::done) ++done_;
    if (state.effect == Effect::perhaps) ++in_doubt_;
    if (state.effect == Effect::none) grow(id, index);
    if (backlog_ <= at_most_ && backlog_ + in_doubt_ > at_most_) doubtful_ = true;
  }
  void grow(MessageId id, std::uint64_t index) {
    most_ = std::max(most_, ++backlog_);
    if (backlog_ == at_most_ + 1 && ++exceeded_ == 1) {
      first_row_ = index;
      first_id_ = id;
    }
  }
  void done(MessageId id) {
    Id& state = ids_[id];
    if (state.acked_row != 0 && state.effect != Effect::done) {
      ++done_;
      --(state.effect == Effect::none ? backlog_ : in_doubt_);
    }
    state.effect = Effect::done;
  }
  void perhaps(MessageId id) {
    Id& state = ids_[id];
    if (state.effect != Effect::none) return;
    state.effect = Effect::perhaps;
    if (state.acked_row == 0) return;
    --backlog_;
    ++in_doubt_;
  }

  Scope scope_;
  std::uint64_t at_most_;
  EndPhase end_;
  EffectClock clock_;
  Paged<Id> ids_;
  std::uint64_t backlog_ = 0;   // acked, surely without effect
  std::uint64_t in_doubt_ = 0;  // acked, perhaps with one
  bool doubtful_ = false;       // with those in doubt the bound was passed
  std::uint64_t most_ = 0, acked_ = 0, done_ = 0;
  std::uint64_t exceeded_ = 0;  // how often the bound was passed
  std::uint64_t first_row_ = 0;
  MessageId first_id_ = 0;
};

Finding BacklogBounded::finish() {
  Finding finding;
  finding.population = acked_;
  finding.observed = done_;
  finding.value = static_cast<double>(most_);
  const bool complete = end_.complete();
  finding.violations = exceeded_ + (complete ? backlog_ : 0);
  if (exceeded_ > 0) {
    finding.verdict = Verdict::violated;
    finding.message = first_id_;
    finding.witness = {first_row_};
    finding.explanation = "with id " + std::to_string(first_id_) + " the backlog of " + scope_.of +
                          " exceeds " + std::to_string(at_most_) + "; at most it was " +
                          std::to_string(most_);
  } else if (complete && backlog_ > 0) {
    std::uint64_t row = 0;
    ids_.for_each([&](std::uint64_t id, const Id& state) {
      if (finding.message != 0 || state.acked_row == 0 || state.effect != Effect::none) return;
      finding.message = static_cast<MessageId>(id);
      row = state.acked_row - 1;
    });
    finding.verdict = Verdict::violated;
    finding.witness = {std::min(row, end_.quiet_row()), std::max(row, end_.quiet_row())};
    finding.explanation = counted(backlog_, "acked id") + " of " + scope_.of +
                          " had no effect at the end, the first is id " + std::to_string(finding.message);
  } else if (!complete) {
    finding.explanation = end_.problem(scope_);
  } else if (done_ < scope_.observed_at_least) {
    finding.explanation = too_few(finding, done_, scope_.observed_at_least, "effect of an acked id");
  } else if (doubtful_ || in_doubt_ > 0) {
    finding.explanation = "nobody was told when some effects took place, on which the backlog depends";
  } else {
    finding.verdict = Verdict::holds;
    finding.explanation =
        "the backlog of " + scope_.of + " was at most " + std::to_string(most_) + " and is 0 at the end";
  }
  return finding;
}

}  // namespace

std::unique_ptr<Checker> make_backlog_bounded(const ClaimSpec& claim, const Scenario& scenario,
                                              const Topology& topology) {
  const Parameters parameters(claim, scenario, {"at_most", "deliveries", "stage"});
  const std::optional<std::uint64_t> at_most = parameters.count("at_most");
  if (!at_most) parameters.fail("at_most", "is needed: at_most = 1000");
  Scope scope = resolve_scope(claim, scenario, topology, parameters);
  need_one_reader(scope, parameters);
  return std::make_unique<BacklogBounded>(std::move(scope), *at_most);
}

}  // namespace mqlab
