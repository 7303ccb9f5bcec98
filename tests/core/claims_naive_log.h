// What a history tells of its logs, by the book: every question is answered by looking through all of it
// again.
#pragma once
#include "tests/core/claims_naive.h"

namespace mqlab::testing::naive {

enum class Fate : std::uint8_t { committed, aborted, unknown };

/// A transaction; or, outside any, one send or the readings of one batch.
using Unit = std::string;

class Logs {
 public:
  Logs(const Lab& lab, const Rows& rows, bool everything = false) : lab_(lab), rows_(rows) {
    const auto audit_only = [&](PlaceId place) { return !everything && audited(place); };
    std::map<ProcessId, std::pair<std::string, std::size_t>> batch;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row& r = rows[i];
      if (r.process >= lab.topology.processes.size()) continue;
      if (r.kind == Kind::deliver && log(r.place) && r.message != 0 && r.position >= 0 &&
          r.transaction == 0) {
        const std::string name = std::to_string(r.op) + "." + std::to_string(r.incarnation);
        auto& [known, first] = batch[r.process];
        if (known != name) first = i;
        known = name;
        batches_[i] = first;
      }
      if (r.kind != Kind::publish || r.message == 0) continue;
      if (r.phase == Phase::invoke) {
        sends_.push_back({i, i, r.message, log(r.place) ? r.place : no_place, -1, Phase::invoke});
        continue;
      }
      for (Send& s : sends_) {
        const Row& asked = rows[s.asked];
        if (s.end != s.asked || asked.process != r.process || asked.op != r.op ||
            asked.incarnation != r.incarnation)
          continue;
        s.end = i;
        s.phase = r.phase;
        if (log(r.place)) s.place = r.place;
        if (r.place != no_place && !log(r.place)) s.place = no_place;
        if (log(r.place) && r.phase != Phase::fail && !has_flag(r, flag::duplicate)) s.position = r.position;
        break;
      }
    }
    for (const Send& s : sends_) {
      if (s.position >= 0 && s.phase != Phase::fail && committed(s) && !audit_only(s.place))
        stands_[s.place][s.position].insert(s.id);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row& r = rows[i];
      const bool found = audit(r) && (!has_flag(r, flag::aborted | flag::open) || !audit_only(r.place));
      if (found || (read(i) && !audit_only(r.place))) stands_[r.place][r.position].insert(r.message);
    }
  }

  struct Send {
    std::size_t asked, end;
    MessageId id;
    PlaceId place;
    std::int64_t position;
    Phase phase;
  };
  const std::vector<Send>& sends() const { return sends_; }
  const Rows& rows() const { return rows_; }
  bool log(PlaceId p) const {
    return p < lab_.topology.places.size() &&
           lab_.topology.topics[lab_.topology.places[p].topic].name == "requests";
  }
  bool audited(PlaceId p) const {
    return std::any_of(rows_.begin(), rows_.end(), [&](const Row& r) {
      return r.kind == Kind::audit_end && r.phase == Phase::ok && r.place == p;
    });
  }
  bool audit(const Row& r) const { return is_record(r) && log(r.place) && r.message != 0 && r.position >= 0; }
  bool read(std::size_t i) const {
    const Row& r = rows_[i];
    return r.kind == Kind::deliver && r.process < lab_.topology.processes.size() && log(r.place) &&
           r.message != 0 && r.position >= 0;
  }
  bool loses(std::size_t i) const {
    const Row& r = rows_[i];
    const bool kind = r.kind == Kind::seek || r.kind == Kind::revoking || r.kind == Kind::release ||
                      r.kind == Kind::assigned;
    return kind && r.process < lab_.topology.processes.size() && log(r.place) && !has_flag(r, flag::header);
  }
  Unit unit(std::size_t i) const {
    const Row& r = rows_[i];
    if (r.transaction != 0)
      return "t" + std::to_string(r.process) + "." + std::to_string(r.incarnation) + "." +
             std::to_string(r.transaction);
    return r.kind == Kind::deliver ? "b" + std::to_string(r.process) + "." + std::to_string(batches_.at(i))
                                   : "s" + std::to_string(i);
  }
  Fate fate(std::size_t i) const {
    const Row& r = rows_[i];
    if (r.transaction == 0) return r.kind == Kind::deliver ? Fate::committed : Fate::unknown;
    for (const Row& o : rows_) {
      if (o.process != r.process || o.incarnation != r.incarnation || o.transaction != r.transaction)
        continue;
      if (o.phase == Phase::ok && o.kind == Kind::commit_transaction) return Fate::committed;
      if (o.phase == Phase::ok && o.kind == Kind::abort_transaction) return Fate::aborted;
    }
    return Fate::unknown;
  }
  Fate fate(const Send& s) const {
    if (rows_[s.asked].transaction != 0) return fate(s.asked);
    return s.phase == Phase::ok ? Fate::committed : s.phase == Phase::fail ? Fate::aborted : Fate::unknown;
  }
  /// An unknown transaction is known to be committed when somebody reads one of its records.
  bool committed(const Send& s) const {
    if (fate(s) != Fate::unknown) return fate(s) == Fate::committed;
    const Row& asked = rows_[s.asked];
    for (const Row& r : rows_) {
      if (r.kind == Kind::abort_transaction && asked.transaction != 0 && r.transaction == asked.transaction &&
          r.process == asked.process && r.incarnation == asked.incarnation)
        return false;
    }
    for (const Send& other : sends_) {
      if (unit(other.asked) != unit(s.asked)) continue;
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        const bool visible = audit(rows_[i]) && !has_flag(rows_[i], flag::aborted | flag::open);
        const bool seen = visible || (read(i) && fate(i) == Fate::committed);
        if (seen && rows_[i].message == other.id) return true;
      }
    }
    return false;
  }
  using Log = std::map<std::int64_t, std::set<MessageId>>;
  const std::map<PlaceId, Log>& logs() const { return stands_; }
  std::uint64_t records() const {
    std::uint64_t n = 0;
    for (const auto& [place, log] : stands_) {
      for (const auto& [position, ids] : log) n += ids.size();
    }
    return n;
  }
  std::set<std::int64_t> positions_of(PlaceId place, MessageId id) const {
    std::set<std::int64_t> all;
    const auto found = stands_.find(place);
    if (found == stands_.end()) return all;
    for (const auto& [position, ids] : found->second) {
      if (ids.count(id) != 0) all.insert(position);
    }
    return all;
  }
  MessageId owner(PlaceId place, std::int64_t position) const {
    const auto log = stands_.find(place);
    if (log == stands_.end() || log->second.count(position) == 0) return 0;
    const std::set<MessageId>& ids = log->second.at(position);
    for (const MessageId id : ids) {
      if (positions_of(place, id).size() == 1) return id;
    }
    return *ids.begin();
  }
  std::int64_t last(PlaceId place, MessageId id) const {
    std::int64_t last = -1;
    for (const std::int64_t position : positions_of(place, id)) {
      if (owner(place, position) == id) last = position;
    }
    return last;
  }
  std::int64_t place_of(PlaceId place, std::int64_t position, MessageId id) const {
    const MessageId has = owner(place, position);
    return has == 0 || has == id ? position : last(place, id);
  }
  std::pair<PlaceId, std::int64_t> where(const Send& s) const {
    if (s.phase == Phase::fail || !committed(s)) return {no_place, -1};
    if (s.position >= 0) return {s.place, place_of(s.place, s.position, s.id)};
    const auto same =
        std::count_if(sends_.begin(), sends_.end(), [&](const Send& o) { return o.id == s.id; });
    if (same > 1) return {s.place, -1};
    PlaceId place = s.place;
    for (const auto& [p, log] : stands_) {
      if (s.place == no_place && !positions_of(p, s.id).empty()) place = p;
    }
    return {place, place == no_place ? -1 : last(place, s.id)};
  }
  std::uint64_t between(PlaceId place, std::int64_t from, std::int64_t to) const {
    const auto log = stands_.find(place);
    if (log == stands_.end()) return 0;
    return static_cast<std::uint64_t>(
        std::count_if(log->second.begin(), log->second.end(),
                      [&](const auto& entry) { return entry.first > from && entry.first < to; }));
  }

 private:
  const Lab& lab_;
  const Rows& rows_;
  std::map<std::size_t, std::size_t> batches_;  // row → the first row of its batch
  std::vector<Send> sends_;
  std::map<PlaceId, Log> stands_;
};

}  // namespace mqlab::testing::naive
