// Random histories of how stages read: stored records, handlers, commits or acks, assignments, faults.
#pragma once
#include "tests/core/claims_random.h"

namespace mqlab::testing {

/// The small scenario, with a stream of NATS in the place of the topic of requests.
inline Scenario queue_scenario() {
  Scenario s = small_scenario();
  s.topics[0].stream = true;
  s.topics[0].partitions = 1;
  s.stages[0].module = "stage";
  return s;
}

class RandomReading {
 public:
  RandomReading(const Lab& lab, std::uint64_t seed) : lab_(&lab), random_(seed * 7919 + 5) {
    queue_ = lab.place("requests") != no_place;
    places_ = queue_ ? 1 : 2;
    first_place_ = lab.place(queue_ ? "requests" : "requests/0");
    accidents_ = once_in(3) ? 0 : 10;
  }

  Rows make(unsigned changes) {
    for (unsigned steps = upto(25) + 3; steps > 0; --steps) step();
    while (faults_ > 0) fault(false);
    for (std::uint32_t g = 0; g < groups; ++g) {
      for (PlaceId p = 0; p < places_; ++p) {
        while (!accident() && next_[g][p] < stored_[p]) read(g, p);
        if (!accident()) commit(g, p, next_[g][p]);
      }
    }
    end_phase();
    for (unsigned i = 0; i < changes; ++i) change_something(rows_, random_);
    std::int64_t time = 0;
    for (Row& r : rows_) r.time = time += r.time + static_cast<std::int64_t>(upto(2)) * 1'000'000;
    return rows_;
  }

 private:
  static constexpr std::uint32_t groups = 2;  // embed, archive
  std::uint32_t upto(std::uint32_t n) { return static_cast<std::uint32_t>(below(random_.next(), n + 1)); }
  bool once_in(std::uint32_t n) { return upto(n - 1) == 0; }
  bool accident() { return accidents_ != 0 && once_in(accidents_); }

  Row& row(Kind kind, Phase phase, ProcessId process) {
    Row r;
    r.kind = kind;
    r.phase = phase;
    r.process = process;
    if (accident()) r.time = 30'000'000;  // for now: how much later than the row before
    rows_.push_back(r);
    return rows_.back();
  }
  Row& about(Row& r, PlaceId p, std::int64_t position) {
    r.place = first_place_ + p;
    r.position = position;
    r.message = static_cast<MessageId>(position * 2 + 1 + p);
    return r;
  }
  ProcessId reader(std::uint32_t g) {
    return g == 1 ? lab_->process("archive-0") : static_cast<ProcessId>(lab_->process("embed-0") + upto(1));
  }
  void step() {
    const std::uint32_t g = upto(groups - 1);
    const PlaceId p = upto(places_ - 1);
    switch (upto(11)) {
      case 0:
      case 1:
      case 2:
        store(p);
        break;
      case 3:
      case 4:
      case 5:
        if (next_[g][p] < stored_[p] || accident()) read(g, p);
        break;
      case 6:
      case 7:
        commit(g, p, next_[g][p] + accident());
        break;
      case 8:
        if (!queue_) assigned(g, p);
        break;
      case 9:
        next_[g][p] -= next_[g][p] > 0 && once_in(2);  // read again
        break;
      case 10:
        if (faults_ == 0 || once_in(2)) fault(true);
        break;
      default:
        if (faults_ > 0) fault(false);
        break;
    }
  }
  void store(PlaceId p) {
    const auto api = static_cast<ProcessId>(lab_->process("api-0") + upto(1));
    const std::int64_t position = stored_[p];
    about(row(Kind::invoke, Phase::ok, api), p, position);
    about(row(Kind::publish, Phase::invoke, api), p, position).place = no_place;
    Row& r = about(row(Kind::publish, accident() ? Phase::unknown : Phase::ok, api), p, position);
    const bool lost = r.phase == Phase::unknown && once_in(2);
    if (r.phase == Phase::unknown) r.place = no_place;
    if (!lost) ++stored_[p];
  }
  void read(std::uint32_t g, PlaceId p) {
    const ProcessId process = reader(g);
    const std::int64_t position = next_[g][p]++;
    about(row(Kind::deliver, Phase::ok, process), p, position);
    about(row(Kind::handle, Phase::ok, process), p, position);
    if (queue_ && once_in(4)) receipt(once_in(2) ? Kind::progress : Kind::nack, process, position);
    if (accident()) return;
    const Phase end = accident() ? Phase::unknown : accident() ? Phase::fail : Phase::ok;
    about(row(Kind::complete, end, process), p, position);
    if (queue_ && !accident()) receipt(once_in(8) ? Kind::terminate : Kind::ack, process, position);
  }
  void receipt(Kind kind, ProcessId process, std::int64_t position) {
    row(kind, Phase::invoke, process).op = ++op_;
    rows_.back().flags = flag::header;
    Row& r = row(kind, Phase::invoke, process);
    r.op = op_;
    r.position = position;
    settle(kind, process, 0);
  }
  void settle(Kind kind, ProcessId process, std::uint32_t transaction) {
    if (accident()) return;
    Row& r = row(kind, accident() ? Phase::fail : accident() ? Phase::unknown : Phase::ok, process);
    r.op = op_;
    r.transaction = transaction;
  }
  void commit(std::uint32_t g, PlaceId p, std::int64_t next) {
    const ProcessId process = reader(g);
    if (queue_) {
      if (accident()) receipt(Kind::ack, process, next);
      return;
    }
    const bool transactional = g == 0 && !once_in(4);
    const std::uint32_t transaction = transactional ? ++transaction_ : 0;
    const Kind kind = transactional ? Kind::offsets_to_transaction : Kind::commit;
    Row& head = row(kind, Phase::invoke, process);
    head.op = ++op_;
    head.flags = flag::header;
    Row& r = row(kind, Phase::invoke, process);
    r.op = op_;
    r.transaction = transaction;
    r.place = first_place_ + p;
    r.position = next;
    settle(kind, process, transaction);
    if (transactional) {
      const Kind end = accident() ? Kind::abort_transaction : Kind::commit_transaction;
      Row& asked = row(end, Phase::invoke, process);
      asked.op = ++op_;
      asked.transaction = transaction;
      settle(end, process, transaction);
    }
    if (!accident()) committed_[g][p] = next;
  }
  void assigned(std::uint32_t g, PlaceId p) {
    const ProcessId process = reader(g);
    row(Kind::assigned, Phase::ok, process).flags = flag::header;
    Row& r = row(Kind::assigned, Phase::ok, process);
    r.place = first_place_ + p;
    r.position = committed_[g][p];
  }
  void fault(bool begins) {
    row(begins ? Kind::fault : Kind::heal, Phase::ok, reader(0));
    faults_ += begins ? 1 : -1;
  }
  void end_phase() {
    row(Kind::quiet, accident() && accident() ? Phase::fail : Phase::ok, lab_->topology.lab);
    for (PlaceId place = 0; place < lab_->topology.places.size(); ++place) {
      const bool ours = place - first_place_ < places_;
      const std::int64_t count = ours ? stored_[place - first_place_] : 0;
      for (std::int64_t position = 0; position < count; ++position)
        about(row(Kind::audit, Phase::ok, lab_->topology.auditor), place - first_place_, position);
      for (std::uint32_t g = 0; ours && g < groups; ++g) {
        if (accident()) continue;
        Row& r = row(Kind::audit, Phase::ok, lab_->topology.auditor);
        r.op = 1;
        r.key = g;
        r.place = place;
        r.position = queue_ ? 0 : committed_[g][place - first_place_];
      }
      Row& end = row(Kind::audit_end, Phase::ok, lab_->topology.auditor);
      end.place = place;
      end.position = end.aux = count;
    }
  }

  const Lab* lab_;
  RandomStream random_;
  bool queue_ = false;
  PlaceId first_place_ = 0, places_ = 1;
  std::uint32_t accidents_ = 0, transaction_ = 0;
  OpId op_ = 1;
  int faults_ = 0;
  std::int64_t stored_[2] = {}, next_[groups][2] = {}, committed_[groups][2] = {{-1, -1}, {-1, -1}};
  Rows rows_;
};

}  // namespace mqlab::testing
