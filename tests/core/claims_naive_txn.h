// txn.read_committed and txn.atomic by the book.
#pragma once
#include "tests/core/claims_naive_order.h"

namespace mqlab::testing::naive {

/// (process, incarnation, number)
using Transaction = std::tuple<ProcessId, Incarnation, std::uint32_t>;
inline Transaction transaction_of(const Row& r) { return {r.process, r.incarnation, r.transaction}; }

/// The row that ends the publish invoked in row i, if any: the first of its op behind it that no earlier
/// publish took.
inline std::map<std::size_t, std::size_t> ends_of_publishes(const Rows& rows,
                                                            const std::vector<std::size_t>& invokes,
                                                            const std::vector<std::size_t>& ends) {
  std::map<std::size_t, std::size_t> end_of;
  for (const std::size_t end : ends) {
    for (const std::size_t i : invokes) {
      const bool match = i < end && rows[i].process == rows[end].process &&
                         rows[i].incarnation == rows[end].incarnation && rows[i].op == rows[end].op &&
                         end_of.count(i) == 0;
      if (!match) continue;
      end_of[i] = end;
      break;
    }
  }
  return end_of;
}

inline Answer read_committed(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  Subject s(lab, c);
  const auto commit_before = [&](const Transaction& t, std::size_t row) {
    for (std::size_t i = 0; i < row; ++i) {
      const Row& r = rows[i];
      if (r.kind == Kind::commit_transaction && r.phase == Phase::invoke && r.transaction != 0 &&
          sends_to(lab, r, s.in) && transaction_of(r) == t) {
        return true;
      }
    }
    return false;
  };
  std::vector<std::size_t> invokes, ends;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    if (r.kind != Kind::publish || r.message == 0 || !sends_to(lab, r, s.in)) continue;
    if (r.phase != Phase::invoke) ends.push_back(i);
    if (r.phase == Phase::invoke && r.transaction != 0) invokes.push_back(i);
  }
  const auto end_of = ends_of_publishes(rows, invokes, ends);
  Answer a;
  std::set<std::pair<PlaceId, std::int64_t>> read;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    if (r.kind != Kind::deliver || !s.by_observer(r) || s.topic_of(r.place) != s.in || r.position < 0 ||
        r.message == 0)
      continue;
    if (!read.insert({r.place, r.position}).second) continue;
    ++a.population;
    bool aborted = false, plain = false, known = false;
    std::optional<Transaction> stored_by;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      const Row& o = rows[j];
      if (is_record(o) && o.place == r.place && o.position == r.position && has_flag(o, flag::aborted))
        aborted = true;
      if (o.kind != Kind::publish || o.message == 0 || !sends_to(lab, o, s.in)) continue;
      if (o.phase == Phase::invoke && o.transaction == 0 && o.message == r.message && j < i) plain = true;
      if (o.phase != Phase::ok || o.place != r.place || o.position != r.position) continue;
      known = true;  // the last one counts
      stored_by.reset();
      for (const auto& [invoke, end] : end_of) {
        if (end == j) stored_by = transaction_of(rows[invoke]);
      }
    }
    bool broken = aborted, counts = aborted;
    if (known) {
      counts = counts || stored_by.has_value();
      broken = broken || (stored_by && !commit_before(*stored_by, i));
    } else if (!broken && !plain) {
      bool any = false, committed = false;
      for (const std::size_t invoke : invokes) {
        if (invoke >= i || rows[invoke].message != r.message) continue;
        any = true;
        committed = committed || commit_before(transaction_of(rows[invoke]), i);
      }
      broken = any && !committed;
      counts = broken;
    }
    a.observed += counts;
    a.violations += broken;
  }
  if (a.violations > 0) {
    a.verdict = Verdict::violated;
  } else if (end_phase_seen(s, rows, {s.in}) && a.observed > 0) {
    a.verdict = Verdict::holds;
  }
  return a;
}

/// A transaction as its process and the log tell it.
struct Told {
  std::size_t first = 0;
  int writes = 0, commits = 0, commits_failed = 0;
  bool committed = false, aborted = false, gives = false, pending = false, visible = false, hidden = false;
  bool offsets_present = false, offsets_missing = false;
  bool gone() const { return !committed && (aborted || commits == 0 || commits_failed >= commits); }
};

struct Give {
  Transaction by;
  bool plain;
  PlaceId place;
  std::int64_t offset;
  std::size_t row;
};

class Atomic {
 public:
  Atomic(const Lab& lab, const ClaimSpec& c, const Rows& rows) : lab_(lab), rows_(rows), s_(lab, c) {}

  Answer judge() {
    Answer a;
    outcomes();
    a.population = told_.size();
    for (const auto& [name, t] : told_) a.observed += t.writes > 0 || t.gives;
    if (!end_phase_seen(s_, rows_, {"requests", "vectors", "letters"})) return a;
    records();
    offsets();
    std::uint64_t pending = 0, unknown = 0;
    for (const auto& [name, t] : told_) {
      pending += t.pending;
      const bool open = !t.committed && !t.gone();
      unknown += open;
      const bool torn = t.visible && t.hidden;
      if (t.committed ? t.hidden || t.offsets_missing
          : t.gone()  ? t.visible || t.offsets_present
                      : torn || (t.visible && t.offsets_missing) || (t.hidden && t.offsets_present)) {
        ++a.violations;
      }
    }
    if (a.violations > 0) {
      a.verdict = Verdict::violated;
    } else if (pending == 0 && audited() && a.observed > 0 && 2 * unknown <= a.population) {
      a.verdict = Verdict::holds;
    }
    return a;
  }

 private:
  /// Rows of the stage that writes in transactions.
  bool ours(const Row& r) const { return s_.info(r) != nullptr && s_.info(r)->group == "embed"; }
  bool output(PlaceId p) const { return s_.topic_of(p) == "vectors" || s_.topic_of(p) == "letters"; }

  void outcomes() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& r = rows_[i];
      if (!ours(r) || r.transaction == 0) continue;
      const bool write = r.kind == Kind::publish && r.phase == Phase::invoke && r.message != 0;
      const bool give = r.kind == Kind::offsets_to_transaction && r.phase == Phase::invoke &&
                        !has_flag(r, flag::header) && s_.topic_of(r.place) == "requests" && r.position >= 0;
      const bool commit = r.kind == Kind::commit_transaction, abort = r.kind == Kind::abort_transaction;
      if (!write && !give && !commit && !abort && r.kind != Kind::begin) continue;
      Told& t = told_.try_emplace(transaction_of(r), Told{}).first->second;
      t.writes += write;
      t.gives = t.gives || give;
      t.commits += commit && r.phase == Phase::invoke;
      t.commits_failed += commit && r.phase == Phase::fail;
      t.committed = t.committed || (commit && r.phase == Phase::ok);
      t.aborted = t.aborted || (abort && r.phase == Phase::ok);
    }
  }

  void records() {
    std::vector<std::size_t> invokes, ends;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& r = rows_[i];
      if (r.kind == Kind::publish && r.message != 0 && ours(r))
        (r.phase == Phase::invoke ? invokes : ends).push_back(i);
    }
    const auto end_of = ends_of_publishes(rows_, invokes, ends);
    std::map<std::size_t, std::size_t> invoke_of;
    for (const auto& [invoke, end] : end_of) invoke_of[end] = invoke;
    const auto owner = [&](std::size_t end) -> Transaction {
      const auto invoke = invoke_of.find(end);
      const bool any = invoke != invoke_of.end() && rows_[invoke->second].transaction != 0;
      return any ? transaction_of(rows_[invoke->second]) : Transaction{no_process, 0, 0};
    };
    // Whose a position is by the acks before row n: the last one's.
    const auto holder = [&](PlaceId place, std::int64_t position,
                            std::size_t n) -> std::optional<std::size_t> {
      std::optional<std::size_t> last;
      for (const std::size_t end : ends) {
        const Row& r = rows_[end];
        if (end < n && r.phase == Phase::ok && r.place == place && r.position == position && output(place))
          last = end;
      }
      return last;
    };
    // Writes that were acked.
    std::map<MessageId, int> loose, loose_open;
    std::set<std::size_t> seen_positions;
    for (const std::size_t end : ends) {
      const Row& r = rows_[end];
      if (r.phase != Phase::ok || !output(r.place) || r.position < 0) continue;
      const Transaction by = owner(end);
      if (told_.count(by) == 0) continue;
      bool visible = false, open = false;
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        const Row& audit = rows_[i];
        if (!is_record(audit) || audit.place != r.place || audit.position != r.position ||
            audit.message != r.message)
          continue;
        const auto held = holder(r.place, r.position, i);
        if (!held || rows_[*held].message != r.message || owner(*held) != by) continue;
        visible = visible || !has_flag(audit, flag::aborted | flag::open);
        open = open || has_flag(audit, flag::open);
      }
      Told& t = told_.at(by);
      t.visible = t.visible || visible;
      t.pending = t.pending || open;
      t.hidden = t.hidden || (!visible && !open);
    }
    // Records at positions that nobody was acked, or somebody for another id.
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& audit = rows_[i];
      if (!is_record(audit) || !output(audit.place) || audit.message == 0 || audit.position < 0) continue;
      const auto held = holder(audit.place, audit.position, i);
      if (held && rows_[*held].message == audit.message) continue;
      if (has_flag(audit, flag::open)) {
        ++loose_open[audit.message];
      } else if (!has_flag(audit, flag::aborted)) {
        ++loose[audit.message];
      }
    }
    // Writes that were never acked.
    const auto only_in = [&](MessageId id, const Transaction& t) {
      return std::all_of(invokes.begin(), invokes.end(), [&](std::size_t invoke) {
        const Row& r = rows_[invoke];
        return r.message != id || (r.transaction != 0 && transaction_of(r) == t);
      });
    };
    const auto is_untold = [&](std::size_t invoke) {
      const auto end = end_of.find(invoke);
      return end == end_of.end() || rows_[end->second].phase == Phase::unknown;
    };
    for (const std::size_t invoke : invokes) {
      const Row& r = rows_[invoke];
      if (!is_untold(invoke) || r.transaction == 0) continue;
      Told& t = told_.at(transaction_of(r));
      if (loose_open[r.message] > 0) {
        t.pending = true;
      } else if (loose[r.message] == 0) {
        t.hidden = true;
      }
    }
    for (const auto& [id, n] : loose) {
      for (auto& [name, t] : told_) {
        const bool published =
            std::any_of(invokes.begin(), invokes.end(), [&, who = name, m = id](std::size_t invoke) {
              return rows_[invoke].message == m && rows_[invoke].transaction != 0 &&
                     transaction_of(rows_[invoke]) == who;
            });
        if (n > 0 && published && only_in(id, name)) t.visible = true;
      }
    }
  }

  std::vector<Give> gives() const {
    std::vector<Give> all;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& r = rows_[i];
      const bool plain = r.kind == Kind::commit;
      if (!ours(r) || r.phase != Phase::invoke || has_flag(r, flag::header) || r.position < 0) continue;
      if (s_.topic_of(r.place) != "requests" ||
          (!plain && (r.kind != Kind::offsets_to_transaction || r.transaction == 0)))
        continue;
      all.push_back({transaction_of(r), plain, r.place, r.position, i});
    }
    return all;
  }
  bool is_final(const Row& r) const {
    return r.kind == Kind::audit && r.op == 1 && s_.topic_of(r.place) == "requests" && r.key == 0;
  }
  std::optional<std::size_t> final_offset(PlaceId place) const {
    std::optional<std::size_t> last;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (is_final(rows_[i]) && rows_[i].place == place) last = i;
    }
    return last;
  }
  bool gone(const Give& g) const { return !g.plain && told_.at(g.by).gone(); }

  void offsets() {
    const std::vector<Give> all = gives();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& r = rows_[i];
      const bool assigned = r.kind == Kind::assigned && ours(r) && !has_flag(r, flag::header) &&
                            s_.topic_of(r.place) == "requests";
      if ((!assigned && !is_final(r)) || r.position < 0) continue;
      std::vector<Give> before;
      for (const Give& g : all) {
        if (g.place == r.place && g.offset == r.position && g.row < i) before.push_back(g);
      }
      if (before.empty() || before.back().plain) continue;
      const Transaction last = before.back().by;
      const bool alone = std::all_of(before.begin(), before.end(),
                                     [&](const Give& g) { return (!g.plain && g.by == last) || gone(g); });
      if (alone) told_.at(last).offsets_present = true;
    }
    for (const Give& g : all) {
      const auto end = final_offset(g.place);
      if (g.plain || !end || rows_[*end].position >= g.offset) continue;
      const bool set_back = std::any_of(all.begin(), all.end(), [&](const Give& other) {
        return other.place == g.place && other.offset == rows_[*end].position && other.row > g.row &&
               !gone(other);
      });
      if (!set_back) told_.at(g.by).offsets_missing = true;
    }
  }
  bool audited() const {
    for (const Give& g : gives()) {
      if (!g.plain && !final_offset(g.place)) return false;
    }
    return true;
  }

  const Lab& lab_;
  const Rows& rows_;
  Subject s_;
  std::map<Transaction, Told> told_;
};

inline Answer atomic(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  return Atomic(lab, c, rows).judge();
}

}  // namespace mqlab::testing::naive
