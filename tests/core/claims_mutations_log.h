// Smallest changes that break the log claims which concern transactions.
#pragma once
#include "tests/core/claims_mutations.h"

namespace mqlab::testing {

/// The publish of an id by embed becomes part of another transaction.
inline void write_in(const Lab& lab, Rows& rows, MessageId id, std::string_view process,
                     std::uint32_t transaction) {
  for (Row& r : rows) {
    const bool its =
        r.kind == Kind::publish && r.message == id && lab.topology.processes[r.process].group == "embed";
    if (!its) continue;
    r.process = lab.process(process);
    r.transaction = transaction;
  }
}

/// A process is given a record of vectors within its transaction.
inline void read_in(const Lab& lab, Rows& rows, MessageId id, std::string_view process,
                    std::uint32_t transaction) {
  const Row found = rows[index_of(rows, [&](const Row& r) { return audited(lab, r, "vectors", id); })];
  const std::size_t quiet = index_of(rows, [](const Row& r) { return r.kind == Kind::quiet; });
  Row read;
  read.kind = Kind::deliver;
  read.phase = Phase::ok;
  read.process = lab.process(process);
  read.transaction = transaction;
  read.place = found.place;
  read.position = found.position;
  read.message = id;
  read.time = rows[quiet].time;
  rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(quiet), read);
}

/// A record that nobody but archive ever sees: id 2 is sent once more, to the end of vectors/0, and aborted.
inline void read_aborted(const Lab& lab, Rows& rows) {
  const PlaceId place = lab.place("vectors/1");
  const auto is_end = [&](const Row& r) { return r.kind == Kind::audit_end && r.place == place; };
  const std::int64_t position = rows[index_of(rows, is_end)].position;
  Story story(lab);
  story.publish(2, "embed-1", 0, 900).stored(2, "embed-1", "vectors/1", position, 900);
  story.transaction(Kind::abort_transaction, Phase::invoke, "embed-1", 900);
  story.transaction(Kind::abort_transaction, Phase::ok, "embed-1", 900);
  story.read(2, "archive-0", "vectors/1", position);
  const std::size_t quiet = index_of(rows, [](const Row& r) { return r.kind == Kind::quiet; });
  for (Row& r : story.rows) {
    r.time = rows[quiet].time;
    r.op += r.op == 0 ? 0 : 1'000'000;
  }
  rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(quiet), story.rows.begin(), story.rows.end());
}

inline void in_transactions(std::vector<Mutation>& list) {
  list.push_back({"a transaction's records stand on both sides of another's",
                  [](const Lab& lab, Rows& rows) {
                    write_in(lab, rows, 3, "embed-1", 1);
                    write_in(lab, rows, 5, "embed-0", 2);
                  },
                  {"log.no_send_skip in vectors", "log.no_write_cycle in vectors"}});
  list.push_back({"two transactions stand one way round in one partition, the other way in another",
                  [](const Lab& lab, Rows& rows) {
                    write_in(lab, rows, 3, "embed-1", 1);
                    write_in(lab, rows, 4, "embed-0", 2);
                  },
                  {"log.no_write_cycle in vectors"}});
  list.push_back({"two transactions read each other's records",
                  [](const Lab& lab, Rows& rows) {
                    read_in(lab, rows, 1, "embed-0", 2);
                    read_in(lab, rows, 2, "embed-1", 1);
                  },
                  {"log.no_information_cycle in vectors"}});
  list.push_back({"a transaction reads its own record",
                  [](const Lab& lab, Rows& rows) { read_in(lab, rows, 2, "embed-0", 2); },
                  {"log.no_precommitted_read in vectors"}});
  list.push_back({"somebody reads an aborted record", read_aborted, {"log.no_aborted_read in vectors"}});
  list.push_back({"a record vanishes before anybody reads it",
                  [](const Lab& lab, Rows& rows) {
                    rows = without(rows, [&](const Row& r) {
                      return audited(lab, r, "vectors", 60) || (r.kind == Kind::deliver && r.message == 60 &&
                                                                r.process == lab.process("billing"));
                    });
                  },
                  {"log.no_lost_write in vectors", "order.causal in vectors", "no_loss in vectors",
                   "exactly_once in vectors", "no_loss as billing", "exactly_once as billing", "txn.atomic",
                   "accounted in vectors", "answered in vectors", "answered as billing",
                   "recovers as billing", "backlog.bounded as billing", "latency.max as billing"}});
}

}  // namespace mqlab::testing
