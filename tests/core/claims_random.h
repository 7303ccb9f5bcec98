// Random histories of the small scenario: a pipeline with every kind of accident, then a few senseless
// changes.
#pragma once
#include <algorithm>
#include <map>

#include "tests/core/claims_support.h"

namespace mqlab::testing {

/// Something no system would do.
inline void change_something(Rows& rows, RandomStream& random) {
  if (rows.empty()) return;
  const auto upto = [&](std::uint32_t n) { return static_cast<std::uint32_t>(below(random.next(), n + 1)); };
  const auto once_in = [&](std::uint32_t n) { return upto(n - 1) == 0; };
  const std::size_t i = upto(static_cast<std::uint32_t>(rows.size() - 1));
  const std::size_t j = upto(static_cast<std::uint32_t>(rows.size() - 1));
  Row& r = rows[i];
  switch (upto(11)) {
    case 0:
      rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    case 1:
      rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(j), Row(r));
      break;
    case 2:
      std::swap(r, rows[j]);
      break;
    case 3:
      r.message = upto(7);
      break;
    case 4:
      r.place = once_in(4) ? no_place : upto(6);
      break;
    case 5:
      r.position = static_cast<std::int64_t>(upto(5)) - 1;
      break;
    case 6:
      r.phase = static_cast<Phase>(upto(3));
      break;
    case 7:
      r.flags = static_cast<std::uint16_t>(r.flags ^ (once_in(2) ? flag::aborted : flag::open));
      break;
    case 8:
      r.process = once_in(8) ? no_process : static_cast<ProcessId>(upto(9));
      break;
    case 9:
      r.incarnation = static_cast<Incarnation>(upto(2));
      break;
    case 10:
      r.transaction = upto(3);
      break;
    default:
      r.op = once_in(2) ? 1 : upto(20);
      break;
  }
}

class RandomHistory {
 public:
  RandomHistory(const Lab& lab, std::uint64_t seed, MessageId most_messages = 6)
      : lab_(&lab), random_(seed * 977 + 13), most_messages_(most_messages) {}

  Rows make(unsigned changes) {
    accidents_ = once_in(3) ? 0 : 12;
    for (const char* name : {"requests/0", "requests/1", "vectors/0", "vectors/1", "letters/0", "other/0"}) {
      logs_[lab_->place(name)];
    }
    const MessageId messages = upto(most_messages_);
    for (MessageId id = 1; id <= messages; ++id) life_of(id);
    if (once_in(4)) bulk(messages + 1);
    interleave();
    observe(changes > 0 && once_in(2));
    noise(changes > 0);
    end_phase();
    for (unsigned i = 0; i < changes; ++i) change_something(rows_, random_);
    std::int64_t time = 0;
    for (Row& r : rows_) {
      r.time = time += static_cast<std::int64_t>(upto(3)) * 1'000'000;
      if (r.kind == Kind::invoke)
        r.aux = std::max<std::int64_t>(0, time - static_cast<std::int64_t>(upto(4)) * 700'000);
    }
    return rows_;
  }

 private:
  struct Record {
    MessageId id;
    std::uint32_t key;
    std::uint64_t digest;
    std::uint32_t transaction;
    std::uint16_t flags;
  };
  std::uint32_t upto(std::uint32_t n) { return static_cast<std::uint32_t>(below(random_.next(), n + 1)); }
  bool once_in(std::uint32_t n) { return upto(n - 1) == 0; }
  bool accident() { return accidents_ != 0 && once_in(accidents_); }

  Row make_row(Kind kind, Phase phase, ProcessId process, MessageId id, std::uint32_t key) {
    Row r;
    r.kind = kind;
    r.phase = phase;
    r.process = process;
    r.message = id;
    r.key = key;
    r.digest = id == 0 ? 0 : mix(id);
    return r;
  }
  std::int64_t append(PlaceId place, MessageId id, std::uint32_t key, std::uint32_t transaction,
                      std::uint16_t flags) {
    logs_[place].push_back({id, key, mix(id), transaction, flags});
    return static_cast<std::int64_t>(logs_[place].size()) - 1;
  }
  /// publish with one of its ends, under the process's own op numbers.
  void publish(Rows& life, ProcessId process, Incarnation incarnation, PlaceId place, MessageId id,
               std::uint32_t key, std::uint32_t transaction, std::uint16_t flags) {
    Row r = make_row(Kind::publish, Phase::invoke, process, id, key);
    r.op = ++op_;
    r.incarnation = incarnation;
    r.transaction = transaction;
    life.push_back(r);
    const bool stored = !accident();
    std::int64_t position = stored ? append(place, id, key, transaction, flags) : -1;
    if (stored && accident())
      position = append(place, id, key, transaction, flags);  // the client's own retry
    r.phase = stored && !accident() ? Phase::ok : once_in(2) ? Phase::unknown : Phase::fail;
    if (r.phase == Phase::ok) {
      r.place = place;
      r.position = position;
    }
    r.digest = 0;
    if (!accident()) life.push_back(r);
  }
  void transaction(Rows& life, Kind kind, Phase phase, ProcessId process, Incarnation incarnation,
                   std::uint32_t number) {
    Row r = make_row(kind, phase, process, 0, 0);
    r.transaction = number;
    r.incarnation = incarnation;
    r.op = op_;
    life.push_back(r);
  }
  void life_of(MessageId id) {
    Rows life;
    const ProcessId api = static_cast<ProcessId>(lab_->process("api-0") + id % 2);
    const std::uint32_t key = upto(1);
    Row asked = make_row(Kind::invoke, Phase::ok, api, id, key);
    if (!accident()) life.push_back(asked);
    const PlaceId in = lab_->place("requests/0") + key;
    for (unsigned n = 0; n < 1u + accident(); ++n)
      publish(life, api, static_cast<Incarnation>(n), in, id, key, 0, 0);
    for (unsigned n = 0; n < 1u + accident(); ++n)
      stage(life, "embed-" + std::to_string(upto(1)), id, key, in);
    if (!accident()) handled(life, lab_->process("archive-0"), 0, id, key, in);
    lives_.push_back(std::move(life));
  }
  void handled(Rows& life, ProcessId process, Incarnation incarnation, MessageId id, std::uint32_t key,
               PlaceId in) {
    for (const Kind kind : {Kind::handle, Kind::complete}) {
      Row r = make_row(kind, Phase::ok, process, id, key);
      r.place = in;
      r.position = static_cast<std::int64_t>(id);
      r.incarnation = incarnation;
      if (kind == Kind::complete && accident()) r.phase = once_in(2) ? Phase::fail : Phase::unknown;
      if (!accident()) life.push_back(r);
    }
  }
  void stage(Rows& life, const std::string& name, MessageId id, std::uint32_t key, PlaceId in) {
    const ProcessId embed = lab_->process(name);
    const auto incarnation = static_cast<Incarnation>(accident());
    const std::uint32_t number = once_in(2) ? 0 : ++transactions_[embed];
    const PlaceId out =
        once_in(8) ? lab_->place("letters/0") : lab_->place("vectors/0") + (accident() ? upto(1) : key);
    const std::uint16_t fate = number == 0 || !accident() ? 0 : once_in(3) ? flag::open : flag::aborted;
    handled(life, embed, incarnation, id, key, in);
    if (number != 0) transaction(life, Kind::begin, Phase::invoke, embed, incarnation, number);
    publish(life, embed, incarnation, out, id, key, number,
            accident() ? flag::aborted & (number != 0 ? 0xffff : 0) : fate);
    if (once_in(4)) publish(life, embed, incarnation, out ^ 0, id + (accident() ? 1 : 0), key, number, fate);
    if (number != 0) offsets(life, embed, incarnation, in, id, number);
    if (number != 0) outcome(life, embed, incarnation, number, fate);
    if (once_in(3)) store(life, embed, incarnation, id);
  }
  void offsets(Rows& life, ProcessId embed, Incarnation incarnation, PlaceId in, MessageId id,
               std::uint32_t number) {
    Row r = make_row(Kind::offsets_to_transaction, Phase::invoke, embed, 0, 0);
    r.transaction = number;
    r.incarnation = incarnation;
    r.op = ++op_;
    r.flags = flag::header;
    r.aux = 1;
    life.push_back(r);
    r.flags = 0;
    r.aux = 0;
    r.place = in;
    r.position = static_cast<std::int64_t>(id);
    life.push_back(r);
    if (!accident()) committed_[in] = r.position;
  }
  void outcome(Rows& life, ProcessId embed, Incarnation incarnation, std::uint32_t number,
               std::uint16_t fate) {
    if (fate != flag::aborted || accident()) {
      transaction(life, Kind::commit_transaction, Phase::invoke, embed, incarnation, number);
      const Phase end = accident() ? Phase::unknown : accident() ? Phase::fail : Phase::ok;
      if (!accident()) transaction(life, Kind::commit_transaction, end, embed, incarnation, number);
      if (end == Phase::ok) return;
    }
    transaction(life, Kind::abort_transaction, Phase::invoke, embed, incarnation, number);
    if (!accident()) transaction(life, Kind::abort_transaction, Phase::ok, embed, incarnation, number);
  }
  void store(Rows& life, ProcessId embed, Incarnation incarnation, MessageId id) {
    Row r = make_row(Kind::store_write, Phase::invoke, embed, id, 0);
    r.op = ++op_;
    r.incarnation = incarnation;
    life.push_back(r);
    r.phase = accident() ? Phase::unknown : Phase::ok;
    r.message = 0;
    r.digest = 0;
    life.push_back(r);
    if (!accident()) append(lab_->place("index"), id, 0, 0, 0);
  }
  void bulk(MessageId id) {
    Rows life = {make_row(Kind::invoke, Phase::ok, lab_->process("bulk"), id, 0)};
    publish(life, lab_->process("bulk"), 0, lab_->place("other/0"), id, 0, 0, 0);
    if (once_in(2)) append(lab_->place("vectors/1"), id, 0, 0, 0);
    if (once_in(2)) append(lab_->place("vectors/1"), id, 0, 0, 0);
    lives_.push_back(std::move(life));
  }
  void interleave() {
    std::size_t left = 0;
    for (const Rows& life : lives_) left += life.size();
    std::vector<std::size_t> next(lives_.size());
    const bool in_turn = once_in(2);
    while (left > 0) {
      std::size_t i = in_turn ? 0 : upto(static_cast<std::uint32_t>(lives_.size() - 1));
      while (next[i] == lives_[i].size()) i = (i + 1) % lives_.size();
      rows_.push_back(lives_[i][next[i]++]);
      --left;
    }
  }
  /// billing reads vectors in two batches a partition somewhere along the way, perhaps all of it twice;
  /// unless `senseless`, nothing before it was published.
  void observe(bool senseless) {
    for (unsigned round = 0; round < 1u + accident(); ++round) {
      for (const PlaceId place : {lab_->place("vectors/0"), lab_->place("vectors/1")}) {
        const auto size = static_cast<std::uint32_t>(logs_[place].size());
        const std::uint32_t half = upto(size);
        const std::size_t after = read_batch(place, 0, half, 0, senseless);
        read_batch(place, half, size, after, senseless);
      }
    }
  }
  /// Returns where the batch ends.
  std::size_t read_batch(PlaceId place, std::uint32_t from, std::uint32_t to, std::size_t after,
                         bool senseless) {
    Rows batch = {make_row(Kind::fetch, Phase::ok, lab_->process("billing"), 0, 0)};
    batch[0].flags = flag::header;
    for (std::uint32_t position = from; position < to; ++position) {
      const Record& record = logs_[place][position];
      Row r = make_row(Kind::deliver, Phase::ok, lab_->process("billing"), record.id, record.key);
      r.place = place;
      r.position = position;
      r.digest = record.digest;
      if (!accident() && (record.flags == 0 || once_in(3))) batch.push_back(r);
    }
    batch[0].aux = static_cast<std::int64_t>(batch.size()) - 1;
    std::size_t at = once_in(2) ? rows_.size() : upto(static_cast<std::uint32_t>(rows_.size()));
    for (std::size_t i = rows_.size(); !senseless && i-- > at;) {
      const Row& r = rows_[i];
      const bool sent =
          r.kind == Kind::publish && r.phase == Phase::invoke &&
          std::any_of(batch.begin(), batch.end(), [&](const Row& read) { return read.message == r.message; });
      if (sent) at = i + 1;
    }
    at = std::max(at, after);
    rows_.insert(rows_.begin() + static_cast<std::ptrdiff_t>(at), batch.begin(), batch.end());
    return at + batch.size();
  }
  /// Rows out of the blue; `senseless`: also second outcomes of transactions and records that no batch
  /// announced.
  void noise(bool senseless) {
    for (unsigned n = upto(3); n > 0; --n) {
      const auto kind = static_cast<Kind>(upto(static_cast<std::uint32_t>(Kind::count_) - 1));
      if (kind == Kind::audit || kind == Kind::audit_end || kind == Kind::quiet) continue;
      const bool outcome = kind == Kind::commit_transaction || kind == Kind::abort_transaction;
      if (!senseless && (outcome || kind == Kind::deliver || kind == Kind::fetch)) continue;
      Row r = make_row(kind, static_cast<Phase>(upto(3)), static_cast<ProcessId>(upto(9)), upto(7), upto(1));
      r.place = upto(6);
      r.position = upto(4);
      r.transaction = upto(2);
      rows_.insert(rows_.begin() + upto(static_cast<std::uint32_t>(rows_.size())), r);
    }
  }
  void end_phase() {
    rows_.push_back(make_row(Kind::quiet, accident() ? Phase::fail : Phase::ok, lab_->topology.lab, 0, 0));
    for (PlaceId place = 0; place < lab_->topology.places.size(); ++place) {
      std::int64_t position = 0;
      for (const Record& record : logs_[place]) {
        Row r = make_row(Kind::audit, Phase::ok, lab_->topology.auditor, record.id, record.key);
        r.digest = accident() ? 5 : record.digest;
        r.place = place;
        r.position = position++;
        r.transaction = record.transaction;
        r.flags = record.flags;
        rows_.push_back(r);
      }
      const auto committed = committed_.find(place);
      if (committed != committed_.end() && !accident()) {
        Row r = make_row(Kind::audit, Phase::ok, lab_->topology.auditor, 0, 0);
        r.op = 1;
        r.place = place;
        r.position = committed->second;
        rows_.push_back(r);
      }
      Row end = make_row(Kind::audit_end, accident() && accident() ? Phase::fail : Phase::ok,
                         lab_->topology.auditor, 0, 0);
      end.place = place;
      end.position = end.aux = position;
      rows_.push_back(end);
    }
  }

  const Lab* lab_;
  RandomStream random_;
  MessageId most_messages_;
  std::uint32_t accidents_ = 0;
  OpId op_ = 1;
  std::map<ProcessId, std::uint32_t> transactions_;
  std::map<PlaceId, std::vector<Record>> logs_;
  std::map<PlaceId, std::int64_t> committed_;
  std::vector<Rows> lives_;
  Rows rows_;
};

}  // namespace mqlab::testing
