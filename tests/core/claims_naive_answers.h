// answered, recovers and order.causal by the book.
#pragma once
#include "tests/core/claims_naive_time.h"

namespace mqlab::testing::naive {

/// within in whole milliseconds.
inline std::int64_t within(const ClaimSpec& c) { return std::stoll(parameter(c, "within")) * 1'000'000; }

/// Times of the effects of an id: those that are certain, and whether there may be others. Dead letters
/// count.
struct Times {
  std::vector<std::int64_t> certain;
  bool perhaps = false;
};

inline Times times_of(const Subject& s, const Rows& rows, const std::vector<Timed>& effects, MessageId id) {
  Times t;
  for (const Timed& e : effects) {
    if (e.id != id) continue;
    if (e.certain) t.certain.push_back(rows[e.row].time);
    t.perhaps = t.perhaps || !e.certain;
  }
  for (const std::string& letters : s.dead_letters()) {
    for (const Row& r : rows) {
      if (r.kind != Kind::publish || r.message != id || !sends_to(s.lab, r, letters)) continue;
      if (r.phase == Phase::ok && s.topic_of(r.place) == letters) t.certain.push_back(r.time);
      t.perhaps = t.perhaps || r.phase == Phase::unknown;
    }
  }
  return t;
}

inline bool by_embed(const Subject& s, std::size_t reader) {
  return !s.in.empty() || s.lab.scenario.stages[reader].name == "embed";
}

inline Answer answered(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  const Subject s(lab, c);
  const Sent sent(s, rows);
  const std::vector<Timed> timed = timed_effects(s, rows);
  const std::set<std::string> letters = s.dead_letters();
  Answer a;
  std::uint64_t untold = 0;
  bool doubt = false;
  for (const MessageId id : sent.invoked) {
    if (id == 0) continue;
    ++a.population;
    std::uint64_t answers = 0;
    bool pending = false;
    for (const Effect& e : effects_of(s, rows)) answers += e.id == id && by_embed(s, e.reader);
    for (const Effect& e : doubtful_completions(s, rows)) pending |= e.id == id && by_embed(s, e.reader);
    for (const Row& r : rows) {
      if (!is_record(r) || r.message != id) continue;
      const bool outcome = !has_flag(r, flag::aborted | flag::open);
      answers += outcome && letters.count(s.topic_of(r.place)) != 0;
      pending |= s.as.empty() && !s.in.empty() && !s.is_store() && s.topic_of(r.place) == s.in &&
                 has_flag(r, flag::open);
    }
    const bool failed = sent.excluded.count(id) != 0;
    answers += failed;
    a.observed += answers > 0;
    std::int64_t since = 0;
    for (auto r = rows.rbegin(); r != rows.rend(); ++r) {
      if (r->kind == Kind::invoke && r->message == id && s.by_sender(*r))
        since = std::max<std::int64_t>(0, r->aux);
    }
    Times t = times_of(s, rows, timed, id);
    if (failed) {
      t = {};
      for (const Row& r : rows) {
        if (r.kind == Kind::publish && r.message == id && s.by_sender(r) && r.phase == Phase::fail)
          t.certain = {r.time};
      }
    }
    const bool in_time = std::any_of(t.certain.begin(), t.certain.end(),
                                     [&](std::int64_t at) { return at - since <= within(c); });
    if (answers > 1) {
      ++a.violations;
    } else if (pending) {
      doubt = true;
    } else if (answers == 0) {
      (sent.acked.count(id) != 0 ? a.violations : untold) += 1;
    } else if (!in_time) {
      const bool late = !t.certain.empty() && !t.perhaps;
      a.violations += late;
      doubt = doubt || !late;
    }
  }
  std::set<std::string> concerned = letters;
  concerned.insert({s.of, s.in});
  if (!end_phase_seen(s, rows, concerned)) {
    a.violations = 0;
  } else if (a.violations > 0) {
    a.verdict = Verdict::violated;
  } else if (!doubt && a.observed > 0 && 2 * untold <= a.population) {
    a.verdict = Verdict::holds;
  }
  return a;
}

inline Answer recovers(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  const Subject s(lab, c);
  const std::vector<Timed> timed = timed_effects(s, rows);
  std::map<MessageId, std::int64_t> acked;
  std::optional<std::int64_t> fault;
  std::int64_t sent = 0;
  bool rest = false;
  for (const Row& r : rows) {
    rest = rest || r.kind == Kind::quiet;
    if ((r.kind == Kind::fault || r.kind == Kind::heal) && !rest) fault = r.time;
    if (r.kind != Kind::publish || r.message == 0 || !s.by_sender(r)) continue;
    sent = r.time;
    if (r.phase != Phase::ok || s.topic_of(r.place) != s.of) continue;
    const auto [at, fresh] = acked.try_emplace(r.message, r.time);
    if (!fresh) at->second = std::min(at->second, r.time);
  }
  const std::int64_t from = fault.value_or(sent);
  Answer a;
  a.population = acked.size();
  bool doubt = false;
  for (const auto& [id, at] : acked) {
    if (at > from) continue;
    ++a.observed;
    const Times t = times_of(s, rows, timed, id);
    if (std::any_of(t.certain.begin(), t.certain.end(),
                    [&](std::int64_t done) { return done <= from + within(c); }))
      continue;
    bool perhaps = t.perhaps;
    for (const Row& r : rows) perhaps = perhaps || (t.certain.empty() && found(s, r) && r.message == id);
    doubt = doubt || perhaps;
    a.violations += !perhaps;
  }
  std::set<std::string> concerned = s.dead_letters();
  concerned.insert({s.of, s.in});
  if (!end_phase_seen(s, rows, concerned)) {
    a.violations = 0;
  } else if (a.violations > 0) {
    a.verdict = Verdict::violated;
  } else if (a.observed > 0 && !doubt) {
    a.verdict = Verdict::holds;
  }
  return a;
}

inline Answer disk_bounded(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  const Subject s(lab, c);
  const std::uint64_t bound = std::stoull(parameter(c, "at_most"));
  std::map<PlaceId, std::uint64_t> bytes;
  Answer a;
  bool above = false;
  for (const Row& r : rows) {
    if (r.kind != Kind::usage || r.phase != Phase::ok || s.topic_of(r.place) != s.in || r.aux < 0) continue;
    ++a.observed;
    bytes[r.place] = static_cast<std::uint64_t>(r.aux);
    std::uint64_t total = 0;
    for (const auto& [place, n] : bytes) total += n;
    a.violations += total > bound && !above;
    above = total > bound;
  }
  a.population = a.observed;
  if (a.violations > 0) {
    a.verdict = Verdict::violated;
  } else if (a.observed > 0 && end_phase_seen(s, rows, {s.in})) {
    a.verdict = Verdict::holds;
  }
  return a;
}

/// The publish of a record: the last one acked at its position, if of its id; else the only one of its id,
/// not failed, by who may write there.
inline std::optional<std::size_t> publish_of(const Lab& lab, const Rows& rows, const Row& record,
                                             const std::map<std::size_t, const Row*>& ends) {
  const std::string topic = lab.topology.topics[lab.topology.places[record.place].topic].name;
  std::optional<std::size_t> there;
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    if (r.kind != Kind::publish || r.phase != Phase::invoke || r.message == 0 ||
        r.process >= lab.topology.processes.size())
      continue;
    const auto end = ends.find(i);
    const Row* told = end == ends.end() ? nullptr : end->second;
    if (told != nullptr && told->phase == Phase::ok && told->place == record.place &&
        told->position == record.position && record.position >= 0)
      there = i;
    if (r.message == record.message && sends_to(lab, r, topic) &&
        (told == nullptr || told->phase != Phase::fail))
      candidates.push_back(i);
  }
  if (there && rows[*there].message == record.message) return there;
  if (candidates.size() == 1) return candidates[0];
  return std::nullopt;
}

inline Answer order_causal(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  const auto life = [&](std::size_t i) { return std::pair{rows[i].process, rows[i].incarnation}; };
  const auto place = [&](const Row& r) { return r.place < lab.topology.places.size(); };
  std::vector<std::size_t> nodes;  // publishes and handler starts
  std::map<std::size_t, const Row*> ends;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    if (r.process >= lab.topology.processes.size()) continue;
    const bool publish = r.kind == Kind::publish && r.phase == Phase::invoke && r.message != 0;
    const bool handle = r.kind == Kind::handle && r.phase == Phase::ok && r.message != 0 && place(r);
    if (publish || handle) nodes.push_back(i);
    if (r.kind != Kind::publish || (r.phase != Phase::ok && r.phase != Phase::fail)) continue;
    for (std::size_t j = i; j-- > 0;) {  // the publish it ends
      const Row& p = rows[j];
      if (p.kind != Kind::publish || p.phase != Phase::invoke || p.message == 0 || p.op != r.op ||
          life(j) != life(i))
        continue;
      ends[j] = &r;
      break;
    }
  }
  // What comes before a node: the nodes of the same life before it, and of a handler's start the publish of
  // its record.
  std::map<std::size_t, std::set<std::size_t>> before;
  for (const std::size_t n : nodes) {
    std::set<std::size_t> direct;
    for (const std::size_t m : nodes) {
      if (m < n && life(m) == life(n)) direct.insert(m);
    }
    if (rows[n].kind == Kind::handle) {
      const auto source = publish_of(lab, rows, rows[n], ends);
      if (source && *source < n) direct.insert(*source);
    }
    for (const std::size_t m : direct) before[n].insert(before[m].begin(), before[m].end());
    before[n].insert(direct.begin(), direct.end());
  }
  const auto acked = [&](std::size_t n, const std::string& topic) {
    const auto end = ends.find(n);
    if (rows[n].kind != Kind::publish || end == ends.end() || end->second->phase != Phase::ok ||
        !place(*end->second) ||
        lab.topology.topics[lab.topology.places[end->second->place].topic].name != topic)
      return false;
    return rows[n].transaction == 0 || std::any_of(rows.begin(), rows.end(), [&](const Row& r) {
             return r.kind == Kind::commit_transaction && r.phase == Phase::ok &&
                    r.process == rows[n].process && r.incarnation == rows[n].incarnation &&
                    r.transaction == rows[n].transaction;
           });
  };
  Answer a;
  bool seen = true;
  std::uint64_t untold = 0;
  for (const ObserverSpec& o : lab.scenario.observers) {
    if (!c.as.empty() ? o.name != c.as : o.topic != c.in) continue;
    ClaimSpec one = c;
    one.as = o.name;
    Subject s(lab, one);
    s.in = o.topic;
    seen = seen && end_phase_seen(s, rows, {o.topic});
    std::set<MessageId> met;
    for (const Row& r : rows) {
      const bool read =
          r.kind == Kind::deliver && s.by_observer(r) && r.message != 0 && s.topic_of(r.place) == o.topic;
      if (!read || !met.insert(r.message).second) continue;
      ++a.population;
      const auto source = publish_of(lab, rows, r, ends);
      if (!source) ++untold;
      bool depends = false, broken = false;
      for (const std::size_t m : source ? before[*source] : std::set<std::size_t>{}) {
        depends = depends || acked(m, o.topic);
        broken = broken || (acked(m, o.topic) && met.count(rows[m].message) == 0);
      }
      a.observed += depends;
      a.violations += broken;
    }
  }
  if (!seen) {
    a.violations = 0;
  } else if (a.violations > 0) {
    a.verdict = Verdict::violated;
  } else if (a.observed > 0 && 2 * untold <= a.population) {
    a.verdict = Verdict::holds;
  }
  return a;
}

}  // namespace mqlab::testing::naive
