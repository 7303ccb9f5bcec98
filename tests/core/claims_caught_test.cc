// Pipelines with one planted defect: each must be caught, by the claim that is about it and by no claim that
// is not.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "core/history/audit.h"
#include "core/scenario/error.h"
#include "tests/core/claims_good.h"

namespace mqlab::testing {
namespace {

/// Removes rows and sets the counts right that a reader announces, as a port does that never saw the records.
Rows without(const Rows& rows, const std::function<bool(const Row&)>& hidden) {
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

TEST(Caught, AModuleThatDoesNothing) {
  const Lab lab;
  const ProcessId embeds[] = {lab.process("embed-0"), lab.process("embed-1")};
  const Rows rows = without(good_history(lab), [&](const Row& r) {
    const bool its_doing =
        r.process == embeds[0] || r.process == embeds[1] || r.process == lab.process("billing");
    const std::string place = r.place == no_place ? "" : lab.topology.places[r.place].name;
    return its_doing || (is_record_audit(r) && (place.starts_with("vectors") || place == "index"));
  });
  for (const ClaimSpec& spec : every_claim()) {
    const Finding finding = lab.judge(spec, rows);
    if (spec.in == "requests") continue;  // the workload's own order is as it was
    EXPECT_NE(finding.verdict, Verdict::holds) << spec.scope() << ": " << finding.explanation;
    const bool about_loss =
        spec.id == "no_loss" || spec.id == "exactly_once" || spec.id.starts_with("latency");
    if (about_loss) {
      EXPECT_EQ(finding.verdict, Verdict::violated) << spec.scope();
    }
  }
}

TEST(Caught, AModuleThatStampsNewIds) {
  const Lab lab;
  Rows rows = good_history(lab);
  for (Row& r : rows) {
    const std::string place = r.place == no_place ? "" : lab.topology.places[r.place].name;
    const bool output = r.kind == Kind::publish && lab.topology.processes[r.process].group == "embed";
    if (output || place.starts_with("vectors")) r.message += r.message == 0 ? 0 : 5000;
  }
  for (const char* id : {"no_loss", "no_phantom", "exactly_once"}) {
    EXPECT_EQ(lab.judge(claim(id, "requests", "vectors"), rows).verdict, Verdict::violated) << id;
    EXPECT_EQ(lab.judge(claim(id, "requests", "vectors", "billing"), rows).verdict, Verdict::violated) << id;
  }
}

TEST(Caught, APortThatHidesEveryTenthRecord) {
  const Lab lab;
  const Rows rows = good_history(lab);
  const auto hide = [&](std::string_view process) {
    int n = 0;
    return without(rows, [&, reader = lab.process(process)](const Row& r) {
      return r.kind == Kind::deliver && r.process == reader && ++n % 10 == 0;
    });
  };
  const Finding finding = lab.judge(claim("no_loss", "requests", "vectors", "billing"), hide("billing"));
  EXPECT_EQ(finding.verdict, Verdict::violated);
  EXPECT_EQ(finding.violations, 12u);
  EXPECT_EQ(lab.judge(claim("exactly_once", "requests", "vectors", "billing"), hide("billing")).verdict,
            Verdict::violated);
  // A stage that never sees every tenth record never handles, publishes or completes it.
  int n = 0;
  std::set<MessageId> unseen;
  for (const Row& r : rows) {
    if (r.kind == Kind::deliver && lab.topology.processes[r.process].group == "embed" && ++n % 10 == 0)
      unseen.insert(r.message);
  }
  const Rows stage = without(rows, [&](const Row& r) {
    const std::string place = r.place == no_place ? "" : lab.topology.places[r.place].name;
    return unseen.count(r.message) != 0 &&
           (lab.topology.processes[r.process].group == "embed" || place.starts_with("vectors"));
  });
  for (const ClaimSpec& spec :
       {claim("no_loss", "requests", "vectors"), claim("no_loss", "requests", "vectors", "billing"),
        claim("no_loss", "requests", "", "", {{"stage", "embed", 0}})}) {
    const Finding found = lab.judge(spec, stage);
    EXPECT_EQ(found.verdict, Verdict::violated) << spec.scope();
    EXPECT_EQ(found.violations, unseen.size()) << spec.scope();
    EXPECT_EQ(found.message, *unseen.begin()) << spec.scope();
  }
}

/// One smallest change to a good history, and which claims it must break. All others must hold or, where the
/// change takes away what they look at, be undecided.
struct Mutation {
  std::string name;
  std::function<void(const Lab&, Rows&)> change;
  std::set<std::string> breaks;  ///< claims, with what they look at: "no_loss in vectors"
};

std::string subject(const ClaimSpec& c) {
  const bool deliveries = find(c.parameters, "deliveries") != nullptr;
  const Property* repeats = find(c.parameters, "repeats");
  const std::string where = !c.as.empty()   ? " as " + c.as
                            : !c.in.empty() ? " in " + c.in
                            : deliveries    ? " of deliveries"
                                            : "";
  return c.id + where + (repeats != nullptr && repeats->value == "strict" ? " strict" : "");
}

std::size_t index_of(const Rows& rows, const std::function<bool(const Row&)>& is) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (is(rows[i])) return i;
  }
  ADD_FAILURE() << "no such row";
  return 0;
}

bool audited(const Lab& lab, const Row& r, std::string_view topic, MessageId id) {
  return is_record_audit(r) && r.message == id &&
         lab.topology.topics[lab.topology.places[r.place].topic].name == topic;
}

/// billing reads nothing before all is committed.
void read_late(const Lab& lab, Rows& rows) {
  Rows early, late;
  for (const Row& r : rows) {
    if (r.kind == Kind::quiet) early.insert(early.end(), late.begin(), late.end());
    (r.process == lab.process("billing") ? late : early).push_back(r);
  }
  rows = early;
}

/// Two records of a topic change places, for all who wrote and read them.
void swap_records(const Lab& lab, Rows& rows, std::string_view topic, MessageId a, MessageId b) {
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
void add_record(const Lab& lab, Rows& rows, MessageId id, std::uint64_t digest, bool read) {
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
void read_besides(const Lab& lab, Rows& rows,
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
MessageId id_at(const Lab& lab, const Rows& rows, std::int64_t position) {
  return rows[index_of(rows,
                       [&](const Row& r) {
                         return is_record_audit(r) && r.place == lab.place("vectors/0") &&
                                r.position == position;
                       })]
      .message;
}

std::vector<Mutation> mutations() {
  std::vector<Mutation> list;
  list.push_back({"a record vanishes from the log",
                  [](const Lab& lab, Rows& rows) {
                    rows = without(rows, [&](const Row& r) { return audited(lab, r, "vectors", 60); });
                  },
                  {"no_loss in vectors", "exactly_once in vectors", "txn.atomic", "accounted in vectors"}});
  list.push_back(
      {"a record is there twice",
       [](const Lab& lab, Rows& rows) { add_record(lab, rows, 3, mix(3), true); },
       {"no_duplicates in vectors", "exactly_once in vectors", "no_duplicates as billing",
        "exactly_once as billing", "order.partition in vectors strict", "order.partition as billing strict",
        "accounted in vectors", "log.no_duplicates in vectors"}});
  list.push_back({"a record of nobody",
                  [](const Lab& lab, Rows& rows) { add_record(lab, rows, 4000, mix(4000), true); },
                  {"no_phantom in vectors", "no_phantom as billing", "exactly_once in vectors",
                   "exactly_once as billing"}});
  list.push_back(
      {"a record is changed in the log",
       [](const Lab& lab, Rows& rows) {
         rows[index_of(rows, [&](const Row& r) { return audited(lab, r, "vectors", 60); })].digest ^= 1;
       },
       {"no_phantom in vectors", "exactly_once in vectors"}});
  list.push_back(
      {"two records change places, read late",
       [](const Lab& lab, Rows& rows) {
         read_late(lab, rows);
         swap_records(lab, rows, "vectors", 12, 18);
       },
       {"order.key in vectors", "order.key as billing", "order.partition in vectors",
        "order.partition as billing", "order.partition in vectors strict",
        "order.partition as billing strict", "backlog.bounded as billing", "log.monotonic_send in vectors"}});
  list.push_back({"two requests change places",
                  [](const Lab& lab, Rows& rows) { swap_records(lab, rows, "requests", 12, 18); },
                  {"order.partition in requests", "order.partition in requests strict"}});
  list.push_back({"a handler completes twice",
                  [](const Lab& lab, Rows& rows) {
                    const std::size_t i = index_of(rows, [&](const Row& r) {
                      return r.kind == Kind::complete && r.message == 60 &&
                             lab.topology.processes[r.process].group == "embed";
                    });
                    rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(i), Row(rows[i]));
                  },
                  {"no_duplicates", "exactly_once"}});
  list.push_back({"a handler starts twice",
                  [](const Lab& lab, Rows& rows) {
                    const std::size_t i = index_of(rows, [&](const Row& r) {
                      return r.kind == Kind::handle && r.message == 60 &&
                             lab.topology.processes[r.process].group == "embed";
                    });
                    rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(i), Row(rows[i]));
                  },
                  {"no_duplicates of deliveries", "exactly_once of deliveries"}});
  list.push_back({"a store row is lost",
                  [](const Lab& lab, Rows& rows) {
                    rows = without(rows, [&](const Row& r) { return audited(lab, r, "index", 60); });
                  },
                  {"no_loss in index", "exactly_once in index", "accounted in index"}});
  list.push_back(
      {"a record is read before its commit is asked for",
       [](const Lab& lab, Rows& rows) {
         const std::size_t i = index_of(rows, [&](const Row& r) {
           return r.kind == Kind::deliver && r.message == 60 && r.process == lab.process("billing");
         });
         const Row batch[] = {rows[i - 1], rows[i]};
         rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(i - 1),
                    rows.begin() + static_cast<std::ptrdiff_t>(i + 1));
         const auto commit = rows.begin() + static_cast<std::ptrdiff_t>(index_of(rows, [](const Row& r) {
                               return r.kind == Kind::commit_transaction && r.transaction == 60;
                             }));
         rows.insert(commit, batch, batch + 2);
       },
       {"txn.read_committed as billing"}});
  list.push_back({"a transaction's offset is not committed",
                  [](const Lab&, Rows& rows) {
                    --rows[index_of(rows, [](const Row& r) { return is_offset_audit(r); })].position;
                  },
                  {}});
  list.back().breaks = {"txn.atomic"};
  list.push_back({"a partition is assigned with an offset that nothing explains",
                  [](const Lab& lab, Rows& rows) {
                    Row assigned;
                    assigned.kind = Kind::assigned;
                    assigned.phase = Phase::ok;
                    assigned.process = lab.process("archive-0");
                    assigned.place = lab.place("requests/0");
                    assigned.position = 1;
                    rows.insert(rows.begin(), assigned);
                  },
                  {"commit.covers_processed"}});
  list.push_back({"a write to the store is applied twice",
                  [](const Lab&, Rows& rows) {
                    const std::size_t i = index_of(
                        rows, [](const Row& r) { return r.kind == Kind::store_write && r.message == 60; });
                    const Row write[] = {rows[i], rows[i + 1]};
                    rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(i), write, write + 2);
                  },
                  {"effect_once in index"}});
  list.push_back({"a position is read with another id",
                  [](const Lab& lab, Rows& rows) {
                    read_besides(lab, rows, {{4, id_at(lab, rows, 5)}});
                  },
                  {"log.offsets_consistent in vectors"}});
  list.push_back({"a reader goes back",
                  [](const Lab& lab, Rows& rows) {
                    read_besides(lab, rows, {{4, id_at(lab, rows, 4)}, {3, id_at(lab, rows, 3)}});
                  },
                  {"log.monotonic_poll in vectors"}});
  list.push_back({"a reader jumps a record",
                  [](const Lab& lab, Rows& rows) {
                    read_besides(lab, rows, {{4, id_at(lab, rows, 4)}, {6, id_at(lab, rows, 6)}});
                  },
                  {"log.no_poll_skip in vectors"}});
  list.push_back({"a reader stops before the end",
                  [](const Lab& lab, Rows& rows) {
                    rows = without(rows, [&](const Row& r) {
                      return r.process == lab.process("archive-0") && r.message >= 119;
                    });
                  },
                  {"progress.consumer"}});
  list.push_back(
      {"an answer takes two seconds",
       [](const Lab&, Rows& rows) {
         rows[index_of(rows, [](const Row& r) { return r.kind == Kind::invoke && r.message == 60; })].aux = 0;
       },
       {}});
  list.back().breaks = {"latency.max in vectors", "latency.max as billing", "latency.max in index",
                        "latency.max", "latency.max of deliveries"};
  return list;
}

TEST(Caught, OneSmallestChangeBreaksItsClaimsAndNoOther) {
  const Lab lab;
  for (const Mutation& mutation : mutations()) {
    Rows rows = good_history(lab);
    // One message is sent long before the others, so that an intended time of 0 is two seconds too early.
    for (Row& r : rows) {
      r.time += 2'000'000'000;
      if (r.kind == Kind::invoke) r.aux += 2'000'000'000;
    }
    mutation.change(lab, rows);
    for (const ClaimSpec& spec : every_claim()) {
      const Finding finding = lab.judge(spec, rows);
      const bool should = mutation.breaks.count(subject(spec)) != 0;
      EXPECT_EQ(finding.verdict == Verdict::violated, should)
          << mutation.name << ": " << subject(spec) << " is " << name_of(finding.verdict) << ", "
          << finding.explanation;
    }
  }
}

TEST(Caught, ABacklogThatGrowsAndAPipelineThatIsSlow) {
  const Lab lab;
  Story story(lab);
  for (MessageId id = 1; id <= 120; ++id)
    story.send(id, "api-0", "requests/0", id - 1).found(id, "requests/0", id - 1);
  story.later(60'000'000'000);
  for (MessageId id = 1; id <= 120; ++id) story.complete(id, "embed-0", "requests/0", id - 1);
  const Rows rows = story.end().rows;
  const Property stage = {"stage", "embed", 0};
  const Finding backlog =
      lab.judge(claim("backlog.bounded", "requests", "", "", {{"at_most", "100", 0}, stage}), rows);
  EXPECT_EQ(backlog.verdict, Verdict::violated);
  EXPECT_EQ(backlog.message, 101u);
  EXPECT_EQ(
      lab.judge(claim("backlog.bounded", "requests", "", "", {{"at_most", "120", 0}, stage}), rows).verdict,
      Verdict::holds);
  EXPECT_EQ(lab.judge(claim("throughput", "requests", "", "", {{"at_least", "1/s", 0}, stage}), rows).verdict,
            Verdict::violated);
  EXPECT_EQ(lab.judge(claim("latency.p50", "requests", "", "", {{"at_most", "1s", 0}, stage}), rows).verdict,
            Verdict::violated);
  EXPECT_EQ(lab.judge(claim("latency.p50", "requests", "", "", {{"at_most", "90s", 0}, stage}), rows).verdict,
            Verdict::holds);
}

}  // namespace
}  // namespace mqlab::testing
