// Tells which rows are effects of ids, by where a claim looks for them.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "core/claims/end_phase.h"
#include "core/claims/paged.h"
#include "core/claims/scope.h"
#include "core/history/audit.h"

namespace mqlab {

class EffectReader {
 public:
  explicit EffectReader(const Scope& scope) : scope_(&scope), read_(scope.places.size()) {}

  std::uint64_t kinds() const {
    switch (scope_->source) {
      case Source::audit:
      case Source::store:
        return bit(Kind::audit);
      case Source::observer:
        return bit(Kind::deliver);
      case Source::completed:
        return bit(Kind::complete);
      case Source::handled:
        return bit(Kind::handle);
    }
    return 0;
  }

  /// Which reader's effect the row is, an index into Scope::lanes; −1 = none. Records without an id are none;
  /// nor is an observer's second reading of one position: that is no second record.
  int lane_of(const Row& row) {
    if (row.message == 0) return -1;
    switch (scope_->source) {
      case Source::audit:
      case Source::store:
        return is_record_audit(row) && scope_->is_in(row.place) &&
                       (row.flags & (flag::aborted | flag::open)) == 0
                   ? 0
                   : -1;
      case Source::observer:
        if (row.kind != Kind::deliver || row.process != scope_->observer || !scope_->is_in(row.place))
          return -1;
        return row.position < 0 || read_.insert(row.place, row.position) ? 0 : -1;
      case Source::completed:
        return row.kind == Kind::complete && row.phase == Phase::ok ? scope_->lane_of(row.process) : -1;
      case Source::handled: {
        if (row.kind != Kind::handle || row.phase != Phase::ok) return -1;
        const bool elsewhere =
            scope_->observer == no_process ? !scope_->is_of(row.place) : !scope_->is_in(row.place);
        return row.place != no_place && elsewhere ? -1 : scope_->lane_of(row.process);  // say, a retry topic
      }
    }
    return -1;
  }
  /// The record of a transaction without an outcome, which may yet become an effect.
  bool open(const Row& row) const {
    return scope_->source == Source::audit && row.message != 0 && is_record_audit(row) &&
           scope_->is_in(row.place) && (row.flags & flag::open) != 0;
  }
  /// Whose effect the row may be or not: a handler whose end is unknown. −1 = none.
  int doubtful_lane(const Row& row) const {
    const bool unknown = row.kind == Kind::complete && row.phase == Phase::unknown && row.message != 0;
    return unknown && scope_->source == Source::completed ? scope_->lane_of(row.process) : -1;
  }
  /// Observers: whether the position was read.
  bool was_read(PlaceId place, std::int64_t position) const { return read_.contains(place, position); }
  void reset() { read_.reset(); }

 private:
  const Scope* scope_;
  PositionSet read_;
};

/// Store writes by the stages of a scope: messages of an op, known when it is invoked, applied when it is ok.
class StoreWrites {
 public:
  explicit StoreWrites(const Scope& scope) : scope_(&scope), open_(scope.lane.size()) {}

  /// Calls applied(message, certain) for each write that this row shows to be applied, or perhaps applied.
  template <class F>
  void see(const Row& row, F&& applied) {
    if (row.kind != Kind::store_write || scope_->lane_of(row.process) < 0) return;
    Process& process = open_[row.process];
    if (process.writes.empty() || process.incarnation != row.incarnation) {
      process.writes.clear();
      process.incarnation = row.incarnation;
      if (!process.touched) touched_.push_back(row.process);
      process.touched = true;
    }
    if (row.phase == Phase::invoke) {
      if (row.message != 0) process.writes.emplace_back(row.op, row.message);
      return;
    }
    auto keep = process.writes.begin();
    for (const auto& [op, message] : process.writes) {
      if (op != row.op) {
        *keep++ = {op, message};
      } else if (row.phase != Phase::fail) {
        applied(message, row.phase == Phase::ok);
      }
    }
    process.writes.erase(keep, process.writes.end());
  }
  void reset() {
    for (const ProcessId p : touched_) open_[p] = {};
    touched_.clear();
  }

 private:
  struct Process {
    Incarnation incarnation = 0;
    bool touched = false;
    std::vector<std::pair<OpId, MessageId>> writes;  // few: those in flight
  };
  const Scope* scope_;
  std::vector<Process> open_;
  std::vector<ProcessId> touched_;
};

}  // namespace mqlab
