// One smallest change a claim: it breaks the claims that are about it and no other.
#include "tests/core/claims_mutations_log.h"

namespace mqlab::testing {
namespace {

std::vector<Mutation> mutations() {
  std::vector<Mutation> list;
  list.push_back({"a record vanishes from the log",
                  [](const Lab& lab, Rows& rows) {
                    rows = without(rows, [&](const Row& r) { return audited(lab, r, "vectors", 60); });
                  },
                  {"no_loss in vectors", "exactly_once in vectors", "txn.atomic", "accounted in vectors",
                   "answered in vectors"}});
  list.push_back({"a record is there twice",
                  [](const Lab& lab, Rows& rows) { add_record(lab, rows, 3, mix(3), true); },
                  {"no_duplicates in vectors", "exactly_once in vectors", "no_duplicates as billing",
                   "exactly_once as billing", "order.partition in vectors strict",
                   "order.partition as billing strict", "accounted in vectors",
                   "log.no_duplicates in vectors", "answered in vectors", "answered as billing"}});
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
  list.push_back({"two records change places, read late",
                  [](const Lab& lab, Rows& rows) {
                    read_late(lab, rows);
                    swap_records(lab, rows, "vectors", 12, 18);
                  },
                  {"order.key in vectors", "order.key as billing", "order.partition in vectors",
                   "order.partition as billing", "order.partition in vectors strict",
                   "order.partition as billing strict", "backlog.bounded as billing",
                   "log.monotonic_send in vectors", "order.causal in vectors"}});
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
                  {"no_duplicates", "exactly_once", "answered"}});
  list.push_back({"a handler starts twice",
                  [](const Lab& lab, Rows& rows) {
                    const std::size_t i = index_of(rows, [&](const Row& r) {
                      return r.kind == Kind::handle && r.message == 60 &&
                             lab.topology.processes[r.process].group == "embed";
                    });
                    rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(i), Row(rows[i]));
                  },
                  {"no_duplicates of deliveries", "exactly_once of deliveries", "answered of deliveries"}});
  list.push_back({"a store row is lost",
                  [](const Lab& lab, Rows& rows) {
                    rows = without(rows, [&](const Row& r) { return audited(lab, r, "index", 60); });
                  },
                  {"no_loss in index", "exactly_once in index", "accounted in index", "answered in index"}});
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
  list.back().breaks = {"latency.max in vectors",
                        "latency.max as billing",
                        "latency.max in index",
                        "latency.max",
                        "latency.max of deliveries",
                        "answered in vectors",
                        "answered as billing",
                        "answered in index",
                        "answered",
                        "answered of deliveries"};
  return list;
}

void late_and_causal(std::vector<Mutation>& list) {
  list.push_back({"a partition takes more than it may",
                  [](const Lab& lab, Rows& rows) {
                    rows[index_of(rows, [&](const Row& r) {
                      return r.kind == Kind::usage && r.place == lab.place("vectors/1");
                    })].aux = 20'000;
                  },
                  {"disk.bounded in vectors"}});
  list.push_back({"the last record is read two seconds late",
                  [](const Lab& lab, Rows& rows) {
                    bool late = false;
                    for (Row& r : rows) {
                      late = late || (r.kind == Kind::deliver && r.message == 120 &&
                                      r.process == lab.process("billing"));
                      if (late) r.time += 2'000'000'000;
                    }
                  },
                  {"latency.max as billing", "answered as billing", "recovers as billing"}});
  list.push_back({"an answer is read before what it answers, from another partition",
                  [](const Lab& lab, Rows& rows) {
                    const auto read = [&](MessageId id) {
                      return index_of(rows, [&](const Row& r) {
                        return r.kind == Kind::deliver && r.message == id &&
                               r.process == lab.process("billing");
                      });
                    };
                    Row handled = rows[read(6)];
                    const Row batch[] = {rows[read(6) - 1], rows[read(6)]};
                    const auto after = rows.begin() + static_cast<std::ptrdiff_t>(read(7)) + 1;
                    rows.insert(after, batch, batch + 2);
                    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(read(6));
                    handled.kind = Kind::handle;
                    handled.process = lab.process("embed-1");
                    *(first - 1) = handled;  // embed-1 knows of 6 when it sends 7
                    rows.erase(first);
                  },
                  {"order.causal in vectors"}});
}

TEST(Caught, OneSmallestChangeBreaksItsClaimsAndNoOther) {
  const Lab lab;
  std::vector<Mutation> all = mutations();
  late_and_causal(all);
  in_transactions(all);
  std::set<std::string> broken;
  for (const Mutation& mutation : all) {
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
      if (should) broken.insert(spec.id);
      EXPECT_EQ(finding.verdict == Verdict::violated, should)
          << mutation.name << ": " << subject(spec) << " is " << name_of(finding.verdict) << ", "
          << finding.explanation;
    }
  }
  // These need more than one smallest change: a share, a median, a long run.
  const std::set<std::string> by_many = {"rate.loss", "rate.duplicates", "latency.p50", "latency.p90",
                                         "throughput"};
  for (const ClaimSpec& spec : every_claim())
    EXPECT_NE(broken.count(spec.id), by_many.count(spec.id)) << spec.id << " has no change that breaks it";
}

}  // namespace
}  // namespace mqlab::testing
