// recovers: the backlog that the last fault leaves is gone within `within` of its end: each id that was acked
// by then has its effect by then. Without a fault the time runs from the last that its senders did.
//
// Effects and dead letters are those of backlog.bounded. An effect of which nobody was told when it took
// place leaves the claim undecided. Observed: ids that had to be done in time.
//
// Source: recoverability, "mean recovery time", of ISO/IEC 25023:2016.
//
//   recovers = { of = "requests", in = "results", within = "30s" }
#include <algorithm>
#include <limits>

#include "core/claims/effect_clock.h"
#include "core/claims/makers.h"
#include "core/claims/row_checker.h"
#include "core/claims/wording.h"
#include "core/scenario/units.h"

namespace mqlab {
namespace {

class Recovers final : public RowChecker<Recovers> {
 public:
  Recovers(Scope scope, Duration within)
      : scope_(std::move(scope)), within_(within), end_(scope_), clock_(scope_) {
    kinds_ = end_.kinds() | clock_.kinds() | bit(Kind::publish) | bit(Kind::fault) | bit(Kind::heal);
  }

  void see(const Row& row, std::uint64_t index) {
    end_.see(row, index);
    if (row.kind == Kind::quiet) rest_ = true;
    if ((row.kind == Kind::fault || row.kind == Kind::heal) && !rest_) {
      faulty_ = true;
      from_ = {row.time, index};
    }
    if (row.kind == Kind::publish && row.message != 0) see_publish(row, index);
    const auto effect = [&](MessageId id, bool certain) {
      certain ? done(id, row.time, index) : perhaps(id);
    };
    clock_.see(row, effect);
    see_letter(scope_, row, effect);
    if (clock_.found(row)) found(row.message);
  }
  Finding finish() override;
  void reset() override {
    index_ = 0;
    end_.reset();
    clock_.reset();
    ids_.reset();
    faulty_ = rest_ = false;
    from_ = last_sent_ = {};
  }

 private:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  struct Moment {
    std::int64_t time = 0;
    std::uint64_t row = 0;
  };
  struct Id {
    std::int64_t acked = never, done = never;
    std::uint64_t acked_row = 0, done_row = 0;
    bool perhaps = false;  // it may have its effect, or had it before `done`
  };

  void see_publish(const Row& row, std::uint64_t index) {
    if (scope_.sends(row.process)) last_sent_ = {row.time, index};
    if (row.phase == Phase::ok && scope_.sends(row.process) && scope_.is_of(row.place)) {
      Id& id = ids_[row.message];
      if (id.acked == never) id.acked_row = index;
      id.acked = std::min(id.acked, row.time);
    }
  }
  void done(MessageId id, std::int64_t time, std::uint64_t index) {
    Id& state = ids_[id];
    if (time >= state.done) return;
    state.done = time;
    state.done_row = index;
  }
  void perhaps(MessageId id) { ids_[id].perhaps = true; }
  void found(MessageId id) {
    Id& state = ids_[id];
    if (state.done == never) state.perhaps = true;
  }
  void tell(Finding& finding, MessageId id, Moment from) const;

  Scope scope_;
  Duration within_;
  EndPhase end_;
  EffectClock clock_;
  Paged<Id> ids_;
  bool faulty_ = false, rest_ = false;
  Moment from_, last_sent_;
};

void Recovers::tell(Finding& finding, MessageId id, Moment from) const {
  const Id state = ids_.get(id);
  const std::string since = faulty_ ? "the last fault" : "the last sending";
  finding.message = id;
  finding.explanation =
      "id " + std::to_string(id) + " was acked by " + scope_.of + ", but " +
      (state.done == never ? "was never done"
                           : "was done " + format_duration(Duration::nanos(state.done - from.time)) +
                                 " after " + since + ", later than " + format_duration(within_));
  finding.witness = {state.acked_row, from.row, state.done == never ? end_.quiet_row() : state.done_row};
  std::sort(finding.witness.begin(), finding.witness.end());
  finding.witness.erase(std::unique(finding.witness.begin(), finding.witness.end()), finding.witness.end());
}

Finding Recovers::finish() {
  Finding finding;
  const Moment from = faulty_ ? from_ : last_sent_;
  std::uint64_t doubtful = 0;
  std::int64_t last = 0;
  MessageId first = 0;
  ids_.for_each([&](std::uint64_t id, const Id& state) {
    if (state.acked == never) return;
    ++finding.population;
    if (state.acked > from.time) return;
    ++finding.observed;
    if (state.done != never && state.done - from.time <= within_.ns) {
      last = std::max(last, state.done - from.time);
    } else if (state.perhaps) {
      ++doubtful;
    } else if (finding.violations++ == 0) {
      first = static_cast<MessageId>(id);
    }
  });
  finding.value = Duration::nanos(last).in_seconds();
  if (!end_.complete()) {
    finding.violations = 0;
    finding.explanation = end_.problem(scope_);
  } else if (finding.violations > 0) {
    finding.verdict = Verdict::violated;
    tell(finding, first, from);
    if (finding.violations > 1)
      finding.explanation += " (and " + std::to_string(finding.violations - 1) + " more)";
  } else if (finding.observed < scope_.observed_at_least) {
    finding.explanation =
        too_few(finding, finding.observed, scope_.observed_at_least, "id acked by the end of the last fault");
  } else if (doubtful > 0) {
    finding.explanation = "nobody was told when " + counted(doubtful, "effect") + " took place";
  } else {
    finding.verdict = Verdict::holds;
    finding.explanation = counted(finding.observed, "id") + ", the last one done " +
                          format_duration(Duration::nanos(last)) + " after " +
                          (faulty_ ? "the last fault" : "the last sending");
  }
  return finding;
}

}  // namespace

std::unique_ptr<Checker> make_recovers(const ClaimSpec& claim, const Scenario& scenario,
                                       const Topology& topology) {
  const Parameters parameters(claim, scenario, {"within", "deliveries", "stage"});
  const std::optional<Duration> within = parameters.duration("within");
  if (!within) parameters.fail("within", "is needed: within = \"30s\"");
  Scope scope = resolve_scope(claim, scenario, topology, parameters);
  need_one_reader(scope, parameters);
  return std::make_unique<Recovers>(std::move(scope), *within);
}

}  // namespace mqlab
