// commit.covers_processed and progress.consumer by the book.
#pragma once
#include "tests/core/claims_naive_time.h"

namespace mqlab::testing::naive {

/// One stage and what a claim about its reading looks at.
struct ReadingStage {
  const Lab& lab;
  std::size_t stage;
  std::string topic;

  const StageSpec& spec() const { return lab.scenario.stages[stage]; }
  bool by_it(const Row& r) const {
    if (r.process >= lab.topology.processes.size()) return false;
    const ProcessInfo& info = lab.topology.processes[r.process];
    return info.role == Role::stage && info.index == stage;
  }
  bool queue() const { return lab.scenario.topics[0].stream; }
  bool transactional() const { return spec().module == "transactional-stage"; }
  bool reads(PlaceId p) const {
    return p < lab.topology.places.size() && lab.topology.topics[lab.topology.places[p].topic].name == topic;
  }
  bool reading(const Row& r) const {
    return by_it(r) && reads(r.place) && r.position >= 0 && r.message != 0 &&
           (r.kind == Kind::deliver || r.kind == Kind::handle || r.kind == Kind::complete);
  }
  bool element(const Row& r) const {
    return by_it(r) && r.phase == Phase::invoke && !has_flag(r, flag::header) && r.position >= 0;
  }
};

inline std::vector<ReadingStage> reading_stages(const Lab& lab, const ClaimSpec& c) {
  std::vector<ReadingStage> list;
  const std::string only = parameter(c, "stage");
  for (std::size_t i = 0; i < lab.scenario.stages.size(); ++i) {
    if (only.empty() || only == lab.scenario.stages[i].name) list.push_back({lab, i, "requests"});
  }
  return list;
}

/// Rows at which a record was covered, by commits that certainly or perhaps took place.
struct Cover {
  std::size_t row;
  PlaceId place;
  std::int64_t position;
  bool one;  ///< this record alone, not all below
  bool certain;
};

/// What became of the offsets of a transaction: certainly committed, perhaps.
inline std::pair<bool, bool> fate_of_offsets(const Rows& rows, std::size_t i) {
  bool perhaps = false, asked = false;
  for (std::size_t j = i + 1; j < rows.size(); ++j) {
    const Row& r = rows[j];
    if (r.process != rows[i].process || r.incarnation != rows[i].incarnation) continue;
    if (r.kind == Kind::offsets_to_transaction && r.op == rows[i].op && r.phase == Phase::fail)
      return {false, perhaps};
    if (r.transaction == 0 || r.transaction != rows[i].transaction) continue;
    if (r.kind == Kind::abort_transaction && r.phase == Phase::ok) return {false, perhaps};
    if (r.kind != Kind::commit_transaction) continue;
    if (r.phase == Phase::ok) return {true, true};
    asked = r.phase != Phase::fail;
    perhaps = perhaps || r.phase == Phase::unknown;
  }
  return {false, perhaps || asked};
}

inline std::pair<bool, bool> fate_of(const Rows& rows, std::size_t i) {
  if (rows[i].kind == Kind::offsets_to_transaction) return fate_of_offsets(rows, i);
  for (std::size_t j = i + 1; j < rows.size(); ++j) {
    const Row& r = rows[j];
    if (r.process != rows[i].process || r.incarnation != rows[i].incarnation || r.kind != rows[i].kind ||
        r.op != rows[i].op || r.phase == Phase::invoke)
      continue;
    return {r.phase == Phase::ok, r.phase != Phase::fail};
  }
  return {false, true};
}

inline std::vector<Cover> covers(const ReadingStage& s, const Rows& rows) {
  std::vector<Cover> list;
  const auto& processes = s.lab.topology.processes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    const bool committed =
        (r.kind == Kind::assigned && s.by_it(r) && r.phase == Phase::ok && !has_flag(r, flag::header)) ||
        (r.kind == Kind::audit && r.op == 1 && r.key == s.stage);
    if (committed && s.reads(r.place) && r.position >= 0)
      list.push_back({i, r.place, r.position, false, true});
    if (r.process >= processes.size() || !s.element(r)) continue;
    const bool log = r.kind == Kind::commit || r.kind == Kind::offsets_to_transaction;
    const auto [certainly, perhaps] = fate_of(rows, i);
    if (log && s.reads(r.place)) {
      if (perhaps) list.push_back({i, r.place, r.position, false, certainly});
    } else if (r.kind == Kind::ack && s.queue() && perhaps) {
      list.push_back({i, s.lab.place("requests"), r.position, true, certainly});
    }
  }
  return list;
}

inline Answer commit_covers_processed(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  Answer a;
  bool doubtful = false;
  for (const ReadingStage& s : reading_stages(lab, c)) {
    std::set<std::pair<PlaceId, std::int64_t>> records;
    for (const Row& r : rows) {
      const bool found = is_record(r) && r.message != 0 && !has_flag(r, flag::aborted | flag::open);
      if ((found && s.reads(r.place) && r.position >= 0) || s.reading(r))
        records.insert({r.place, r.position});
    }
    const std::vector<Cover> all = covers(s, rows);
    for (const auto& [place, position] : records) {
      std::size_t processed = rows.size(), at_best = rows.size(), covered = rows.size() + 1,
                  perhaps_covered = rows.size() + 1;
      for (std::size_t i = rows.size(); i-- > 0;) {
        const Row& r = rows[i];
        if (!s.reading(r) || r.place != place || r.position != position) continue;
        if (r.kind != (s.transactional() ? Kind::handle : Kind::complete)) continue;
        at_best = i;
        if (r.phase == Phase::ok || r.phase == Phase::fail) processed = i;
      }
      for (const Cover& cover : all) {
        const bool it = cover.one ? cover.position == position : cover.position > position;
        if (cover.place != place || !it) continue;
        perhaps_covered = std::min(perhaps_covered, cover.row);
        if (cover.certain) covered = std::min(covered, cover.row);
      }
      ++a.population;
      a.observed += covered < rows.size();
      if (covered < at_best) {
        ++a.violations;
      } else if (perhaps_covered < processed) {
        doubtful = true;
      }
    }
  }
  const bool seen = end_phase_seen(Subject(lab, c), rows, {"requests"});
  if (a.violations > 0) {
    a.verdict = Verdict::violated;
  } else if (seen && a.observed > 0 && !doubtful) {
    a.verdict = Verdict::holds;
  }
  return a;
}

/// A stage in a partition, as it stands before row `end`: everything is worked out from the beginning.
struct Progress {
  bool lags = false;
  std::uint64_t advances = 0;
  std::set<std::int64_t> pending;

  Progress(const ReadingStage& s, PlaceId place, const Rows& rows, std::size_t end) {
    std::int64_t stored_to = 0, next = 0;
    std::set<std::int64_t> stored, settled;
    for (std::size_t i = 0; i < end; ++i) {
      const Row& r = rows[i];
      if (r.kind == Kind::publish && r.phase == Phase::ok && r.message != 0 && r.place == place &&
          r.position >= 0) {
        stored_to = std::max(stored_to, r.position + 1);
        stored.insert(r.position);
      }
      if (!s.by_it(r) || has_flag(r, flag::header)) continue;
      if (s.queue()) {
        const bool entry = s.reading(r) && r.place == place;
        const bool receipt = s.element(r) && (r.kind == Kind::ack || r.kind == Kind::nack ||
                                              r.kind == Kind::progress || r.kind == Kind::terminate);
        if ((!entry && !receipt) || settled.count(r.position) != 0) continue;
        pending.insert(r.position);
        if (r.kind != Kind::ack && r.kind != Kind::terminate && r.kind != Kind::complete) continue;
        pending.erase(r.position);
        settled.insert(r.position);
        ++advances;
      } else if (r.place == place && r.position >= 0) {
        const bool handled = s.reading(r) && r.kind != Kind::deliver;
        const bool committed =
            r.kind == Kind::assigned || (r.kind == Kind::commit && r.phase == Phase::invoke);
        const std::int64_t to = handled ? r.position + 1 : committed ? r.position : 0;
        if (to > next) ++advances;
        next = std::max(next, to);
      }
    }
    lags = s.queue() ? !std::includes(settled.begin(), settled.end(), stored.begin(), stored.end())
                     : stored_to > next;
  }
};

/// Faults under way before row `end`, and when the last of them was healed.
inline std::pair<int, std::int64_t> faults_before(const Rows& rows, std::size_t end) {
  int active = 0;
  std::int64_t healed = 0;
  for (std::size_t i = 0; i < end; ++i) {
    if (rows[i].kind == Kind::fault) ++active;
    if (rows[i].kind == Kind::heal && active > 0 && --active == 0) healed = rows[i].time;
  }
  return {active, healed};
}

/// When something last happened to an entry of a queue, before row `end`.
inline std::int64_t last_event(const ReadingStage& s, PlaceId place, const Rows& rows, std::size_t end,
                               std::int64_t position) {
  for (std::size_t i = end; i-- > 0;) {
    const Row& r = rows[i];
    const bool receipt = s.element(r) && (r.kind == Kind::ack || r.kind == Kind::nack ||
                                          r.kind == Kind::progress || r.kind == Kind::terminate);
    const bool entry = s.reading(r) && r.place == place && !has_flag(r, flag::header);
    if ((receipt || entry) && r.position == position) return r.time;
  }
  return 0;
}

inline void count_stalls(const ReadingStage& s, PlaceId place, const Rows& rows, std::size_t rest,
                         std::int64_t within, Answer& a) {
  std::int64_t since = 0;
  for (std::size_t i = 0; i < rest; ++i) {
    const Row& r = rows[i];
    const Progress before(s, place, rows, i), after(s, place, rows, i + 1);
    const auto [active, healed] = faults_before(rows, i);
    const auto late = [&](std::int64_t from) {
      return active == 0 && r.time - std::max(from, healed) > within;
    };
    const bool advanced = after.advances > before.advances;
    const bool looked_at = r.kind == Kind::fault || r.kind == Kind::quiet;
    for (const std::int64_t position : before.pending) {
      const bool touched = last_event(s, place, rows, i + 1, position) == r.time &&
                           (s.by_it(r) && r.position == position && !has_flag(r, flag::header)) &&
                           (s.element(r) || s.reading(r));
      const bool event = touched && (s.reading(r) || r.kind == Kind::ack || r.kind == Kind::nack ||
                                     r.kind == Kind::progress || r.kind == Kind::terminate);
      a.violations += (event || looked_at) && late(last_event(s, place, rows, i, position));
    }
    const bool at_rest = r.kind == Kind::quiet && r.phase == Phase::ok && active == 0;
    a.violations += (advanced || looked_at) && before.lags && (late(since) || at_rest);
    if (advanced || (!before.lags && after.lags)) since = r.time;
    a.observed += after.advances - before.advances;
  }
}

/// within in whole milliseconds.
inline Answer progress_consumer(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  Answer a;
  const std::int64_t within = std::stoll(parameter(c, "within")) * 1'000'000;
  std::size_t rest = 0;
  while (rest < rows.size() && rows[rest].kind != Kind::quiet) ++rest;
  rest = std::min(rest + 1, rows.size());
  const std::vector<ReadingStage> stages = reading_stages(lab, c);
  for (std::size_t i = 0; i < rest; ++i) {
    const Row& r = rows[i];
    a.population += r.kind == Kind::publish && r.phase == Phase::ok && r.message != 0 &&
                    stages[0].reads(r.place) && r.position >= 0;
  }
  for (const ReadingStage& s : stages) {
    for (PlaceId p = 0; p < lab.topology.places.size(); ++p) {
      if (s.reads(p)) count_stalls(s, p, rows, rest, within, a);
    }
  }
  const bool seen = end_phase_seen(Subject(lab, c), rows, {"requests"});
  if (a.violations > 0) {
    a.verdict = Verdict::violated;
  } else if (seen && a.observed > 0) {
    a.verdict = Verdict::holds;
  }
  return a;
}

}  // namespace mqlab::testing::naive
