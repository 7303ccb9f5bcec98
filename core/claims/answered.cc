// answered: each call has exactly one answer, and within `within` of when it should have been sent: a reply
// (an effect, wherever the claim looks for it), or an error: a dead letter, or a failure its sender was told
// of. A call of which nobody knows whether it was sent may lack one.
//
// Observed: answers. An answer of which nobody was told when it was given leaves the claim undecided.
//
// Source: request-reply of Hohpe and Woolf, "Enterprise Integration Patterns", 2003; deadlines as gRPC has
// them: grpc.io/docs/guides/deadlines.
//
//   answered = { of = "requests", in = "replies", as = "caller", within = "5s" }
#include <algorithm>
#include <limits>

#include "core/claims/effect_clock.h"
#include "core/claims/makers.h"
#include "core/claims/row_checker.h"
#include "core/claims/wording.h"
#include "core/scenario/units.h"

namespace mqlab {
namespace {

class Answered final : public RowChecker<Answered> {
 public:
  Answered(Scope scope, Duration within)
      : scope_(std::move(scope)), within_(within), end_(scope_), reader_(scope_), clock_(scope_) {
    kinds_ = end_.kinds() | reader_.kinds() | clock_.kinds() | bit(Kind::invoke) | bit(Kind::publish);
  }

  void see(const Row& row, std::uint64_t index) {
    end_.see(row, index);
    const auto answer = [&](MessageId id, bool certain) { timed(id, row.time, certain); };
    clock_.see(row, answer);
    see_letter(scope_, row, answer);
    if (row.message == 0) return;
    if (row.kind == Kind::invoke && scope_.sends(row.process)) {
      Call& call = calls_[row.message];
      if (!call.invoked) call.since = std::max<std::int64_t>(row.aux, 0);
      call.invoked = true;
    }
    if (row.kind == Kind::publish) see_publish(row, index);
    const bool letter =
        is_record_audit(row) && scope_.is_dead(row.place) && (row.flags & (flag::aborted | flag::open)) == 0;
    if (letter || reader_.lane_of(row) >= 0) given(calls_[row.message], index);
    if (reader_.open(row) || reader_.doubtful_lane(row) >= 0) calls_[row.message].pending = true;
  }
  Finding finish() override;
  void reset() override {
    index_ = 0;
    end_.reset();
    reader_.reset();
    clock_.reset();
    calls_.reset();
  }

 private:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  struct Call {
    std::int64_t since = 0, answered_at = never, failed_at = never;
    std::uint64_t sent_row = 0, failed_row = 0, answer_row = 0, second_row = 0;
    std::uint32_t answers = 0, open = 0;
    bool invoked = false, acked = false, failed = false, unknown = false;
    bool pending = false;  // one more answer may come to light
    bool perhaps = false;  // it may have been answered before answered_at
    bool excluded() const { return failed && !acked && !unknown && open == 0; }
  };
  enum class End : std::uint8_t { well, untold, doubtful, missing, late, twice };

  void see_publish(const Row& row, std::uint64_t index);
  void timed(MessageId id, std::int64_t time, bool certain) {
    Call& call = calls_[id];
    if (certain) call.answered_at = std::min(call.answered_at, time);
    call.perhaps = call.perhaps || !certain;
  }
  static void given(Call& call, std::uint64_t index) {
    if (++call.answers == 1) call.answer_row = index;
    if (call.answers == 2) call.second_row = index;
  }
  End end_of(const Call& call) const;
  void tell(Finding& finding, MessageId id, End end) const;

  Scope scope_;
  Duration within_;
  EndPhase end_;
  EffectReader reader_;
  EffectClock clock_;
  Paged<Call> calls_;
};

void Answered::see_publish(const Row& row, std::uint64_t index) {
  if (!scope_.sends(row.process)) return;
  Call& call = calls_[row.message];
  if (row.phase == Phase::invoke) {
    if (call.sent_row == 0) call.sent_row = index;
    ++call.open;
    return;
  }
  if (call.open > 0) --call.open;
  call.unknown = call.unknown || row.phase == Phase::unknown;
  call.acked = call.acked || (row.phase == Phase::ok && scope_.is_of(row.place));
  if (row.phase != Phase::fail) return;
  call.failed = true;
  call.failed_at = row.time;
  call.failed_row = index;
}

Answered::End Answered::end_of(const Call& call) const {
  const bool told = call.excluded();  // that it failed
  const std::uint32_t answers = call.answers + told;
  if (answers > 1) return End::twice;
  if (answers == 0) {
    if (call.pending) return End::doubtful;
    return call.acked ? End::missing : End::untold;
  }
  if (call.pending) return End::doubtful;
  const std::int64_t at = told ? call.failed_at : call.answered_at;
  if (at != never && at - call.since <= within_.ns) return End::well;
  return at == never || (call.perhaps && !told) ? End::doubtful : End::late;
}

void Answered::tell(Finding& finding, MessageId id, End end) const {
  const Call call = calls_.get(id);
  const std::string name = "id " + std::to_string(id);
  finding.message = id;
  if (end == End::missing) {
    finding.explanation = name + " was acked by " + scope_.of + ", but never answered";
    finding.witness = {call.sent_row, end_.quiet_row()};
  } else if (end == End::late) {
    const std::int64_t at = call.excluded() ? call.failed_at : call.answered_at;
    finding.explanation = name + " was answered after " + format_duration(Duration::nanos(at - call.since)) +
                          ", later than " + format_duration(within_);
    finding.witness = {call.sent_row, call.excluded() ? call.failed_row : call.answer_row};
  } else {
    finding.explanation =
        name + (call.answers > 1 ? " was answered twice"
                                 : " was answered, though its sender was told that it failed");
    finding.witness = {call.answers > 1 ? call.second_row : call.failed_row, call.answer_row};
  }
  std::sort(finding.witness.begin(), finding.witness.end());
}

Finding Answered::finish() {
  Finding finding;
  std::uint64_t untold = 0, doubtful = 0;
  MessageId first = 0;
  End first_end = End::well;
  calls_.for_each([&](std::uint64_t id, const Call& call) {
    if (!call.invoked) return;
    ++finding.population;
    const End end = end_of(call);
    finding.observed += call.answers > 0 || call.excluded();
    untold += end == End::untold;
    doubtful += end == End::doubtful;
    if (end < End::missing) return;
    if (finding.violations++ > 0) return;
    first = static_cast<MessageId>(id);
    first_end = end;
  });
  if (!end_.complete()) {
    finding.violations = 0;
    finding.explanation = end_.problem(scope_);
  } else if (finding.violations > 0) {
    finding.verdict = Verdict::violated;
    tell(finding, first, first_end);
    if (finding.violations > 1)
      finding.explanation += " (and " + std::to_string(finding.violations - 1) + " more)";
  } else if (doubtful > 0) {
    finding.explanation =
        "for " + counted(doubtful, "id") + " nobody can tell whether, or when, it was answered";
  } else if (finding.observed < scope_.observed_at_least) {
    finding.explanation = too_few(finding, finding.observed, scope_.observed_at_least, "answer");
  } else if (too_uncertain(untold, finding.population, scope_.unknown_at_most)) {
    finding.explanation = uncertain(untold, finding.population);
  } else {
    finding.verdict = Verdict::holds;
    finding.explanation =
        counted(finding.observed, "answer") + ", none later than " + format_duration(within_);
  }
  return finding;
}

}  // namespace

std::unique_ptr<Checker> make_answered(const ClaimSpec& claim, const Scenario& scenario,
                                       const Topology& topology) {
  const Parameters parameters(claim, scenario, {"within", "deliveries", "stage"});
  const std::optional<Duration> within = parameters.duration("within");
  if (!within) parameters.fail("within", "is needed: within = \"5s\"");
  Scope scope = resolve_scope(claim, scenario, topology, parameters);
  need_one_reader(scope, parameters);
  return std::make_unique<Answered>(std::move(scope), *within);
}

}  // namespace mqlab
