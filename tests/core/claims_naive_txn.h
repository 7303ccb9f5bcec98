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
        const auto end = end_of.find(invoke);
        const bool untold = end == end_of.end() || rows[end->second].phase == Phase::unknown;
        if (!untold || invoke >= i || rows[invoke].message != r.message) continue;
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

}  // namespace mqlab::testing::naive
