// commit.covers_processed: no position that a stage commits passes a record which none of its instances had
// processed by then. What is committed is told by commits that settled ok, by offsets of transactions that
// were committed, by the positions with which partitions are assigned, by the auditor; of a queue, by its
// acks.
//
// Source: "the committed position is the last offset that has been stored securely. Should the process fail
// and restart, this is the offset that the consumer will recover to" (Kafka's javadoc of KafkaConsumer,
// "Offsets and Consumer Position"): what lies below it is never given to anyone again.
//
//   "commit.covers_processed" = { of = "requests", stage = "embed" }
#include <algorithm>

#include "core/claims/commit_sightings.h"
#include "core/claims/effects.h"
#include "core/claims/makers.h"
#include "core/claims/row_checker.h"
#include "core/claims/wording.h"

namespace mqlab {
namespace {

constexpr std::uint64_t never = Covered::never;

class CommitCoversProcessed final : public RowChecker<CommitCoversProcessed> {
 public:
  explicit CommitCoversProcessed(Scope scope)
      : scope_(std::move(scope)), end_(scope_), commits_(scope_), records_(scope_.places.size()) {
    for (std::size_t lane = 0; lane < scope_.lanes.size(); ++lane) cells_.emplace_back(scope_.places.size());
    kinds_ = end_.kinds() | commits_.kinds() | bit(Kind::deliver) | bit(Kind::handle) | bit(Kind::complete);
  }

  void see(const Row& row, std::uint64_t index) {
    end_.see(row, index);
    commits_.see(row, index);
    if (row.kind == Kind::audit) {
      const bool record = is_record_audit(row) && scope_.is_of(row.place) && row.position >= 0;
      if (record && row.message != 0 && (row.flags & (flag::aborted | flag::open)) == 0)
        records_.at(row.place, row.position) = {index, row.message};
      return;
    }
    const int lane = scope_.lane_of(row.process);
    if (lane < 0 || !scope_.is_of(row.place) || row.position < 0) return;
    if (row.kind == Kind::deliver || row.kind == Kind::handle || row.kind == Kind::complete)
      see_record(row, index, static_cast<std::size_t>(lane));
  }
  bool decided() const override { return caught_; }
  Finding finish() override;
  void reset() override {
    index_ = 0;
    end_.reset();
    commits_.reset();
    records_.reset();
    for (Positions<Cell>& cells : cells_) cells.reset();
    caught_ = false;
  }

 private:
  struct Cell {                   // a position, as one stage met it; rows plus one
    std::uint64_t met_row = 0;    // the record was delivered, handled or completed
    std::uint64_t processed = 0;  // certainly
    std::uint64_t perhaps = 0;    // the handler's end is unknown
    MessageId message = 0;
  };
  struct Record {  // found by the auditor
    std::uint64_t row = 0;
    MessageId message = 0;
  };
  struct Breach {
    std::uint64_t covered = never, processed = never, record = 0;
    std::size_t lane = 0;
    PlaceId place = no_place;
    std::int64_t position = 0;
    MessageId message = 0;
  };
  struct Tally {
    std::uint64_t covered = 0, records = 0, breaches = 0, doubtful = 0;
    Breach first;
  };

  void see_record(const Row& row, std::uint64_t index, std::size_t lane) {
    if (row.message == 0) return;
    Cell& cell = cells_[lane].at(row.place, row.position);
    if (cell.met_row == 0) {
      cell.met_row = index + 1;
      cell.message = row.message;
    }
    // Within a transaction outputs and offsets are committed together: there a record is done with when its
    // handler started.
    if (row.kind != (scope_.transactional[lane] != 0 ? Kind::handle : Kind::complete)) return;
    if (cell.processed == 0 && cell.perhaps == 0 && commits_.passed(lane, row.place, row.position))
      caught_ = true;
    std::uint64_t& first = row.phase == Phase::ok || row.phase == Phase::fail ? cell.processed : cell.perhaps;
    if (first == 0) first = index + 1;
  }
  void judge(Tally& tally, std::size_t lane, PlaceId place, std::int64_t position, const Cell& cell) const;
  Tally tally();

  Scope scope_;
  EndPhase end_;
  CommitSightings commits_;
  Positions<Record> records_;
  std::vector<Positions<Cell>> cells_;  // by lane
  bool caught_ = false;
};

void CommitCoversProcessed::judge(Tally& tally, std::size_t lane, PlaceId place, std::int64_t position,
                                  const Cell& cell) const {
  ++tally.records;
  const Covered covered = commits_.covered(lane, place, position);
  if (covered.perhaps == never) return;
  const auto row_of = [](std::uint64_t plus_one) { return plus_one == 0 ? never : plus_one - 1; };
  const std::uint64_t at_best = std::min(row_of(cell.processed), row_of(cell.perhaps));
  if (covered.certainly != never) ++tally.covered;
  if (covered.certainly < at_best) {
    const Record record = records_.get(place, position);
    const Breach breach = {covered.certainly,
                           at_best,
                           cell.met_row != 0 ? cell.met_row - 1 : record.row,
                           lane,
                           place,
                           position,
                           cell.met_row != 0 ? cell.message : record.message};
    if (tally.breaches++ == 0 || breach.covered < tally.first.covered) tally.first = breach;
  } else if (covered.perhaps < row_of(cell.processed)) {
    ++tally.doubtful;
  }
}

CommitCoversProcessed::Tally CommitCoversProcessed::tally() {
  commits_.settle();
  Tally tally;
  for (std::size_t lane = 0; lane < scope_.lanes.size(); ++lane) {
    cells_[lane].for_each([&](PlaceId place, std::int64_t position, const Cell& cell) {
      if (cell.met_row != 0) judge(tally, lane, place, position, cell);
    });
    for (const PlaceId place : scope_.inputs[lane]) {
      records_.for_each_in(place, [&](std::int64_t position, const Record& record) {
        if (record.message == 0 || cells_[lane].get(place, position).met_row != 0) return;
        judge(tally, lane, place, position, {});
      });
    }
  }
  return tally;
}

Finding CommitCoversProcessed::finish() {
  Finding finding;
  const Tally t = tally();
  finding.observed = t.covered;
  finding.population = t.records;
  finding.violations = t.breaches;
  if (t.breaches > 0) {
    const Breach& b = t.first;
    finding.verdict = Verdict::violated;
    finding.message = b.message;
    finding.witness = {b.covered, b.record};
    if (b.processed != never) finding.witness.push_back(b.processed);
    std::sort(finding.witness.begin(), finding.witness.end());
    finding.witness.erase(std::unique(finding.witness.begin(), finding.witness.end()), finding.witness.end());
    finding.explanation = scope_.lanes[b.lane] + " committed past id " + std::to_string(b.message) + " (" +
                          scope_.at(b.place, b.position) + "), which it " +
                          (b.processed == never ? "never processed" : "had not processed yet");
    if (t.breaches > 1) finding.explanation += " (and " + std::to_string(t.breaches - 1) + " more)";
  } else if (!end_.complete()) {
    finding.explanation = end_.problem(scope_);
  } else if (t.covered < scope_.observed_at_least) {
    finding.explanation =
        too_few(finding, t.covered, scope_.observed_at_least, "record below a committed position");
  } else if (t.doubtful > 0) {
    finding.explanation = "for " + counted(t.doubtful, "record") +
                          " nobody can tell whether it was processed before the commit: an end is unknown";
  } else {
    finding.verdict = Verdict::holds;
    finding.explanation = counted(t.covered, "record") + " were processed before their position was passed";
  }
  return finding;
}

}  // namespace

std::unique_ptr<Checker> make_commit_covers_processed(const ClaimSpec& claim, const Scenario& scenario,
                                                      const Topology& topology) {
  const Parameters parameters(claim, scenario, {"stage"});
  return std::make_unique<CommitCoversProcessed>(resolve_reader_scope(claim, scenario, topology, parameters));
}

}  // namespace mqlab
