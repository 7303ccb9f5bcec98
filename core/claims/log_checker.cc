#include "core/claims/log_checker.h"

#include <algorithm>

#include "core/claims/wording.h"

namespace mqlab {
namespace {

constexpr std::size_t anomalies_kept = 1000;

std::string list(const std::vector<MessageId>& ids) {
  std::string text;
  for (const MessageId id : ids) text += (text.empty() ? "id " : ", id ") + std::to_string(id);
  return text;
}

/// "poll-skip in x/0: id 1, id 4 (skipped id 2)"
std::string tell(const Anomaly& a, const Scope& scope) {
  std::string text(a.name);
  if (a.place != no_place) text += " in " + scope.places[a.place];
  if (!a.ids.empty()) text += ": " + list(a.ids);
  if (!a.positions.empty()) {
    text += " at";
    for (const std::int64_t position : a.positions) text += " " + std::to_string(position);
  }
  if (!a.skipped.empty()) text += " (skipped " + list(a.skipped) + ")";
  for (const Anomaly::Step& step : a.steps) {
    text += step.from_row == a.steps.front().from_row && &step == &a.steps.front() ? ": " : ", ";
    text += std::string(step.type) + " " + scope.places[step.place] + " id " + std::to_string(step.id);
  }
  return text;
}

class LogChecker final : public RowChecker<LogChecker> {
 public:
  LogChecker(Scope scope, LogClaim what)
      : scope_(std::move(scope)),
        what_(std::move(what)),
        end_(scope_),
        facts_(scope_.in_place, scope_.processes.size()) {
    kinds_ = end_.kinds() | LogFacts::kinds() | bit(Kind::fetch);
    open_.resize(scope_.processes.size());
  }
  void see(const Row& row, std::uint64_t index) {
    end_.see(row, index);
    if (row.kind == Kind::quiet) at_rest_ = row.phase == Phase::ok;
    facts_.see(row, index);
    if (row.process < open_.size()) see_batch(row);
  }
  Finding finish() override;
  void reset() override {
    index_ = 0;
    end_.reset();
    facts_.reset();
    std::fill(open_.begin(), open_.end(), 0);
    at_rest_ = short_ = false;
  }

 private:
  /// A batch says how many records follow; one that is short may hide a reading, whoever's it was.
  void see_batch(const Row& row) {
    std::int64_t& open = open_[row.process];
    if (row.kind == Kind::deliver) {
      if (--open < 0) short_ = true;
    } else if (row.kind == Kind::fetch && row.phase == Phase::ok && (row.flags & flag::header) != 0) {
      if (open != 0) short_ = true;
      open = row.aux;
    }
  }
  bool whole() const {
    return !short_ && std::all_of(open_.begin(), open_.end(), [](std::int64_t open) { return open == 0; });
  }

  Scope scope_;
  LogClaim what_;
  EndPhase end_;
  LogFacts facts_;
  std::vector<std::int64_t> open_;  // by process: records of its batch still to come
  bool at_rest_ = false, short_ = false;
};

Finding LogChecker::finish() {
  const LogOrder order(facts_);
  LogJudgement judgement{facts_, order, at_rest_};
  if (at_rest_ || !what_.end_judged) what_.judge(judgement);
  Finding finding;
  finding.observed = facts_.audits().size();
  for (const LogRead& read : facts_.reads()) finding.observed += read.id != 0;
  finding.population = order.records().size();
  finding.violations = judgement.count;
  finding.anomalies = std::move(judgement.anomalies);
  if (judgement.count > 0) {
    const Anomaly& first = finding.anomalies.front();
    finding.verdict = Verdict::violated;
    finding.message = first.ids.empty() ? 0 : first.ids.front();
    finding.witness = first.rows;
    std::sort(finding.witness.begin(), finding.witness.end());
    finding.witness.erase(std::unique(finding.witness.begin(), finding.witness.end()), finding.witness.end());
    finding.explanation = tell(first, scope_);
    if (judgement.count > 1) finding.explanation += " (and " + std::to_string(judgement.count - 1) + " more)";
  } else if (!end_.complete()) {
    finding.explanation = end_.problem(scope_);
  } else if (!whole()) {
    finding.explanation = "the history lacks records that were read";
  } else if (finding.observed < scope_.observed_at_least) {
    finding.explanation = too_few(finding, finding.observed, scope_.observed_at_least, "reading");
  } else {
    finding.verdict = Verdict::holds;
    finding.explanation = "nothing of the kind in " + counted(finding.observed, "reading") + " of " +
                          counted(finding.population, "record");
  }
  return finding;
}

}  // namespace

bool LogJudgement::keeps() const { return count < anomalies_kept; }

void LogJudgement::report(Anomaly anomaly) {
  if (++count <= anomalies_kept) anomalies.push_back(std::move(anomaly));
}

std::uint64_t row_of(const LogFacts& facts, const LogOrder::Record& record) {
  std::uint64_t row = ~std::uint64_t{0};
  const auto look = [&](const auto& list) {
    for (const auto& fact : list) {
      const bool it = fact.id == record.id && fact.place == record.place && fact.position == record.position;
      if (it) row = std::min(row, fact.row);
    }
  };
  look(facts.sends());
  look(facts.reads());
  look(facts.audits());
  return row;
}

std::unique_ptr<Checker> make_log_checker(const ClaimSpec& claim, const Scenario& scenario,
                                          const Topology& topology, const Parameters& parameters,
                                          LogClaim what) {
  return std::make_unique<LogChecker>(resolve_log_scope(claim, scenario, topology, parameters),
                                      std::move(what));
}

}  // namespace mqlab
