// A small scenario that has one of everything, and histories of it: written row by row, or at random.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/base/draw.h"
#include "core/claims/claim.h"
#include "core/claims/verdicts.h"
#include "core/history/history.h"
#include "core/scenario/error.h"
#include "core/scenario/scenario.h"
#include "core/scenario/topology.h"

namespace mqlab::testing {

using Rows = std::vector<Row>;

/// api-0, api-1 → requests/0,1 → embed-0, embed-1 → vectors/0,1 (dead letters → letters/0; store index),
/// archive-0 reads requests too, billing observes vectors; bulk → other/0.
inline Scenario small_scenario() {
  Scenario s;
  s.file = "small.toml";
  s.name = "small";
  s.brokers.resize(1);
  s.brokers[0].name = "kafka";
  const auto topic = [&](const char* name, std::uint32_t partitions) {
    TopicSpec t;
    t.name = name;
    t.broker = "kafka";
    t.partitions = partitions;
    s.topics.push_back(t);
  };
  topic("requests", 2);
  topic("vectors", 2);
  topic("letters", 1);
  topic("other", 1);
  const auto workload = [&](const char* name, const char* to, std::uint32_t producers) {
    WorkloadSpec w;
    w.name = name;
    w.topic = to;
    w.producers = producers;
    w.keys.kind = KeySpec::Kind::round_robin;
    w.keys.count = 3;
    s.workloads.push_back(w);
  };
  workload("api", "requests", 2);
  workload("bulk", "other", 1);
  StageSpec embed;
  embed.name = "embed";
  embed.instances = 2;
  embed.inputs = {"requests"};
  embed.outputs = {"vectors"};
  embed.store = "index";
  embed.module = "transactional-stage";
  embed.retry.dead_letter = "letters";
  StageSpec archive;
  archive.name = "archive";
  archive.inputs = {"requests"};
  s.stages = {embed, archive};
  ObserverSpec billing;
  billing.name = "billing";
  billing.topic = "vectors";
  s.observers = {billing};
  return s;
}

struct Lab {
  Scenario scenario;
  Topology topology;
  explicit Lab(Scenario s = small_scenario()) : scenario(std::move(s)), topology(scenario) {}

  ProcessId process(std::string_view name) const { return topology.process(name); }
  PlaceId place(std::string_view name) const {
    for (PlaceId p = 0; p < topology.places.size(); ++p) {
      if (topology.places[p].name == name) return p;
    }
    return no_place;
  }
  std::unique_ptr<Checker> checker(const ClaimSpec& claim) const {
    return make_checker(claim, scenario, topology);
  }
  Finding judge(const ClaimSpec& claim, const Rows& rows) const {
    const auto made = checker(claim);
    made->observe(rows);
    return made->finish();
  }
};

inline ClaimSpec claim(std::string id, std::string of = "", std::string in = "", std::string as = "",
                       Properties parameters = {}) {
  ClaimSpec spec;
  spec.id = std::move(id);
  spec.of = std::move(of);
  spec.in = std::move(in);
  spec.as = std::move(as);
  spec.parameters = std::move(parameters);
  return spec;
}

/// Writes histories the way the driver and the auditor do.
class Story {
 public:
  explicit Story(const Lab& lab) : lab_(&lab) {}

  Row& row(Kind kind, Phase phase, std::string_view process) {
    Row r;
    r.kind = kind;
    r.phase = phase;
    r.process = lab_->process(process);
    r.time = (clock_ += 1'000'000);
    r.incarnation = incarnation_;
    rows.push_back(r);
    return rows.back();
  }
  Story& incarnation(Incarnation n) {
    incarnation_ = n;
    return *this;
  }
  Story& later(std::int64_t ns) {
    clock_ += ns;
    return *this;
  }
  /// invoke, publish, publish ok at place@position.
  Story& send(MessageId id, std::string_view process, std::string_view place, std::int64_t position,
              std::uint32_t key = 0) {
    asked(id, process, key);
    publish(id, process, key);
    return stored(id, process, place, position);
  }
  Story& asked(MessageId id, std::string_view process, std::uint32_t key = 0) {
    Row& r = row(Kind::invoke, Phase::ok, process);
    r.aux = r.time;
    return about(r, id, key);
  }
  Story& publish(MessageId id, std::string_view process, std::uint32_t key = 0,
                 std::uint32_t transaction = 0) {
    Row& r = row(Kind::publish, Phase::invoke, process);
    r.op = ++op_;
    r.transaction = transaction;
    return about(r, id, key);
  }
  Story& stored(MessageId id, std::string_view process, std::string_view place, std::int64_t position,
                std::uint32_t transaction = 0, Phase phase = Phase::ok) {
    Row& r = row(Kind::publish, phase, process);
    r.op = op_of(id);
    r.message = id;
    r.transaction = transaction;
    if (phase == Phase::ok) at(r, place, position);
    return *this;
  }
  Story& read(MessageId id, std::string_view process, std::string_view place, std::int64_t position) {
    Row& head = row(Kind::fetch, Phase::ok, process);
    head.flags = flag::header;
    head.aux = 1;
    return about(at(row(Kind::deliver, Phase::ok, process), place, position), id, 0);
  }
  Story& handle(MessageId id, std::string_view process, std::string_view place, std::int64_t position) {
    return about(at(row(Kind::handle, Phase::ok, process), place, position), id, 0);
  }
  Story& complete(MessageId id, std::string_view process, std::string_view place, std::int64_t position) {
    return about(at(row(Kind::complete, Phase::ok, process), place, position), id, 0);
  }
  Story& transaction(Kind kind, Phase phase, std::string_view process, std::uint32_t number) {
    Row& r = row(kind, phase, process);
    r.transaction = number;
    r.op = phase == Phase::invoke ? ++op_ : op_;
    return *this;
  }
  Story& offsets(Kind kind, std::string_view process, std::string_view place, std::int64_t next,
                 std::uint32_t number) {
    Row& head = row(kind, Phase::invoke, process);
    head.flags = flag::header;
    head.aux = 1;
    head.op = ++op_;
    head.transaction = number;
    Row& r = at(row(kind, Phase::invoke, process), place, next);
    r.op = op_;
    r.transaction = number;
    Row& done = row(kind, Phase::ok, process);
    done.op = op_;
    done.transaction = number;
    return *this;
  }
  /// A write to the store, and that it was applied.
  Story& write(MessageId id, std::string_view process) {
    Row& start = row(Kind::store_write, Phase::invoke, process);
    start.op = ++op_;
    about(start, id, 0);
    row(Kind::store_write, Phase::ok, process).op = op_;
    return *this;
  }
  /// The lab measures a place.
  Story& takes(std::string_view place, std::int64_t bytes) {
    Row& r = at(row(Kind::usage, Phase::ok, "lab"), place, -1);
    r.aux = bytes;
    return *this;
  }
  /// What the auditor will find; written by end().
  Story& found(MessageId id, std::string_view place, std::int64_t position, std::uint16_t flags = 0) {
    Row r;
    r.kind = Kind::audit;
    r.phase = Phase::ok;
    r.process = lab_->topology.auditor;
    r.flags = flags;
    about(at(r, place, position), id, 0);
    found_.push_back(r);
    return *this;
  }
  Story& committed(std::string_view place, std::int64_t next, std::uint32_t stage = 0) {
    found(0, place, next);
    found_.back().op = 1;
    found_.back().digest = 0;
    found_.back().key = stage;
    return *this;
  }
  Story& end();

  Rows rows;

 private:
  Row& at(Row& r, std::string_view place, std::int64_t position) const {
    r.place = lab_->place(place);
    r.position = position;
    return r;
  }
  Story& about(Row& r, MessageId id, std::uint32_t key) {
    r.message = id;
    r.key = key;
    r.digest = id == 0 ? 0 : mix(id);
    r.size = 100;
    return *this;
  }
  OpId op_of(MessageId id) const {
    for (auto r = rows.rbegin(); r != rows.rend(); ++r) {
      if (r->kind == Kind::publish && r->phase == Phase::invoke && r->message == id) return r->op;
    }
    return 0;
  }

  const Lab* lab_;
  std::int64_t clock_ = 0;
  OpId op_ = 0;
  Incarnation incarnation_ = 0;
  Rows found_;
};

/// The system comes to rest, and the auditor reads every place.
inline Story& Story::end() {
  row(Kind::quiet, Phase::ok, "lab");
  for (PlaceId p = 0; p < lab_->topology.places.size(); ++p) {
    std::int64_t count = 0, last = -1;
    for (const Row& r : found_) {
      if (r.place != p) continue;
      rows.push_back(r);
      rows.back().time = (clock_ += 1000);
      if (r.op == 1) continue;
      ++count;
      last = r.position;
    }
    Row& done = row(Kind::audit_end, Phase::ok, "auditor");
    done.place = p;
    done.position = last + 1;
    done.aux = count;
  }
  return *this;
}

/// What the reader says of a claim it does not take; empty when it takes it.
inline std::string refused(const ClaimSpec& spec) {
  try {
    Lab().checker(spec);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

}  // namespace mqlab::testing
