// Random histories of logs: processes that send and read, in transactions and outside, with every kind of
// accident.
#pragma once
#include "tests/core/claims_random.h"

namespace mqlab::testing {

class RandomLog {
 public:
  RandomLog(const Lab& lab, std::uint64_t seed) : lab_(&lab), random_(seed * 6007 + 3) {
    accidents_ = once_in(2) ? 0 : 8;
  }

  Rows make(unsigned changes) {
    for (unsigned steps = upto(10) + 2; steps > 0; --steps) {
      const ProcessId process = who();
      const std::uint32_t transaction = once_in(2) ? 0 : ++transaction_;
      for (unsigned n = upto(2) + 1; n > 0; --n)
        once_in(2) ? send(process, transaction) : read(process, transaction);
      if (transaction != 0) outcome(process, transaction);
      if (once_in(6)) lose(process);
    }
    read_all();
    end_phase();
    for (unsigned i = 0; i < changes; ++i) change_something(rows_, random_);
    std::int64_t time = 0;
    for (Row& r : rows_) r.time = ++time;
    return rows_;
  }

 private:
  struct Record {
    MessageId id;
    std::uint16_t flags;
    std::uint32_t transaction;
  };
  std::uint32_t upto(std::uint32_t n) { return static_cast<std::uint32_t>(below(random_.next(), n + 1)); }
  bool once_in(std::uint32_t n) { return upto(n - 1) == 0; }
  bool accident() { return accidents_ != 0 && once_in(accidents_); }
  ProcessId who() {
    const char* const names[] = {"api-0", "embed-0", "billing"};
    return lab_->process(names[upto(2)]);
  }
  Row& row(Kind kind, Phase phase, ProcessId process) {
    Row r;
    r.kind = kind;
    r.phase = phase;
    r.process = process;
    rows_.push_back(r);
    return rows_.back();
  }
  void send(ProcessId process, std::uint32_t transaction) {
    const MessageId id = accident() && next_id_ > 1 ? upto(next_id_ - 2) + 1 : next_id_++;
    const PlaceId place = lab_->place("requests/0") + upto(1);
    Row& asked = row(Kind::publish, Phase::invoke, process);
    asked.op = ++op_;
    asked.message = id;
    asked.transaction = transaction;
    if (accident()) asked.place = place;
    const Phase end = accident() ? Phase::fail : accident() ? Phase::unknown : Phase::ok;
    auto& log = logs_[place];
    const bool stored = end == Phase::ok || once_in(2);
    if (stored) log.push_back({id, 0, transaction});
    if (stored && accident()) log.push_back({id, 0, transaction});
    if (accident()) return;
    Row& ended = row(Kind::publish, end, process);
    ended.op = op_;
    ended.message = id;
    ended.transaction = transaction;
    if (end == Phase::fail || (end == Phase::unknown && once_in(2))) return;
    ended.place = place;
    ended.position =
        accident() ? -1 : static_cast<std::int64_t>(log.empty() ? 0 : log.size() - 1) - accident();
    if (accident()) ended.flags = flag::duplicate;
  }
  void read(ProcessId process, std::uint32_t transaction) {
    const PlaceId place = lab_->place("requests/0") + upto(1);
    std::size_t& next = next_[{process, place}];
    if (accident()) next = upto(2);
    const std::size_t batch = upto(3);
    ++op_;
    const std::size_t header = rows_.size();
    row(Kind::fetch, Phase::ok, process).op = op_;
    rows_[header].flags = flag::header;
    for (std::size_t n = 0; n < batch && next < logs_[place].size(); ++n, ++next) {
      if (accident()) continue;
      Row& r = row(Kind::deliver, Phase::ok, process);
      r.op = op_;
      r.message = accident() ? upto(next_id_) : logs_[place][next].id;
      r.place = place;
      r.position = static_cast<std::int64_t>(next);
      r.transaction = transaction;
    }
    rows_[header].aux = static_cast<std::int64_t>(rows_.size() - header) - 1;
  }
  void outcome(ProcessId process, std::uint32_t transaction) {
    if (accident()) return;
    const Kind kind = accident() ? Kind::abort_transaction : Kind::commit_transaction;
    const Phase end = accident() ? Phase::unknown : accident() ? Phase::fail : Phase::ok;
    row(kind, Phase::invoke, process).transaction = transaction;
    row(kind, end, process).transaction = transaction;
    if (kind != Kind::abort_transaction) return;
    for (auto& [place, log] : logs_) {
      for (Record& record : log) {
        if (record.transaction == transaction) record.flags = flag::aborted;
      }
    }
  }
  void lose(ProcessId process) {
    const Kind kinds[] = {Kind::seek, Kind::revoking, Kind::release, Kind::assigned};
    const Kind kind = kinds[upto(3)];
    const PlaceId place = lab_->place("requests/0") + upto(1);
    row(kind, Phase::ok, process).flags = flag::header;
    row(kind, Phase::ok, process).place = place;
    if (once_in(2)) next_[{process, place}] = 0;
  }
  void read_all() {
    for (PlaceId place = lab_->place("requests/0"); place <= lab_->place("requests/1"); ++place) {
      next_[{lab_->process("archive-0"), place}] = 0;
    }
    for (unsigned n = 0; n < 8; ++n) read(lab_->process("archive-0"), 0);
  }
  void end_phase() {
    if (accident()) return;
    row(Kind::quiet, Phase::ok, lab_->topology.lab);
    const bool audits = !once_in(4);
    for (PlaceId place = 0; audits && place < lab_->topology.places.size(); ++place) {
      std::int64_t position = 0, found = 0;
      for (const Record& record : logs_[place]) {
        if (accident()) {
          ++position;
          continue;
        }
        Row& r = row(Kind::audit, Phase::ok, lab_->topology.auditor);
        r.message = record.id;
        r.place = place;
        r.position = position++;
        r.flags = record.flags;
        ++found;
      }
      Row& end = row(Kind::audit_end, Phase::ok, lab_->topology.auditor);
      end.place = place;
      end.aux = found;
    }
  }

  const Lab* lab_;
  RandomStream random_;
  std::uint32_t accidents_ = 0, transaction_ = 0;
  MessageId next_id_ = 1;
  OpId op_ = 1;
  std::map<PlaceId, std::vector<Record>> logs_;
  std::map<std::pair<ProcessId, PlaceId>, std::size_t> next_;
  Rows rows_;
};

}  // namespace mqlab::testing
