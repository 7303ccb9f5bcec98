// progress.consumer: while a stage has something left to read and no fault is under way, it advances within
// `within`, in each partition; of a queue, each entry that was delivered is settled or given again within it.
//
// A stage advances in a partition when its position there rises: a record is handled for the first time, or a
// commit passes it; in a queue, when one more entry is acked, terminated or completed. The clock of a
// partition starts with the first record that waits, with each advance, and anew when the last fault is
// healed. A system that came to rest with something left to read does not advance either.
//
// Source: the consumer lag that KIP-32 and `kafka-consumer-groups --describe` define (log end offset minus
// position); pending entries of NATS: docs.nats.io, "Consumers", AckWait.
//
//   "progress.consumer" = { of = "requests", within = "30s" }
#include <algorithm>

#include "core/claims/effects.h"
#include "core/claims/makers.h"
#include "core/claims/row_checker.h"
#include "core/claims/wording.h"
#include "core/scenario/units.h"

namespace mqlab {
namespace {

class ProgressConsumer final : public RowChecker<ProgressConsumer> {
 public:
  ProgressConsumer(Scope scope, Duration within)
      : scope_(std::move(scope)), within_(within), end_(scope_), stored_(scope_.places.size()) {
    for (std::size_t lane = 0; lane < scope_.lanes.size(); ++lane) {
      entries_.emplace_back(scope_.places.size());
      for (const PlaceId place : scope_.inputs[lane]) readings_.push_back({lane, place});
    }
    kinds_ = end_.kinds() | bit(Kind::publish) | bit(Kind::deliver) | bit(Kind::handle) |
             bit(Kind::complete) | bit(Kind::commit) | bit(Kind::assigned) | bit(Kind::ack) |
             bit(Kind::nack) | bit(Kind::progress) | bit(Kind::terminate) | bit(Kind::fault) |
             bit(Kind::heal);
  }

  void see(const Row& row, std::uint64_t index);
  bool decided() const override { return stalls_ > 0; }
  Finding finish() override;
  void reset() override;

 private:
  struct Clock {
    std::int64_t since = 0;  ///< time
    std::uint64_t row = 0;
  };
  struct Reading {  // one stage, one partition
    std::size_t lane;
    PlaceId place;
    std::int64_t next = 0;      // log: position after the highest one read
    std::uint64_t waiting = 0;  // queue: stored and not settled
    Clock clock = {};
  };
  struct Log {  // what is known to be stored in a partition
    std::int64_t end = 0;
    std::uint64_t row = 0;  // of the last record
  };
  struct Entry {  // of a queue
    bool stored = false, settled = false, pending = false;
    std::uint64_t stored_row = 0;
    Clock clock = {};
  };
  struct Stall {
    std::size_t reading = 0;
    std::int64_t position = -1;  // of the pending entry; −1 = the partition as a whole
    std::int64_t lasted = 0;
    bool at_rest = false;
    std::vector<std::uint64_t> witness;
  };

  bool queue(const Reading& r) const { return scope_.queue[r.lane] == r.place; }
  bool lags(const Reading& r) const { return queue(r) ? r.waiting > 0 : stored_[r.place].end > r.next; }
  void see_stored(const Row& row, std::uint64_t index);
  void see_read(const Row& row, std::uint64_t index, std::size_t lane);
  void see_receipt(const Row& row, std::uint64_t index, std::size_t lane);
  void see_fault(const Row& row, std::uint64_t index);
  void advance(Reading& r, std::int64_t next, const Row& row, std::uint64_t index);
  void touch(Reading& r, std::int64_t position, bool settles, const Row& row, std::uint64_t index);
  void check_all(const Row& row, std::uint64_t index, bool at_rest);
  void check(const Reading& r, const Clock& clock, std::int64_t position, const Row& row, std::uint64_t index,
             bool at_rest);
  std::vector<std::uint64_t> proof(const Reading& r, const Clock& clock, std::int64_t position,
                                   std::uint64_t index) const;
  template <class F>
  void for_reading(std::size_t lane, PlaceId place, F&& f) {
    for (Reading& r : readings_) {
      if (r.lane == lane && r.place == place) f(r);
    }
  }

  Scope scope_;
  Duration within_;
  EndPhase end_;
  std::vector<Log> stored_;                // by place
  std::vector<Positions<Entry>> entries_;  // by lane; queues only
  std::vector<Reading> readings_;
  std::uint32_t faults_ = 0;  // under way
  Clock healed_;
  bool rest_ = false;
  std::uint64_t advances_ = 0, records_ = 0, stalls_ = 0;
  Stall first_;
};

void ProgressConsumer::see(const Row& row, std::uint64_t index) {
  end_.see(row, index);
  if (rest_) return;
  if (row.kind == Kind::publish) {
    see_stored(row, index);
  } else if (row.kind == Kind::fault || row.kind == Kind::heal) {
    see_fault(row, index);
  } else if (row.kind == Kind::quiet) {
    if (faults_ == 0) check_all(row, index, row.phase == Phase::ok);
    rest_ = true;
  } else if (row.kind != Kind::audit && row.kind != Kind::audit_end && scope_.lane_of(row.process) >= 0) {
    const auto lane = static_cast<std::size_t>(scope_.lane_of(row.process));
    const bool receipts = row.kind == Kind::ack || row.kind == Kind::nack || row.kind == Kind::progress ||
                          row.kind == Kind::terminate;
    receipts ? see_receipt(row, index, lane) : see_read(row, index, lane);
  }
}

void ProgressConsumer::see_stored(const Row& row, std::uint64_t index) {
  if (row.phase != Phase::ok || row.message == 0 || !scope_.is_of(row.place) || row.position < 0) return;
  ++records_;
  Log& log = stored_[row.place];
  for (Reading& r : readings_) {
    if (r.place != row.place) continue;
    const bool lagged = lags(r);
    if (queue(r)) {
      Entry& entry = entries_[r.lane].at(row.place, row.position);
      if (!entry.stored && !entry.settled) ++r.waiting;
      entry.stored = true;
      if (entry.stored_row == 0) entry.stored_row = index + 1;
    }
    const bool waits = queue(r) ? r.waiting > 0 : row.position >= r.next;
    if (!lagged && waits) r.clock = {row.time, index};
  }
  if (row.position >= log.end) log = {row.position + 1, index};
}

void ProgressConsumer::see_read(const Row& row, std::uint64_t index, std::size_t lane) {
  if ((row.flags & flag::header) != 0 || !scope_.is_of(row.place) || row.position < 0) return;
  for_reading(lane, row.place, [&](Reading& r) {
    if (queue(r)) {
      if (row.kind == Kind::commit || row.kind == Kind::assigned || row.message == 0) return;
      touch(r, row.position, row.kind == Kind::complete, row, index);
    } else if (row.kind == Kind::handle || row.kind == Kind::complete) {
      if (row.message != 0) advance(r, row.position + 1, row, index);
    } else if (row.kind == Kind::assigned || (row.kind == Kind::commit && row.phase == Phase::invoke)) {
      advance(r, row.position, row, index);
    }
  });
}

void ProgressConsumer::see_receipt(const Row& row, std::uint64_t index, std::size_t lane) {
  const PlaceId place = scope_.queue[lane];
  if (row.phase != Phase::invoke || (row.flags & flag::header) != 0 || place == no_place || row.position < 0)
    return;
  const bool settles = row.kind == Kind::ack || row.kind == Kind::terminate;
  for_reading(lane, place, [&](Reading& r) { touch(r, row.position, settles, row, index); });
}

void ProgressConsumer::advance(Reading& r, std::int64_t next, const Row& row, std::uint64_t index) {
  if (next <= r.next) return;
  if (lags(r)) check(r, r.clock, -1, row, index, false);
  r.next = next;
  r.clock = {row.time, index};
  ++advances_;
}

/// Something happened to an entry of a queue.
void ProgressConsumer::touch(Reading& r, std::int64_t position, bool settles, const Row& row,
                             std::uint64_t index) {
  Entry& entry = entries_[r.lane].at(r.place, position);
  if (entry.settled) return;
  if (entry.pending) check(r, entry.clock, position, row, index, false);
  entry.pending = !settles;
  entry.clock = {row.time, index};
  if (!settles) return;
  if (lags(r)) check(r, r.clock, -1, row, index, false);
  entry.settled = true;
  if (entry.stored) --r.waiting;
  r.clock = {row.time, index};
  ++advances_;
}

void ProgressConsumer::see_fault(const Row& row, std::uint64_t index) {
  if (row.kind == Kind::fault) {
    if (faults_ == 0) check_all(row, index, false);
    ++faults_;
  } else if (faults_ > 0 && --faults_ == 0) {
    healed_ = {row.time, index};
  }
}

void ProgressConsumer::check_all(const Row& row, std::uint64_t index, bool at_rest) {
  for (const Reading& r : readings_) {
    if (lags(r)) check(r, r.clock, -1, row, index, at_rest);
    if (!queue(r)) continue;
    entries_[r.lane].for_each_in(r.place, [&](std::int64_t position, const Entry& entry) {
      if (entry.pending) check(r, entry.clock, position, row, index, false);
    });
  }
}

void ProgressConsumer::check(const Reading& r, const Clock& clock, std::int64_t position, const Row& row,
                             std::uint64_t index, bool at_rest) {
  if (faults_ > 0) return;
  const Clock& from = healed_.since > clock.since ? healed_ : clock;
  const std::int64_t lasted = row.time - from.since;
  if (lasted <= within_.ns && !at_rest) return;
  if (stalls_++ > 0) return;
  first_ = {static_cast<std::size_t>(&r - readings_.data()), position, lasted, at_rest,
            proof(r, from, position, index)};
}

/// Since when, what waits, and the row at which it was too late.
std::vector<std::uint64_t> ProgressConsumer::proof(const Reading& r, const Clock& clock,
                                                   std::int64_t position, std::uint64_t index) const {
  std::vector<std::uint64_t> rows = {clock.row, index};
  if (!queue(r)) {
    rows.push_back(stored_[r.place].row);
  } else if (position < 0) {
    std::uint64_t waits = 0;
    entries_[r.lane].for_each_in(r.place, [&](std::int64_t, const Entry& entry) {
      if (waits == 0 && entry.stored && !entry.settled) waits = entry.stored_row;
    });
    if (waits > 0) rows.push_back(waits - 1);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

Finding ProgressConsumer::finish() {
  Finding finding;
  finding.observed = advances_;
  finding.population = records_;
  finding.violations = stalls_;
  if (stalls_ > 0) {
    const Reading& r = readings_[first_.reading];
    finding.verdict = Verdict::violated;
    finding.witness = first_.witness;
    const std::string lasted = format_duration(Duration::nanos(first_.lasted));
    const std::string& stage = scope_.lanes[r.lane];
    finding.explanation = first_.position >= 0
                              ? scope_.at(r.place, first_.position) + " was pending for " + lasted + ": " +
                                    stage + " neither settled it nor was given it again"
                          : first_.at_rest ? "the system came to rest, but " + stage + " has not read " +
                                                 scope_.places[r.place] + " to its end"
                                           : stage + " did not advance in " + scope_.places[r.place] +
                                                 " for " + lasted + ", though there was something to read";
    if (stalls_ > 1) finding.explanation += " (and " + std::to_string(stalls_ - 1) + " more)";
  } else if (!end_.complete()) {
    finding.explanation = end_.problem(scope_);
  } else if (advances_ < scope_.observed_at_least) {
    finding.explanation = too_few(finding, advances_, scope_.observed_at_least, "advance");
  } else {
    finding.verdict = Verdict::holds;
    finding.explanation = counted(advances_, "advance") + ", none later than " + format_duration(within_);
  }
  return finding;
}

void ProgressConsumer::reset() {
  index_ = 0;
  end_.reset();
  std::fill(stored_.begin(), stored_.end(), Log{});
  for (Positions<Entry>& entries : entries_) entries.reset();
  for (Reading& r : readings_) r = {r.lane, r.place};
  faults_ = 0;
  healed_ = {};
  rest_ = false;
  advances_ = records_ = stalls_ = 0;
}

}  // namespace

std::unique_ptr<Checker> make_progress_consumer(const ClaimSpec& claim, const Scenario& scenario,
                                                const Topology& topology) {
  const Parameters parameters(claim, scenario, {"within", "stage"});
  const std::optional<Duration> within = parameters.duration("within");
  if (!within) parameters.fail("within", "is needed: within = \"30s\"");
  return std::make_unique<ProgressConsumer>(resolve_reader_scope(claim, scenario, topology, parameters),
                                            *within);
}

}  // namespace mqlab
