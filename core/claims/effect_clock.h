// When effects take place, by the clock of the processes: for claims that have a time in them.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "core/claims/effects.h"

namespace mqlab {

/// Calls effect(id, certain) where a dead letter is written, or may have been: for claims to which that is an
/// effect.
template <class F>
void see_letter(const Scope& scope, const Row& row, F&& effect) {
  const bool writes = row.process < scope.dead_writer.size() && scope.dead_writer[row.process] != 0;
  if (row.kind != Kind::publish || row.message == 0 || !writes) return;
  if (row.phase == Phase::ok && scope.is_dead(row.place)) effect(row.message, true);
  if (row.phase == Phase::unknown) effect(row.message, false);
}

/// An effect takes place when its record reaches the observer; else when the publish into topic `in` is
/// acked, within a transaction when its commit is; when the store write is applied; when the handler is done,
/// or starts. One whose commit or ack nobody was told of has a place, if the auditor finds it, but no time.
class EffectClock {
 public:
  explicit EffectClock(const Scope& scope) : scope_(&scope), writes_(scope), open_(scope.lane.size()) {}

  std::uint64_t kinds() const {
    switch (scope_->source) {
      case Source::audit:
        return bit(Kind::publish) | bit(Kind::commit_transaction) | bit(Kind::abort_transaction) |
               bit(Kind::audit);
      case Source::store:
        return bit(Kind::store_write) | bit(Kind::audit);
      case Source::observer:
        return bit(Kind::deliver);
      case Source::completed:
        return bit(Kind::complete);
      case Source::handled:
        return bit(Kind::handle);
    }
    return 0;
  }

  /// Calls effect(id, certain) for each effect that takes place at this row, or may have; an id may come
  /// again.
  template <class F>
  void see(const Row& row, F&& effect) {
    switch (scope_->source) {
      case Source::audit:
        see_transactional(row, effect);
        return;
      case Source::store:
        writes_.see(row, effect);
        return;
      case Source::observer:
        if (row.kind == Kind::deliver && row.process == scope_->observer && scope_->is_in(row.place)) break;
        return;
      case Source::completed:
      case Source::handled:
        if (row.phase == Phase::invoke || row.phase == Phase::fail || scope_->lane_of(row.process) < 0)
          return;
        if (row.kind == (scope_->source == Source::completed ? Kind::complete : Kind::handle)) break;
        return;
    }
    if (row.message != 0) effect(row.message, scope_->source == Source::observer || row.phase == Phase::ok);
  }
  /// An audit row that shows an effect to exist, whenever it took place.
  bool found(const Row& row) const {
    return is_record_audit(row) && row.message != 0 && scope_->is_in(row.place) &&
           (row.flags & (flag::aborted | flag::open)) == 0 &&
           (scope_->source == Source::audit || scope_->source == Source::store);
  }
  void reset() {
    writes_.reset();
    for (const ProcessId p : touched_) open_[p] = {};
    touched_.clear();
  }

 private:
  struct Write {
    MessageId message;
    bool certain;
  };
  struct Process {  // its transaction under way
    bool touched = false;
    Incarnation incarnation = 0;
    std::uint32_t transaction = 0;
    std::vector<Write> written;
  };

  template <class F>
  void see_transactional(const Row& row, F&& effect) {
    if (row.process >= open_.size() || row.phase == Phase::invoke || row.phase == Phase::fail) return;
    const bool ok = row.phase == Phase::ok;
    if (row.kind == Kind::publish) {
      if (row.message == 0 || !(ok ? scope_->is_in(row.place) : scope_->writer[row.process] != 0)) return;
      if (row.transaction == 0) {
        effect(row.message, ok);
      } else {
        transaction_of(row).written.push_back({row.message, ok});
      }
    } else if (row.kind == Kind::commit_transaction || row.kind == Kind::abort_transaction) {
      Process& process = transaction_of(row);
      if (row.kind == Kind::commit_transaction) {
        for (const Write& write : process.written) effect(write.message, ok && write.certain);
      }
      if (ok) process.written.clear();  // else it may be asked again
    }
  }
  Process& transaction_of(const Row& row) {
    Process& process = open_[row.process];
    if (!process.touched) touched_.push_back(row.process);
    process.touched = true;
    if (process.incarnation != row.incarnation || process.transaction != row.transaction) {
      process.written.clear();  // the one before has no known outcome
      process.incarnation = row.incarnation;
      process.transaction = row.transaction;
    }
    return process;
  }

  const Scope* scope_;
  StoreWrites writes_;
  std::vector<Process> open_;
  std::vector<ProcessId> touched_;
};

/// For claims that follow one reader only: throws when several stages read `of` and none was chosen.
inline void need_one_reader(const Scope& scope, const Parameters& parameters) {
  if (scope.lanes.size() == 1) return;
  std::string names;
  for (const std::string& lane : scope.lanes) names += (names.empty() ? "" : ", ") + lane;
  parameters.fail("stage", "several stages read \"" + scope.of + "\"; say which: " + names);
}

}  // namespace mqlab
