// Smallest changes to a good history, and which claims each must break.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "core/history/audit.h"
#include "tests/core/claims_good.h"

namespace mqlab::testing {

/// Removes rows and sets the counts right that a reader announces, as a port does that never saw the records.
inline Rows without(const Rows& rows, const std::function<bool(const Row&)>& hidden) {
  Rows kept;
  std::map<PlaceId, std::int64_t> audited;
  for (const Row& r : rows) {
    if (hidden(r)) {
      if (r.kind == Kind::deliver) kept.back().aux -= kept.back().kind == Kind::fetch;
      if (is_record_audit(r)) --audited[r.place];
      continue;
    }
    kept.push_back(r);
    if (r.kind == Kind::audit_end) kept.back().aux += audited[r.place];
  }
  return kept;
}

/// One smallest change to a good history, and which claims it must break. All others must hold or, where the
/// change takes away what they look at, be undecided.
struct Mutation {
  std::string name;
  std::function<void(const Lab&, Rows&)> change;
  std::set<std::string> breaks;  ///< claims, with what they look at: "no_loss in vectors"
};

inline std::string subject(const ClaimSpec& c) {
  const bool deliveries = find(c.parameters, "deliveries") != nullptr;
  const Property* repeats = find(c.parameters, "repeats");
  const std::string where = !c.as.empty()   ? " as " + c.as
                            : !c.in.empty() ? " in " + c.in
                            : deliveries    ? " of deliveries"
                                            : "";
  return c.id + where + (repeats != nullptr && repeats->value == "strict" ? " strict" : "");
}

inline std::size_t index_of(const Rows& rows, const std::function<bool(const Row&)>& is) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (is(rows[i])) return i;
  }
  ADD_FAILURE() << "no such row";
  return 0;
}

inline bool audited(const Lab& lab, const Row& r, std::string_view topic, MessageId id) {
  return is_record_audit(r) && r.message == id &&
         lab.topology.topics[lab.topology.places[r.place].topic].name == topic;
}

/// billing reads nothing before all is committed.
inline void read_late(const Lab& lab, Rows& rows) {
  Rows early, late;
  for (const Row& r : rows) {
    if (r.kind == Kind::quiet) early.insert(early.end(), late.begin(), late.end());
    (r.process == lab.process("billing") ? late : early).push_back(r);
  }
  rows = early;
}

/// Two records of a topic change places, for all who wrote and read them.
inline void swap_records(const Lab& lab, Rows& rows, std::string_view topic, MessageId a, MessageId b) {
  for (Row& r : rows) {
    if (r.place == no_place || lab.topology.topics[lab.topology.places[r.place].topic].name != topic)
      continue;
    const bool seen = is_record_audit(r) || (r.kind == Kind::deliver && r.process == lab.process("billing"));
    if (!seen || (r.message != a && r.message != b)) continue;
    r.message = a + b - r.message;
    r.digest = mix(r.message);
  }
  const auto ack = [&](MessageId id) {
    return index_of(rows, [&](const Row& r) {
      return r.kind == Kind::publish && r.phase == Phase::ok && r.message == id &&
             lab.topology.topics[lab.topology.places[r.place].topic].name == topic;
    });
  };
  std::swap(rows[ack(a)].position, rows[ack(b)].position);
}

/// Puts a record at the end of vectors/0, read by billing before the system came to rest.
inline void add_record(const Lab& lab, Rows& rows, MessageId id, std::uint64_t digest, bool read) {
  const PlaceId place = lab.place("vectors/0");
  Row* end =
      &rows[index_of(rows, [&](const Row& r) { return r.kind == Kind::audit_end && r.place == place; })];
  Row record;
  record.kind = Kind::audit;
  record.phase = Phase::ok;
  record.process = lab.topology.auditor;
  record.message = id;
  record.digest = digest;
  record.place = place;
  record.position = end->position++;
  ++end->aux;
  rows.insert(rows.begin() + (end - rows.data()), record);
  if (!read) return;
  Row head;
  head.kind = Kind::fetch;
  head.phase = Phase::ok;
  head.process = lab.process("billing");
  head.flags = flag::header;
  head.aux = 1;
  record.kind = Kind::deliver;
  record.process = head.process;
  const auto quiet = rows.begin() + static_cast<std::ptrdiff_t>(
                                        index_of(rows, [](const Row& r) { return r.kind == Kind::quiet; }));
  const Row both[] = {head, record};
  rows.insert(quiet, both, both + 2);
}

/// archive, which is nobody's observer, is given ids at positions of vectors/0 in one batch.
inline void read_besides(const Lab& lab, Rows& rows,
                         const std::vector<std::pair<std::int64_t, MessageId>>& readings) {
  const auto quiet = index_of(rows, [](const Row& r) { return r.kind == Kind::quiet; });
  Rows batch;
  for (const auto& [position, id] : readings) {
    Row read;
    read.kind = Kind::deliver;
    read.phase = Phase::ok;
    read.process = lab.process("archive-0");
    read.place = lab.place("vectors/0");
    read.position = position;
    read.message = id;
    read.time = rows[quiet].time;
    batch.push_back(read);
  }
  rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(quiet), batch.begin(), batch.end());
}

/// The id at a position of vectors/0.
inline MessageId id_at(const Lab& lab, const Rows& rows, std::int64_t position) {
  return rows[index_of(rows,
                       [&](const Row& r) {
                         return is_record_audit(r) && r.place == lab.place("vectors/0") &&
                                r.position == position;
                       })]
      .message;
}

}  // namespace mqlab::testing
