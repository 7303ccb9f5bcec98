// order.partition and order.key by the book.
#pragma once
#include "tests/core/claims_naive.h"

namespace mqlab::testing::naive {

using Producer = std::pair<ProcessId, Incarnation>;

/// Whether this process may send to `topic`, by the scenario.
inline bool sends_to(const Lab& lab, const Row& r, const std::string& topic) {
  if (r.process >= lab.topology.processes.size()) return false;
  const ProcessInfo& p = lab.topology.processes[r.process];
  if (p.role == Role::workload) return lab.scenario.workloads[p.index].topic == topic;
  if (p.role != Role::stage) return false;
  const StageSpec& stage = lab.scenario.stages[p.index];
  return std::find(stage.outputs.begin(), stage.outputs.end(), topic) != stage.outputs.end() ||
         stage.retry.dead_letter == topic;
}

/// Who sent the record of row n, by what was written before it: the producer whose publish was acked at its
/// position, else the only one that sent its id.
inline std::optional<Producer> sender_of(const Lab& lab, const Rows& rows, std::size_t n,
                                         const std::string& topic) {
  const Row& record = rows[n];
  std::optional<Producer> acked;
  std::set<Producer> sent;
  for (std::size_t i = 0; i < n; ++i) {
    const Row& r = rows[i];
    if (r.kind != Kind::publish || r.message == 0 || !sends_to(lab, r, topic)) continue;
    if (r.phase == Phase::ok && r.position >= 0 && r.place == record.place && r.position == record.position) {
      acked = {r.process, r.incarnation};
    }
    if (r.phase == Phase::invoke && r.message == record.message) sent.insert({r.process, r.incarnation});
  }
  if (acked) return acked;
  if (sent.size() == 1) return *sent.begin();
  return std::nullopt;
}

inline std::optional<std::size_t> first_send(const Lab& lab, const Rows& rows, std::size_t before,
                                             MessageId id, Producer by, const std::string& topic) {
  for (std::size_t i = 0; i < before; ++i) {
    const Row& r = rows[i];
    if (r.kind == Kind::publish && r.phase == Phase::invoke && r.message == id && sends_to(lab, r, topic) &&
        Producer{r.process, r.incarnation} == by) {
      return i;
    }
  }
  return std::nullopt;
}

inline Answer order_partition(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  Subject s(lab, c);
  if (s.in.empty()) s.in = s.of;
  const bool strict = !c.parameters.empty();
  struct Met {
    MessageId id;
    std::size_t sent;
  };
  std::map<std::pair<PlaceId, Producer>, std::vector<Met>> sequences;
  Answer a;
  std::uint64_t judged = 0;
  std::vector<Effect> unsure;  // records that any of several producers may have sent
  for (const Effect& e : effects_of(s, rows)) {
    ++a.population;
    const auto sender = sender_of(lab, rows, e.row, s.in);
    if (!sender) {
      unsure.push_back(e);
      continue;
    }
    const auto sent = first_send(lab, rows, e.row, e.id, *sender, s.in);
    if (!sent) continue;
    ++judged;
    std::vector<Met>& before = sequences[{rows[e.row].place, *sender}];
    if (!before.empty()) ++a.observed;
    bool repeat = false, later = false;
    for (const Met& met : before) {
      repeat = repeat || met.id == e.id;
      later = later || met.sent > *sent;
    }
    for (const Effect& other : unsure) {
      const bool here = other.id == e.id && rows[other.row].place == rows[e.row].place;
      repeat = repeat || (here && first_send(lab, rows, other.row, e.id, *sender, s.in));
    }
    if (later && (!repeat || strict)) ++a.violations;
    before.push_back({e.id, *sent});
  }
  if (a.violations > 0) {
    a.verdict = Verdict::violated;
  } else if (end_phase_seen(s, rows, {s.in}) && a.observed > 0 &&
             2 * (a.population - judged) <= a.population) {
    a.verdict = Verdict::holds;
  }
  return a;
}

/// Store writes as effects: applied where their op is ok, perhaps where its end is unknown.
inline std::vector<Effect> store_effects(const Subject& s, const Rows& rows) {
  std::vector<Effect> effects;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    if (r.kind != Kind::store_write || r.phase == Phase::invoke || r.phase == Phase::fail ||
        s.info(r) == nullptr || s.info(r)->role != Role::stage ||
        s.lab.scenario.stages[s.info(r)->index].store != s.in) {
      continue;
    }
    std::size_t from = 0;  // behind the last time that the op ended, or another incarnation wrote
    for (std::size_t j = 0; j < i; ++j) {
      const Row& w = rows[j];
      if (w.kind != Kind::store_write || w.process != r.process) continue;
      if (w.incarnation != r.incarnation || (w.phase != Phase::invoke && w.op == r.op)) from = j + 1;
    }
    for (std::size_t j = from; j < i; ++j) {
      const Row& w = rows[j];
      if (w.kind == Kind::store_write && w.process == r.process && w.incarnation == r.incarnation &&
          w.phase == Phase::invoke && w.op == r.op && w.message != 0) {
        effects.push_back({w.message, 0, i, r.phase == Phase::ok});
      }
    }
  }
  return effects;
}

inline Answer order_key(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  const Subject s(lab, c);
  Answer a;
  struct Send {
    std::size_t row;
    ProcessId process;
    std::uint32_t key;
  };
  const auto send_of = [&](MessageId id, std::size_t before) -> std::optional<Send> {
    for (std::size_t i = 0; i < before; ++i) {
      const Row& r = rows[i];
      if (r.kind == Kind::publish && r.phase == Phase::invoke && s.by_sender(r) && r.message == id &&
          id != 0) {
        return Send{i, r.process, r.key};
      }
    }
    return std::nullopt;
  };
  for (MessageId id = 1; id < 16; ++id) a.population += send_of(id, rows.size()).has_value();
  const bool by_log = s.as.empty() && !s.in.empty() && !s.is_store();
  using Reader = std::tuple<std::size_t, ProcessId, std::uint32_t, PlaceId>;
  std::map<Reader, std::vector<std::size_t>> sequences;
  std::set<std::tuple<MessageId, std::size_t, PlaceId>> met;
  std::vector<Effect> effects = s.is_store() ? store_effects(s, rows) : effects_of(s, rows);
  const std::vector<Effect> doubtful = doubtful_completions(s, rows);
  effects.insert(effects.end(), doubtful.begin(), doubtful.end());
  std::stable_sort(effects.begin(), effects.end(),
                   [](const Effect& x, const Effect& y) { return x.row < y.row; });
  for (const Effect& e : effects) {
    const auto send = send_of(e.id, e.row);
    if (!send) continue;
    const PlaceId place = by_log ? rows[e.row].place : 0;
    if (!met.insert({e.id, e.reader, place}).second || !e.certain) continue;
    std::vector<std::size_t>& before = sequences[{e.reader, send->process, send->key, place}];
    if (!before.empty()) ++a.observed;
    if (std::any_of(before.begin(), before.end(), [&](std::size_t sent) { return sent > send->row; }))
      ++a.violations;
    before.push_back(send->row);
  }
  std::set<std::string> concerned = s.dead_letters();
  concerned.insert({s.of, s.in});
  if (a.violations > 0) {
    a.verdict = Verdict::violated;
  } else if (end_phase_seen(s, rows, concerned) && a.observed > 0) {
    a.verdict = Verdict::holds;
  }
  return a;
}

}  // namespace mqlab::testing::naive
