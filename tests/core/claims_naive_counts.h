// accounted, effect_once and the rates by the book.
#pragma once
#include "tests/core/claims_naive_time.h"

namespace mqlab::testing::naive {

/// at_most as a plain number.
inline Answer rate(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  ClaimSpec none = c;
  none.id = c.id == "rate.loss" ? "no_loss" : "no_duplicates";
  Answer a = delivery(lab, none, rows);
  if (a.verdict == Verdict::undecided) return a;
  const double bound = std::stod(parameter(c, "at_most"));
  const double share = a.population == 0
                           ? static_cast<double>(a.violations)
                           : static_cast<double>(a.violations) / static_cast<double>(a.population);
  a.verdict = share > bound ? Verdict::violated : Verdict::holds;
  if (share <= bound) a.violations = 0;
  return a;
}

inline Answer accounted_but(const Lab& lab, const ClaimSpec& c, const Rows& rows, const Excusing& excuse) {
  const Subject s(lab, c);
  std::set<std::string> endings = s.dead_letters();
  endings.insert(s.in);
  std::set<MessageId> invoked, acked;
  for (const Row& r : rows) {
    if (r.kind == Kind::invoke && s.by_sender(r) && r.message != 0) invoked.insert(r.message);
    if (r.kind == Kind::publish && r.phase == Phase::ok && s.by_sender(r) && s.topic_of(r.place) == s.of)
      acked.insert(r.message);
  }
  Answer a;
  bool open = false;
  for (const MessageId id : invoked) {
    if (acked.count(id) == 0) continue;
    ++a.population;
    std::uint64_t found = 0;
    bool may_come = false;
    for (const Row& r : rows) {
      if (!is_record(r) || r.message != id || endings.count(s.topic_of(r.place)) == 0) continue;
      may_come = may_come || has_flag(r, flag::open);
      found += !has_flag(r, flag::aborted | flag::open);
    }
    a.observed += found;
    open = open || may_come;
    const bool lost = found == 0 && !may_come;
    a.violations += found > 1 || (lost && excuse(id) == Excuse::none);
    open = open || (lost && excuse(id) == Excuse::doubtful);
  }
  std::set<std::string> concerned = endings;
  concerned.insert(s.of);
  if (!end_phase_seen(s, rows, concerned)) {
    a.violations = 0;
  } else if (a.violations > 0) {
    a.verdict = Verdict::violated;
  } else if (!open && a.observed > 0 && 2 * (invoked.size() - a.population) <= invoked.size()) {
    a.verdict = Verdict::holds;
  }
  return a;
}

inline Answer accounted(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  return accounted_but(lab, c, rows, [](MessageId) { return Excuse::none; });
}

inline Answer effect_once(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  const Subject s(lab, c);
  std::map<MessageId, int> certain, perhaps;
  std::set<MessageId> invoked;
  Answer a;
  for (const Row& r : rows) {
    if (r.kind == Kind::invoke && s.by_sender(r) && r.message != 0) invoked.insert(r.message);
  }
  for (const Effect& e : store_effects(s, rows)) {
    ++(e.certain ? certain : perhaps)[e.id];
    a.observed += e.certain;
  }
  bool doubtful = false;
  for (const auto& [id, n] : certain) a.violations += n > 1;
  for (const auto& [id, n] : perhaps)
    doubtful = doubtful || n + (certain.count(id) != 0 ? certain[id] : 0) > 1;
  a.population = invoked.size();
  std::set<std::string> concerned = s.dead_letters();
  concerned.insert({s.of, s.in});
  if (a.violations > 0) {
    a.verdict = Verdict::violated;
  } else if (a.observed > 0 && !doubtful && end_phase_seen(s, rows, concerned)) {
    a.verdict = Verdict::holds;
  }
  return a;
}

}  // namespace mqlab::testing::naive
