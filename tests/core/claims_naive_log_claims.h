// The log claims by the book.
#pragma once
#include "tests/core/claims_naive_log.h"

namespace mqlab::testing::naive {

struct Pair {
  bool within;
  PlaceId place;
  std::int64_t from, to;
};

/// For each reading the one before it by the same process in the same log: in its own transaction or batch,
/// else the last one that was not rolled back.
inline std::vector<Pair> read_pairs(const Logs& logs) {
  std::vector<Pair> pairs;
  const Rows& rows = logs.rows();
  const auto at = [&](std::size_t i) {
    return logs.place_of(rows[i].place, rows[i].position, rows[i].message);
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!logs.read(i) || at(i) < 0) continue;
    bool left = false;  // the unit of i
    std::string passed;
    for (std::size_t j = i; j-- > 0;) {
      if (rows[j].process != rows[i].process || rows[j].place != rows[i].place) continue;
      if (logs.loses(j)) break;
      if (!logs.read(j)) continue;
      if (rows[j].incarnation != rows[i].incarnation) break;
      if (at(j) < 0) continue;
      const bool within = !left && logs.unit(j) == logs.unit(i);
      const bool last_of_unit = logs.unit(j) != passed;
      left = left || !within;
      passed = logs.unit(j);
      if (!within && (!last_of_unit || logs.fate(j) != Fate::committed)) continue;
      pairs.push_back({within, rows[i].place, at(j), at(i)});
      break;
    }
  }
  return pairs;
}

inline std::vector<Pair> send_pairs(const Logs& logs) {
  std::vector<Pair> pairs;
  const Rows& rows = logs.rows();
  for (std::size_t i = 0; i < logs.sends().size(); ++i) {
    const Logs::Send& s = logs.sends()[i];
    const auto [place, to] = logs.where(s);
    if (to < 0) continue;
    for (std::size_t j = i; j-- > 0;) {
      const Logs::Send& before = logs.sends()[j];
      const auto [same, from] = logs.where(before);
      if (rows[before.asked].process != rows[s.asked].process || same != place || from < 0) continue;
      bool lost = rows[before.asked].incarnation != rows[s.asked].incarnation;
      for (std::size_t k = before.asked; k < s.asked; ++k) {
        lost = lost || (logs.loses(k) && rows[k].kind != Kind::seek &&
                        rows[k].process == rows[s.asked].process && rows[k].place == place);
      }
      if (!lost) pairs.push_back({logs.unit(before.asked) == logs.unit(s.asked), place, from, to});
      break;
    }
  }
  return pairs;
}

inline std::uint64_t lost_writes(const Logs& logs) {
  std::map<PlaceId, std::int64_t> furthest;
  std::set<std::pair<PlaceId, MessageId>> read, lost;
  for (std::size_t i = 0; i < logs.rows().size(); ++i) {
    const Row& r = logs.rows()[i];
    if (!logs.audit(r) && !(logs.read(i) && logs.fate(i) == Fate::committed)) continue;
    furthest.try_emplace(r.place, -1);
    furthest[r.place] = std::max(furthest[r.place], r.position);
    read.insert({r.place, r.message});
  }
  for (const Logs::Send& s : logs.sends()) {
    const bool certain = s.position >= 0 && s.phase != Phase::fail && logs.committed(s);
    if (certain && furthest.count(s.place) != 0 && s.position <= furthest[s.place] &&
        read.count({s.place, s.id}) == 0)
      lost.insert({s.place, s.id});
  }
  return lost.size();
}

inline std::uint64_t aborted_reads(const Logs& logs) {
  std::set<MessageId> found;
  for (std::size_t i = 0; i < logs.rows().size(); ++i) {
    if (!logs.read(i) || logs.fate(i) != Fate::committed) continue;
    bool sent = false, gone = true;
    for (const Logs::Send& s : logs.sends()) {
      const Row& ask = logs.rows()[s.asked];
      const Row& end = logs.rows()[s.end];
      const PlaceId told = end.place != no_place ? end.place : ask.place;
      if (s.id != logs.rows()[i].message || (told != no_place && told != logs.rows()[i].place)) continue;
      sent = true;
      gone = gone && (s.phase == Phase::fail || logs.fate(s) == Fate::aborted);
    }
    if (sent && gone) found.insert(logs.rows()[i].message);
  }
  return found.size();
}

inline std::uint64_t precommitted_reads(const Logs& logs) {
  std::uint64_t n = 0;
  for (std::size_t i = 0; i < logs.rows().size(); ++i) {
    if (!logs.read(i) || logs.fate(i) != Fate::committed) continue;
    n += std::any_of(logs.sends().begin(), logs.sends().end(), [&](const Logs::Send& s) {
      return s.id == logs.rows()[i].message && logs.unit(s.asked) == logs.unit(i);
    });
  }
  return n;
}

/// Knots of transactions that depend on each other: by who reaches whom.
inline std::uint64_t cycles(const Logs& logs, bool reads, bool writes) {
  struct Edge {
    Unit from, to;
    bool read;
  };
  std::vector<Edge> edges;
  std::map<std::pair<PlaceId, MessageId>, Unit> writer;
  for (const Logs::Send& s : logs.sends()) {
    const auto [place, position] = logs.where(s);
    if (position >= 0) writer.try_emplace({place, s.id}, logs.unit(s.asked));
  }
  const auto add = [&](PlaceId place, MessageId id, const Unit& to, bool read) {
    const auto from = writer.find({place, id});
    if (from != writer.end() && from->second != to) edges.push_back({from->second, to, read});
  };
  for (const auto& [place, log] : logs.logs()) {
    MessageId before = 0;
    for (const auto& [position, ids] : log) {
      const MessageId id = logs.owner(place, position);
      if (logs.last(place, id) != position) continue;
      if (writes && before != 0 && writer.count({place, id}) != 0)
        add(place, before, writer[{place, id}], false);
      before = id;
    }
  }
  for (std::size_t i = 0; reads && i < logs.rows().size(); ++i) {
    if (logs.read(i) && logs.fate(i) == Fate::committed)
      add(logs.rows()[i].place, logs.rows()[i].message, logs.unit(i), true);
  }
  std::map<Unit, std::set<Unit>> reaches;
  for (std::size_t changed = 1; changed > 0;) {
    changed = 0;
    for (const Edge& e : edges) {
      std::set<Unit>& all = reaches[e.from];
      const std::size_t size = all.size();
      all.insert(e.to);
      all.insert(reaches[e.to].begin(), reaches[e.to].end());
      changed += all.size() - size;
    }
  }
  std::set<std::set<Unit>> knots;
  for (const Edge& e : edges) {
    if (e.read != reads || reaches[e.to].count(e.from) == 0) continue;
    std::set<Unit> knot;
    for (const Unit& u : reaches[e.from]) {
      if (reaches[u].count(e.from) != 0) knot.insert(u);
    }
    knots.insert(knot);
  }
  return knots.size();
}

inline std::uint64_t anomalies(const Logs& logs, const std::string& id) {
  std::uint64_t n = 0;
  if (id == "log.offsets_consistent") {
    for (const auto& [place, log] : logs.logs()) {
      for (const auto& [position, ids] : log) n += ids.size() > 1;
    }
  } else if (id == "log.no_duplicates") {
    std::set<std::pair<PlaceId, MessageId>> all;
    for (const auto& [place, log] : logs.logs()) {
      for (const auto& [position, ids] : log) {
        for (const MessageId m : ids) all.insert({place, m});
      }
    }
    for (const auto& [place, m] : all) n += logs.positions_of(place, m).size() > 1;
  } else if (id == "log.monotonic_poll" || id == "log.monotonic_send") {
    for (const Pair& p : id == "log.monotonic_poll" ? read_pairs(logs) : send_pairs(logs))
      n += p.to <= p.from;
  } else if (id == "log.no_poll_skip") {
    for (const Pair& p : read_pairs(logs)) n += logs.between(p.place, p.from, p.to) > 0;
  } else if (id == "log.no_send_skip") {
    for (const Pair& p : send_pairs(logs)) n += p.within && logs.between(p.place, p.from, p.to) > 0;
  } else if (id == "log.no_lost_write") {
    n = lost_writes(logs);
  } else if (id == "log.no_aborted_read") {
    n = aborted_reads(logs);
  } else if (id == "log.no_precommitted_read") {
    n = precommitted_reads(logs);
  } else {
    n = cycles(logs, id == "log.no_information_cycle", true);
  }
  return n;
}

/// Whether each batch has as many readings as it announced.
inline bool batches_whole(const Lab& lab, const Rows& rows) {
  for (ProcessId p = 0; p < lab.topology.processes.size(); ++p) {
    std::int64_t left = 0;
    for (const Row& r : rows) {
      if (r.process != p) continue;
      const bool header = r.kind == Kind::fetch && r.phase == Phase::ok && has_flag(r, flag::header);
      if (r.kind == Kind::deliver && left-- <= 0) return false;
      if (header && left != 0) return false;
      if (header) left = r.aux;
    }
    if (left != 0) return false;
  }
  return true;
}

inline Answer log_claim(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  const Logs logs(lab, rows);
  Answer a;
  bool quiet = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].kind == Kind::quiet) quiet = rows[i].phase == Phase::ok;
    a.observed += logs.audit(rows[i]) || logs.read(i);
  }
  a.population = logs.records();
  if (quiet || c.id != "log.no_lost_write")
    a.violations = anomalies(c.id == "log.offsets_consistent" ? Logs(lab, rows, true) : logs, c.id);
  if (a.violations > 0) {
    a.verdict = Verdict::violated;
  } else if (a.observed > 0 && batches_whole(lab, rows) &&
             end_phase_seen(Subject(lab, c), rows, {"requests"})) {
    a.verdict = Verdict::holds;
  }
  return a;
}

}  // namespace mqlab::testing::naive
