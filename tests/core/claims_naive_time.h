// latency.*, throughput and backlog.bounded by the book.
#pragma once
#include "tests/core/claims_naive_order.h"

namespace mqlab::testing::naive {

struct Timed {
  MessageId id;
  std::size_t row;
  bool certain;
};

/// Publishes into a topic: when acked; within a transaction, when its commit is. Where an end is unknown,
/// perhaps.
inline std::vector<Timed> publish_effects(const Subject& s, const Rows& rows) {
  std::vector<Timed> effects;
  const auto settled = [](const Row& r) { return r.phase == Phase::ok || r.phase == Phase::unknown; };
  const auto write = [&](const Row& r) {
    if (r.kind != Kind::publish || r.message == 0 || s.info(r) == nullptr || !settled(r)) return false;
    return r.phase == Phase::ok ? s.topic_of(r.place) == s.in : sends_to(s.lab, r, s.in);
  };
  const auto same = [](const Row& a, const Row& b) {
    return a.process == b.process && a.incarnation == b.incarnation && a.transaction == b.transaction;
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    if (write(r) && r.transaction == 0) effects.push_back({r.message, i, r.phase == Phase::ok});
    if (r.kind != Kind::commit_transaction || s.info(r) == nullptr || !settled(r)) continue;
    std::vector<Timed> written;
    for (std::size_t j = i; j-- > 0;) {  // back to where the process last told of anything else
      const Row& w = rows[j];
      const bool outcome =
          (w.kind == Kind::commit_transaction || w.kind == Kind::abort_transaction) && settled(w);
      if (w.process != r.process || (!outcome && !(write(w) && w.transaction != 0))) continue;
      if (!same(w, r) || (outcome && w.phase == Phase::ok)) break;
      if (!outcome) written.push_back({w.message, i, r.phase == Phase::ok && w.phase == Phase::ok});
    }
    effects.insert(effects.end(), written.begin(), written.end());
  }
  return effects;
}

inline std::vector<Timed> timed_effects(const Subject& s, const Rows& rows) {
  if (!s.deliveries && s.as.empty() && !s.in.empty() && !s.is_store()) return publish_effects(s, rows);
  std::vector<Timed> effects;
  if (s.is_store()) {
    for (const Effect& e : store_effects(s, rows)) effects.push_back({e.id, e.row, e.certain});
    return effects;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    if (r.message == 0) continue;
    if (!s.as.empty()) {
      if (r.kind == Kind::deliver && s.by_observer(r) && s.topic_of(r.place) == s.in)
        effects.push_back({r.message, i, true});
      continue;
    }
    const bool at_reader = s.reader(r) && s.lab.scenario.stages[*s.reader(r)].name == "embed";
    const bool settled = r.phase == Phase::ok || r.phase == Phase::unknown;
    if (r.kind == (s.deliveries ? Kind::handle : Kind::complete) && settled && at_reader) {
      effects.push_back({r.message, i, r.phase == Phase::ok});
    }
  }
  return effects;
}

inline bool found(const Subject& s, const Row& r) {
  return s.as.empty() && !s.in.empty() && is_record(r) && r.message != 0 && s.topic_of(r.place) == s.in &&
         !has_flag(r, flag::aborted | flag::open);
}

inline std::string parameter(const ClaimSpec& c, std::string_view key) {
  for (const Property& p : c.parameters) {
    if (p.key == key) return p.value;
  }
  return "";
}

/// at_most in whole milliseconds.
inline Answer latency(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  const Subject s(lab, c);
  const std::string name = c.id.substr(8);
  const std::int64_t bound = std::stoll(parameter(c, "at_most")) * 1'000'000;
  const std::uint64_t per_mille = name == "max" ? 1000 : name == "p50" ? 500 : 900;
  const std::uint64_t needed = name == "max" ? 1 : name == "p50" ? 20 : 100;
  constexpr std::int64_t never = INT64_MAX;
  std::vector<std::int64_t> at_best, at_worst;
  std::set<MessageId> done;
  const std::vector<Timed> effects = timed_effects(s, rows);
  Answer a;
  std::uint64_t late = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    if (r.kind != Kind::invoke || !s.by_sender(r) || r.message == 0 || !done.insert(r.message).second)
      continue;
    std::int64_t took = never;
    bool untimed = false, perhaps = false;
    for (std::size_t j = i + 1; j < rows.size() && took == never && !untimed; ++j) {
      for (const Timed& e : effects) {
        if (e.row != j || e.id != r.message) continue;
        if (e.certain) took = std::max<std::int64_t>(0, rows[j].time - std::max<std::int64_t>(r.aux, 0));
        perhaps = perhaps || !e.certain;
      }
      untimed = took == never && found(s, rows[j]) && rows[j].message == r.message;
    }
    untimed = untimed || (perhaps && took == never);
    at_best.push_back(untimed ? 0 : took);
    at_worst.push_back(took);
    a.observed += took != never || untimed;
    late += !untimed && took > bound;
  }
  a.population = at_best.size();
  std::set<std::string> concerned = s.dead_letters();
  concerned.insert({s.of, s.in});
  if (!end_phase_seen(s, rows, concerned) || a.population < needed) return a;
  std::sort(at_best.begin(), at_best.end());
  std::sort(at_worst.begin(), at_worst.end());
  const std::uint64_t rank = std::max<std::uint64_t>(1, (a.population * per_mille + 999) / 1000);
  if (at_worst[rank - 1] <= bound) {
    a.verdict = Verdict::holds;
  } else if (at_best[rank - 1] > bound) {
    a.verdict = Verdict::violated;
    a.violations = late;
  }
  return a;
}

/// at_least per second; a tenth of the sends' time is cut at either end.
inline Answer throughput(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  const Subject s(lab, c);
  std::map<MessageId, std::size_t> sent;
  std::int64_t first = INT64_MAX, last = INT64_MIN;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].kind != Kind::invoke || !s.by_sender(rows[i]) || rows[i].message == 0) continue;
    if (!sent.try_emplace(rows[i].message, i).second) continue;
    first = std::min(first, rows[i].aux);
    last = std::max(last, rows[i].aux);
  }
  Answer a;
  a.population = sent.size();
  std::set<std::string> concerned = s.dead_letters();
  concerned.insert({s.of, s.in});
  if (!end_phase_seen(s, rows, concerned) || sent.size() < 100) return a;
  const auto cut = static_cast<std::int64_t>(static_cast<double>(last - first) * 0.1);
  if (last - cut <= first + cut) return a;
  std::set<MessageId> done, perhaps;
  for (const Timed& e : timed_effects(s, rows)) {
    const auto send = sent.find(e.id);
    if (send == sent.end() || send->second > e.row) continue;
    if (!e.certain) perhaps.insert(e.id);
    if (!e.certain || !done.insert(e.id).second) continue;
    a.observed += rows[e.row].time >= first + cut && rows[e.row].time < last - cut;
  }
  std::erase_if(perhaps, [&](MessageId id) { return done.count(id) != 0; });
  const double seconds = static_cast<double>(last - first - 2 * cut) / 1e9;
  const double bound = std::stod(parameter(c, "at_least"));
  if (static_cast<double>(a.observed) / seconds >= bound) {
    a.verdict = Verdict::holds;
  } else if (static_cast<double>(a.observed + perhaps.size()) / seconds < bound) {
    a.verdict = Verdict::violated;
    a.violations = 1;
  }
  return a;
}

inline Answer backlog(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  const Subject s(lab, c);
  const std::uint64_t bound = std::stoull(parameter(c, "at_most"));
  const std::vector<Timed> effects = timed_effects(s, rows);
  const std::set<std::string> letters = s.dead_letters();
  std::set<MessageId> acked, done, perhaps;
  std::uint64_t before = 0, exceeded = 0;
  bool doubtful = false;
  const auto surely_open = [&] {
    return static_cast<std::uint64_t>(std::count_if(acked.begin(), acked.end(), [&](MessageId id) {
      return done.count(id) == 0 && perhaps.count(id) == 0;
    }));
  };
  const auto maybe_open = [&] {
    return static_cast<std::uint64_t>(
        std::count_if(acked.begin(), acked.end(), [&](MessageId id) { return done.count(id) == 0; }));
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    const bool stored = r.kind == Kind::publish && r.phase == Phase::ok && r.message != 0;
    if (stored && s.by_sender(r) && s.topic_of(r.place) == s.of && acked.insert(r.message).second) {
      if (surely_open() > bound && before <= bound) ++exceeded;
      doubtful = doubtful || (surely_open() <= bound && maybe_open() > bound);
    }
    for (const std::string& topic : letters) {
      if (stored && s.topic_of(r.place) == topic && sends_to(lab, r, topic)) done.insert(r.message);
    }
    const bool untold = r.kind == Kind::publish && r.phase == Phase::unknown && r.message != 0;
    for (const std::string& topic : letters) {
      if (untold && sends_to(lab, r, topic)) perhaps.insert(r.message);
    }
    for (const Timed& e : effects) {
      if (e.row == i) (e.certain ? done : perhaps).insert(e.id);
    }
    if (found(s, r)) done.insert(r.message);
    before = surely_open();
  }
  Answer a;
  a.population = acked.size();
  a.observed = acked.size() - maybe_open();
  std::set<std::string> concerned = letters;
  concerned.insert({s.of, s.in});
  const bool seen = end_phase_seen(s, rows, concerned);
  a.violations = exceeded + (seen ? before : 0);
  if (a.violations > 0) {
    a.verdict = Verdict::violated;
  } else if (seen && a.observed > 0 && !doubtful && maybe_open() == 0) {
    a.verdict = Verdict::holds;
  }
  return a;
}

}  // namespace mqlab::testing::naive
