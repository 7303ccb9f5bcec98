#include "live/worker/lab.h"

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/history/audit_bounds.h"
#include "core/scenario/units.h"
#include "live/admin.h"
#include "live/port.h"
#include "live/ports/store_sqlite.h"
#include "platform/row_file.h"

namespace mqlab::live {
namespace {

using nlohmann::json;

/// The scenario and the lab's hand on its broker.
struct Lab {
  Scenario scenario;
  Topology topology;
  RunClock clock;
  std::unique_ptr<Admin> admin;

  explicit Lab(const Options& o)
      : scenario(o.scenario()),
        topology(scenario),
        clock(o.integer_or("epoch-ns", 0), o.integer_or("wall-epoch-ns", 0)),
        admin(make_admin({scenario, topology, 0, o.address(), o.text_or("tag", ""), clock, o.has("warm")})) {}
};

/// Audit rows into the auditor's row file.
class RowSink final : public AuditSink {
 public:
  RowSink(RowFile& file, const Lab& lab) : file_(file), lab_(lab) {}

  void record(const Record& r, const WireMessage& wire) override {
    Row& row = next(Kind::audit, r.place, r.position);
    row.aux = r.timestamp.ns;
    row.flags = r.flags;
    if (wire.message.id != 0 && wire.message.tombstone()) row.flags |= flag::tombstone;
    row.message = wire.message.id;
    row.cause = wire.message.cause;
    row.key = wire.message.key;
    row.size = wire.message.size;
    row.digest = wire.message.digest;
    row.transaction = wire.writer.transaction;
  }
  void end(PlaceId place, Bounds bounds, std::int64_t count, bool complete) override {
    Row& row = next(Kind::audit_end, place, bounds.end);
    row.digest = audited_from(bounds.start);
    row.aux = count;
    if (!complete) row.phase = Phase::fail;
    file_.publish();
  }
  void committed(PlaceId place, std::int64_t position, std::uint32_t stage) override {
    Row& row = next(Kind::audit, place, position);
    row.op = 1;
    row.key = stage;
  }

 private:
  Row& next(Kind kind, PlaceId place, std::int64_t position) {
    Row& row = file_.next();
    row.time = lab_.clock.mono().ns;
    row.process = lab_.topology.auditor;
    row.kind = kind;
    row.phase = Phase::ok;
    row.place = place;
    row.position = position;
    return row;
  }
  RowFile& file_;
  const Lab& lab_;
};

void audit_stores(const Lab& lab, const std::string& file, AuditSink& sink) {
  for (const TopicInfo& topic : lab.topology.topics) {
    if (topic.kind != TopicKind::store) continue;
    SqliteStore store(file);
    std::int64_t count = 0;
    store.each([&](const SqliteStore::StoredRow& row) {
      if (row.message == 0) return;  // the application's own bookkeeping
      WireMessage wire;
      wire.message.id = row.message;
      wire.message.digest = row.digest;
      sink.record(
          {topic.first_place, static_cast<std::int64_t>(row.key), lab.clock.from_wall(row.written_ns), 0},
          wire);
      ++count;
    });
    sink.end(topic.first_place, {-1, store.read(0).version}, count, true);
  }
}

Duration patience(const Options& options) {
  return Duration::millis(options.integer_or("patience-ms", 60'000));
}

/// Writes the auditor's row file; returns why it is not whole, or nothing.
std::string write_audit(Lab& lab, const Options& options) {
  RowFile file(options.text("rows"), lab.topology.auditor, 0);
  RowSink sink(file, lab);
  std::string reason;
  try {
    lab.admin->audit(sink);
    if (options.has("store")) audit_stores(lab, options.text("store"), sink);
  } catch (const PortError& error) {
    reason = error.what();
  }
  file.close(reason.empty() ? WorkerState::finished : WorkerState::failed, reason);
  return reason;
}

json as_json(const SystemState& state) {
  json out = {{"whole", state.whole}, {"places", json::array()}, {"groups", json::array()}};
  for (const PlaceState& p : state.places)
    out["places"].push_back(
        {{"place", p.place}, {"end", p.end}, {"stable", p.stable}, {"bytes", p.bytes}, {"log", p.log}});
  for (const GroupState& g : state.groups) {
    out["groups"].push_back({{"group", g.group},
                             {"stage", g.stage},
                             {"place", g.place},
                             {"committed", g.committed},
                             {"undelivered", g.undelivered},
                             {"unacked", g.unacked}});
  }
  return out;
}

json answer(Lab& lab, const Options& options, const std::string& question) {
  if (question == "state") return as_json(lab.admin->state());
  if (question == "setup") {
    lab.admin->setup(patience(options));
    return {{"client", lab.admin->client_version()}};
  }
  if (question == "audit") return {{"audit", write_audit(lab, options)}};
  if (question.starts_with("grow ")) {
    const auto topic = parse_integer(question.substr(5));
    if (topic && *topic >= 0 && *topic < static_cast<std::int64_t>(lab.topology.topics.size())) {
      lab.admin->grow(static_cast<TopicId>(*topic));
      return {{"grown", *topic}};
    }
  }
  if (question.starts_with("leader ")) {
    const auto place = parse_integer(question.substr(7));
    if (place && *place >= 0 && *place < static_cast<std::int64_t>(lab.topology.places.size())) {
      return {{"leader", lab.admin->leader(static_cast<PlaceId>(*place))}};
    }
  }
  return {{"error", "not a question: " + question}};
}

}  // namespace

int set_up(const Options& options) {
  Lab lab(options);
  lab.admin->setup(patience(options));
  std::printf("%s\n", json{{"client", lab.admin->client_version()}}.dump().c_str());
  return 0;
}

int remove(const Options& options) {
  Lab(options).admin->remove();
  return 0;
}

int probe(const Options& options) {
  Lab lab(options);
  std::string question;
  while (std::getline(std::cin, question)) {
    json out;
    try {
      out = answer(lab, options, question);
    } catch (const PortError& error) {
      out = {{"error", error.what()}};
    }
    std::printf("%s\n", out.dump().c_str());
    std::fflush(stdout);
  }
  return 0;
}

int audit(const Options& options) {
  Lab lab(options);
  const std::string reason = write_audit(lab, options);
  if (!reason.empty()) std::fprintf(stderr, "mqlab-worker: auditor: %s\n", reason.c_str());
  return reason.empty() ? 0 : 4;
}

}  // namespace mqlab::live
