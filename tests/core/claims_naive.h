// The claims a second time, by the book: whole histories, maps and sets, one definition after the other, no
// thought of speed. core/claims must agree with this on every history.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "core/claims/excuses.h"
#include "tests/core/claims_support.h"

namespace mqlab::testing::naive {

struct Answer {
  Verdict verdict = Verdict::undecided;
  std::uint64_t observed = 0, population = 0, violations = 0;
};

inline bool has_flag(const Row& r, std::uint16_t f) { return (r.flags & f) != 0; }
inline bool is_record(const Row& r) { return r.kind == Kind::audit && r.op != 1; }

/// The names of a claim looked up in the most direct way.
struct Subject {
  const Lab& lab;
  std::string of, in, as;
  bool deliveries;

  Subject(const Lab& l, const ClaimSpec& c) : lab(l), of(c.of), in(c.in), as(c.as), deliveries(false) {
    for (const Property& p : c.parameters)
      deliveries = deliveries || (p.key == "deliveries" && p.value == "true");
    if (of.empty()) of = "requests";
    if (!as.empty()) in = lab.scenario.observers[0].topic;
  }
  std::string topic_of(PlaceId p) const {
    return p < lab.topology.places.size() ? lab.topology.topics[lab.topology.places[p].topic].name : "";
  }
  bool is_store() const { return in == "index"; }
  const ProcessInfo* info(const Row& r) const {
    return r.process < lab.topology.processes.size() ? &lab.topology.processes[r.process] : nullptr;
  }
  bool by_workload(const Row& r) const { return info(r) != nullptr && info(r)->role == Role::workload; }
  bool by_sender(const Row& r) const {
    return by_workload(r) && lab.scenario.workloads[info(r)->index].topic == of;
  }
  bool by_observer(const Row& r) const { return info(r) != nullptr && !as.empty() && info(r)->group == as; }
  /// The stage that reads `of` and whose process wrote this row, by its place in the file.
  std::optional<std::size_t> reader(const Row& r) const {
    if (info(r) == nullptr || info(r)->role != Role::stage) return std::nullopt;
    for (const std::string& input : lab.scenario.stages[info(r)->index].inputs) {
      if (input == of) return info(r)->index;
    }
    return std::nullopt;
  }
  std::set<std::string> dead_letters() const {
    std::set<std::string> names;
    for (const StageSpec& stage : lab.scenario.stages) {
      if (std::find(stage.inputs.begin(), stage.inputs.end(), of) != stage.inputs.end())
        names.insert(stage.retry.dead_letter);
    }
    names.erase("");
    return names;
  }
  /// How many readers an id should reach.
  std::vector<std::size_t> readers() const {
    if (!in.empty()) return {0};
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < lab.scenario.stages.size(); ++i) {
      const auto& inputs = lab.scenario.stages[i].inputs;
      if (std::find(inputs.begin(), inputs.end(), of) != inputs.end()) all.push_back(i);
    }
    return all;
  }
};

inline bool end_phase_seen(const Subject& s, const Rows& rows, const std::set<std::string>& topics) {
  bool quiet = false;
  for (const Row& r : rows) {
    if (r.kind == Kind::quiet) quiet = r.phase == Phase::ok;
  }
  if (!quiet) return false;
  for (PlaceId p = 0; p < s.lab.topology.places.size(); ++p) {
    if (topics.count(s.topic_of(p)) == 0) continue;
    const Row* end = nullptr;
    std::int64_t found = 0, last = -1;
    for (const Row& r : rows) {
      if (r.kind == Kind::audit_end && r.place == p) end = &r;
      if (!is_record(r) || r.place != p) continue;
      ++found;
      if (r.position <= last && s.topic_of(p) != "index") return false;
      last = r.position;
    }
    if (end == nullptr || end->phase != Phase::ok || end->aux != found) return false;
  }
  std::int64_t open = 0;
  for (const Row& r : rows) {
    if (!s.by_observer(r)) continue;
    if (r.kind == Kind::deliver && --open < 0) return false;
    if (r.kind == Kind::fetch && r.phase == Phase::ok && has_flag(r, flag::header)) {
      if (open != 0) return false;
      open = r.aux;
    }
  }
  return open == 0;
}

/// What was sent, and what became of it.
struct Sent {
  std::set<MessageId> invoked, elsewhere, acked, unknown, excluded;
  std::map<MessageId, std::set<std::uint64_t>> digests;

  Sent(const Subject& s, const Rows& rows) {
    std::map<MessageId, int> open;
    std::set<MessageId> failed, lost_track;
    for (const Row& r : rows) {
      const bool starts =
          (r.kind == Kind::publish || r.kind == Kind::store_write) && r.phase == Phase::invoke;
      if ((starts || (r.kind == Kind::invoke && s.by_workload(r))) && r.digest != 0 && r.message != 0) {
        digests[r.message].insert(r.digest);
      }
      if (r.kind == Kind::invoke && s.by_workload(r))
        (s.by_sender(r) ? invoked : elsewhere).insert(r.message);
      if (r.kind != Kind::publish || !s.by_sender(r) || r.message == 0) continue;
      int& n = open[r.message];
      n = r.phase == Phase::invoke ? n + 1 : std::max(0, n - 1);
      if (r.phase == Phase::ok && s.topic_of(r.place) == s.of) acked.insert(r.message);
      if (r.phase == Phase::fail) failed.insert(r.message);
      if (r.phase == Phase::unknown) lost_track.insert(r.message);
    }
    for (const MessageId id : failed) {
      if (acked.count(id) == 0 && lost_track.count(id) == 0 && open[id] == 0) excluded.insert(id);
    }
    for (const MessageId id : invoked) {
      if (acked.count(id) == 0 && excluded.count(id) == 0) unknown.insert(id);
    }
    std::erase_if(acked, [&](MessageId id) { return invoked.count(id) == 0; });
  }
  bool foreign(MessageId id) const { return elsewhere.count(id) != 0 && invoked.count(id) == 0; }
};

struct Effect {
  MessageId id;
  std::size_t reader;
  std::size_t row;
  bool certain = true;
};

/// Handlers whose end is unknown may have had their effect.
inline std::vector<Effect> doubtful_completions(const Subject& s, const Rows& rows) {
  std::vector<Effect> effects;
  if (!s.in.empty() || s.deliveries) return effects;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    if (r.kind != Kind::complete || r.phase != Phase::unknown || r.message == 0 || !s.reader(r)) continue;
    effects.push_back({r.message, *s.reader(r), i, false});
  }
  return effects;
}

/// The effects of all ids.
inline std::vector<Effect> effects_of(const Subject& s, const Rows& rows) {
  std::vector<Effect> effects;
  std::set<std::pair<PlaceId, std::int64_t>> read;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    if (r.message == 0) continue;
    const bool inside = s.topic_of(r.place) == s.in;
    if (s.deliveries) {
      if (r.kind != Kind::handle || r.phase != Phase::ok) continue;
      if (!s.as.empty()) {
        if (s.by_observer(r) && (r.place == no_place || inside)) effects.push_back({r.message, 0, i});
      } else if (s.reader(r) && (r.place == no_place || s.topic_of(r.place) == s.of)) {
        effects.push_back({r.message, *s.reader(r), i});
      }
    } else if (!s.as.empty()) {
      if (r.kind != Kind::deliver || !s.by_observer(r) || !inside) continue;
      if (r.position < 0 || read.insert({r.place, r.position}).second) effects.push_back({r.message, 0, i});
    } else if (!s.in.empty()) {
      if (is_record(r) && inside && !has_flag(r, flag::aborted | flag::open))
        effects.push_back({r.message, 0, i});
    } else if (r.kind == Kind::complete && r.phase == Phase::ok && s.reader(r)) {
      effects.push_back({r.message, *s.reader(r), i});
    }
  }
  return effects;
}

/// no_loss, no_duplicates, no_phantom, exactly_once. `excuse`: of the loss of an id.
using Excusing = std::function<Excuse(MessageId)>;
inline Answer delivery_but(const Lab& lab, const ClaimSpec& c, const Rows& rows, const Excusing& excuse) {
  const Subject s(lab, c);
  const bool all = c.id == "exactly_once";
  const Sent sent(s, rows);
  std::map<std::pair<MessageId, std::size_t>, int> count;
  std::set<MessageId> phantoms, dead, pending;
  Answer a;
  bool doubtful = false;
  for (const Effect& e : effects_of(s, rows)) {
    // Whose id is foreign is known from what was invoked before.
    bool foreign = false, ours = false;
    for (std::size_t i = 0; i < e.row; ++i) {
      if (rows[i].kind != Kind::invoke || rows[i].message != e.id || !s.by_workload(rows[i])) continue;
      (s.by_sender(rows[i]) ? ours : foreign) = true;
    }
    if (foreign && !ours) continue;
    ++a.observed;
    ++count[{e.id, e.reader}];
    const auto digests = sent.digests.find(e.id);
    const std::uint64_t digest = rows[e.row].digest;
    const bool changed = digest != 0 && digests != sent.digests.end() && digests->second.count(digest) == 0;
    const bool nobodys = sent.invoked.count(e.id) == 0;
    if (!sent.foreign(e.id) && (changed || nobodys)) phantoms.insert(e.id);
    if (sent.excluded.count(e.id) != 0 && !nobodys) phantoms.insert(e.id);
  }
  const std::set<std::string> letters = s.dead_letters();
  for (const Effect& e : doubtful_completions(s, rows)) pending.insert(e.id);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    if (!is_record(r) || r.message == 0) continue;
    const std::string topic = s.topic_of(r.place);
    if (letters.count(topic) != 0 && !has_flag(r, flag::aborted | flag::open)) dead.insert(r.message);
    if (s.as.empty() && !s.is_store() && topic == s.in && has_flag(r, flag::open)) pending.insert(r.message);
    if (s.as.empty() || s.deliveries || topic != s.in || !has_flag(r, flag::aborted)) continue;
    for (std::size_t j = 0; j < i; ++j) {  // the record that was read there, whatever it was
      const Row& d = rows[j];
      if (d.kind == Kind::deliver && s.by_observer(d) && d.message != 0 && d.place == r.place &&
          d.position == r.position && d.position >= 0 && !sent.foreign(r.message)) {
        phantoms.insert(r.message);
      }
    }
  }
  std::erase_if(pending, [&](MessageId id) { return sent.invoked.count(id) == 0; });
  a.population = sent.acked.size();
  if (all || c.id == "no_duplicates") {
    for (const auto& [who, n] : count) a.violations += n > 1;
  }
  if (all || c.id == "no_loss") {
    for (const MessageId id : sent.acked) {
      bool missing = false;
      for (const std::size_t reader : s.readers())
        missing = missing || count.count({id, s.in.empty() && s.as.empty() ? reader : 0}) == 0;
      const bool lost = missing && dead.count(id) == 0 && pending.count(id) == 0;
      a.violations += lost && excuse(id) == Excuse::none;
      doubtful = doubtful || (lost && excuse(id) == Excuse::doubtful);
    }
  }
  if (all || c.id == "no_phantom") a.violations += phantoms.size();
  std::set<std::string> concerned = letters;
  concerned.insert({s.of, s.in});
  const bool seen = end_phase_seen(s, rows, concerned);
  const bool at_once = c.id == "no_phantom";
  if (!seen && !at_once) {
    a.violations = 0;
  } else if (a.violations > 0) {
    a.verdict = Verdict::violated;
  } else if (seen && pending.empty() && !doubtful && a.observed > 0 &&
             (at_once ? !sent.invoked.empty() : a.population > 0) &&
             2 * sent.unknown.size() <= sent.invoked.size()) {
    a.verdict = Verdict::holds;
  }
  return a;
}

inline Answer delivery(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  return delivery_but(lab, c, rows, [](MessageId) { return Excuse::none; });
}

}  // namespace mqlab::testing::naive
