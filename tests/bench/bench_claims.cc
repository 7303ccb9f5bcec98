// What judging costs: many operations in window mode, and a short history judged again and again as a search
// does. Prints one JSON object a line: {"name", "value", "unit"}.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "core/base/draw.h"
#include "core/claims/verdicts.h"

namespace {

using namespace mqlab;

constexpr std::uint32_t partitions = 6;
constexpr std::uint32_t keys = 1000;
constexpr std::uint32_t window = 4096;  // messages under way at once

Scenario pipeline() {
  Scenario s;
  s.brokers.resize(1);
  s.brokers[0].name = "kafka";
  for (const char* name : {"requests", "vectors"}) {
    TopicSpec topic;
    topic.name = name;
    topic.broker = "kafka";
    topic.partitions = partitions;
    s.topics.push_back(topic);
  }
  WorkloadSpec api;
  api.name = "api";
  api.topic = "requests";
  api.keys.kind = KeySpec::Kind::uniform;
  api.keys.count = keys;
  s.workloads = {api};
  StageSpec embed;
  embed.name = "embed";
  embed.module = "transactional-stage";
  embed.inputs = {"requests"};
  embed.outputs = {"vectors"};
  s.stages = {embed};
  ObserverSpec billing;
  billing.name = "billing";
  billing.topic = "vectors";
  s.observers = {billing};
  return s;
}

/// Writes the rows of a faultless run to a sink, a window of messages after the other.
class Pipeline {
 public:
  explicit Pipeline(const Topology& t)
      : api_(t.process("api")),
        embed_(t.process("embed-0")),
        billing_(t.process("billing")),
        in_(t.topics[t.topic("requests")].first_place),
        out_(t.topics[t.topic("vectors")].first_place),
        auditor_(t.auditor) {}

  template <class Sink>
  void write(History& history, MessageId messages, Sink&& sink) {
    for (MessageId from = 1; from <= messages; from += window) {
      batch(history, from, std::min(messages, from + window - 1));
      sink();
    }
    put(history, Kind::quiet, Phase::ok, auditor_);
    audit(history, in_, sink);
    audit(history, out_, sink);
    sink();
  }

 private:
  struct Record {
    MessageId id;
    std::uint32_t key;
  };
  Row& put(History& history, Kind kind, Phase phase, ProcessId process) {
    Row& row = history.next(kind, phase);
    row.process = process;
    row.time = time_ += 100;
    return row;
  }
  Row& about(Row& row, MessageId id) {
    row.message = id;
    row.key = static_cast<std::uint32_t>(below(mix(id), keys));
    row.digest = mix(id);
    return row;
  }
  static Row& at(Row& row, PlaceId place, std::int64_t position) {
    row.place = place;
    row.position = position;
    return row;
  }
  void send(History& history, ProcessId process, MessageId from, MessageId to, PlaceId first,
            std::vector<Record>* logs) {
    for (MessageId id = from; id <= to; ++id) {
      if (process == api_) about(put(history, Kind::invoke, Phase::ok, process), id).aux = time_;
      about(put(history, Kind::publish, Phase::invoke, process), id).op = ++op_;
    }
    op_ -= to - from + 1;
    for (MessageId id = from; id <= to; ++id) {
      Row& row = put(history, Kind::publish, Phase::ok, process);
      row.message = id;
      row.op = ++op_;
      const auto key = static_cast<std::uint32_t>(below(mix(id), keys));
      std::vector<Record>& log = logs[key % partitions];
      at(row, first + key % partitions, static_cast<std::int64_t>(log.size()));
      log.push_back({id, key});
    }
  }
  void read(History& history, ProcessId process, MessageId from, MessageId to, PlaceId first,
            const std::vector<Record>* logs) {
    Row& head = put(history, Kind::fetch, Phase::ok, process);
    head.flags = flag::header;
    head.aux = to - from + 1;
    for (MessageId id = from; id <= to; ++id) {
      const auto partition = static_cast<std::uint32_t>(below(mix(id), keys)) % partitions;
      std::int64_t& position = read_[process == billing_][partition];
      at(about(put(history, Kind::deliver, Phase::ok, process),
               logs[partition][static_cast<std::size_t>(position)].id),
         first + partition, position);
      ++position;
    }
  }
  void batch(History& history, MessageId from, MessageId to) {
    send(history, api_, from, to, in_, requests_);
    read(history, embed_, from, to, in_, requests_);
    for (MessageId id = from; id <= to; ++id) {
      about(put(history, Kind::handle, Phase::ok, embed_), id);
      about(put(history, Kind::complete, Phase::ok, embed_), id);
    }
    send(history, embed_, from, to, out_, vectors_);
    read(history, billing_, from, to, out_, vectors_);
  }
  template <class Sink>
  void audit(History& history, PlaceId first, Sink&& sink) {
    for (std::uint32_t p = 0; p < partitions; ++p) {
      const std::vector<Record>& log = (first == in_ ? requests_ : vectors_)[p];
      for (std::size_t i = 0; i < log.size(); ++i) {
        at(about(put(history, Kind::audit, Phase::ok, auditor_), log[i].id), first + p,
           static_cast<std::int64_t>(i));
        if (i % window == 0) sink();
      }
      at(put(history, Kind::audit_end, Phase::ok, auditor_), first + p, static_cast<std::int64_t>(log.size()))
          .aux = static_cast<std::int64_t>(log.size());
    }
  }

  ProcessId api_, embed_, billing_;
  PlaceId in_, out_;
  ProcessId auditor_;
  std::int64_t time_ = 0;
  OpId op_ = 0;
  std::vector<Record> requests_[partitions], vectors_[partitions];
  std::int64_t read_[2][partitions] = {};
};

ClaimSpec claim(const std::string& id, const Properties& parameters = {}) {
  ClaimSpec spec;
  spec.id = id;
  spec.of = "requests";
  spec.in = "vectors";
  if (id.starts_with("order.partition")) spec.of.clear();
  if (id.starts_with("txn.r")) {
    spec.of.clear();
    spec.as = "billing";
  }
  spec.parameters = parameters;
  return spec;
}

void print(const std::string& name, double value, const char* unit) {
  std::printf("{\"name\": \"%s\", \"value\": %.4g, \"unit\": \"%s\"}\n", name.c_str(), value, unit);
  std::fflush(stdout);
}

/// Processor time, not time of day: other work on the machine must not count.
double seconds_since(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// Peak over the whole process, in MiB: what it was before is taken off by the caller.
double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Time spent in the checkers alone while a run of so many messages is written and recycled.
void judge_many(const std::string& name, const std::vector<ClaimSpec>& claims, MessageId messages) {
  const Scenario scenario = pipeline();
  const Topology topology(scenario);
  std::vector<std::unique_ptr<Checker>> checkers;
  for (const ClaimSpec& spec : claims) checkers.push_back(make_checker(spec, scenario, topology));
  History history;
  Pipeline pipeline(topology);
  std::size_t seen = 0;
  double spent = 0;
  pipeline.write(history, messages, [&] {
    const auto start = std::clock();
    history.for_each(seen, [&](std::span<const Row> rows) {
      for (const auto& checker : checkers) checker->observe(rows);
    });
    spent += seconds_since(start);
    seen = history.size();
    history.recycle(seen);
  });
  const auto start = std::clock();
  for (const auto& checker : checkers) {
    const Finding finding = checker->finish();
    if (finding.verdict != Verdict::holds)
      std::fprintf(stderr, "%s: %s\n", name.c_str(), finding.explanation.c_str());
  }
  spent += seconds_since(start);
  const std::string size = std::to_string(messages / 1'000'000) + "M";
  print("claims/" + name + "/" + size, spent, "s");
  print("claims/" + name + "/" + size + "/rows", static_cast<double>(seen) / spent, "rows/s");
}

/// The life of a checker in a search: reset, a history of about 500 rows, a verdict.
void judge_short() {
  const Scenario scenario = pipeline();
  const Topology topology(scenario);
  std::vector<std::unique_ptr<Checker>> checkers;
  for (const char* id : {"exactly_once", "no_loss", "order.key"}) {
    checkers.push_back(make_checker(claim(id), scenario, topology));
  }
  History history;
  Pipeline(topology).write(history, 42, [] {});
  constexpr int times = 20'000;
  const auto start = std::clock();
  std::size_t holds = 0;
  for (int i = 0; i < times; ++i) {
    for (const Finding& finding : judge(checkers, history)) holds += finding.verdict == Verdict::holds;
  }
  print("claims/search/3 claims/" + std::to_string(history.size()) + " rows",
        seconds_since(start) / times * 1e6, "us");
  if (holds != 3 * times) std::fprintf(stderr, "claims/search: not all held\n");
}

}  // namespace

/// bench_claims [MILLIONS]: the largest run; the default is 10.
int main(int argc, char** argv) {
  const auto most = static_cast<MessageId>(argc > 1 ? std::atoi(argv[1]) : 10) * 1'000'000;
  judge_short();
  const std::vector<ClaimSpec> three = {claim("no_loss"), claim("no_duplicates"), claim("order.key")};
  for (MessageId messages = 1'000'000; messages <= most; messages *= 10) {
    judge_many("delivery and order", three, messages);
    print("claims/delivery and order/peak memory, logs of the generator included", peak_mib(), "MiB");
  }
  const MessageId million = 1'000'000;
  for (const char* id : {"no_loss", "no_duplicates", "no_phantom", "exactly_once", "order.partition",
                         "order.key", "txn.read_committed"}) {
    judge_many(id, {claim(id)}, million);
  }
  judge_many("latency.p99", {claim("latency.p99", {{"at_most", "1h", 0}})}, million);
  judge_many("throughput", {claim("throughput", {{"at_least", "1/s", 0}})}, million);
  judge_many("backlog.bounded", {claim("backlog.bounded", {{"at_most", "1000000", 0}})}, million);
}
