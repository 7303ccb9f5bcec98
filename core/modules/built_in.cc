#include "core/modules/built_in.h"

#include "core/base/limits.h"
#include "core/base/plant.h"
#include "core/modules/concurrent_stage.h"
#include "core/modules/observer.h"
#include "core/modules/offset_sink.h"
#include "core/modules/producer.h"
#include "core/modules/settings.h"
#include "core/modules/stage.h"
#include "core/modules/transactional_stage.h"
#include "core/scenario/error.h"

namespace mqlab {
namespace {

/// Settings S, module M made from (arena, settings, context).
template <class S, class M>
class Plan final : public ModulePlan {
 public:
  Plan(S settings, std::vector<Kind> kinds) : settings_(std::move(settings)), kinds_(std::move(kinds)) {}
  Module* make(Arena& arena, const ModuleContext& context) const override {
    return arena.make<M>(arena, settings_, context);
  }
  std::vector<Kind> effects() const override { return kinds_; }

 private:
  S settings_;
  std::vector<Kind> kinds_;
};

class ProducerPlan final : public ModulePlan {
 public:
  explicit ProducerPlan(ProducerSettings settings) : settings_(settings) {}
  Module* make(Arena& arena, const ModuleContext&) const override {
    return arena.make<Producer>(arena, settings_);
  }
  std::vector<Kind> effects() const override { return {Kind::publish, Kind::flush}; }

 private:
  ProducerSettings settings_;
};

class ObserverPlan final : public ModulePlan {
 public:
  explicit ObserverPlan(std::uint32_t batch) : batch_(batch) {}
  Module* make(Arena& arena, const ModuleContext&) const override { return arena.make<Observer>(batch_); }
  std::vector<Kind> effects() const override { return {Kind::fetch}; }

 private:
  std::uint32_t batch_;
};

const StageSpec& stage_of(const Scenario& scenario, const Topology& topology, ProcessId process) {
  return scenario.stages[topology.processes[process].index];
}

bool on_queue(const Scenario& scenario, const Topology& topology, const StageSpec& stage) {
  const TopicInfo& input = topology.topics[topology.topic(stage.inputs.front())];
  return scenario.brokers[input.broker].kind != BrokerKind::kafka &&
         scenario.brokers[input.broker].kind != BrokerKind::redpanda;
}

/// How many messages one fetch asks for: the module's `batch`, else the client's own (Java: max.poll.records
/// 500 at once; librdkafka and nats.c hand out one message a call).
std::uint32_t batch_of(const PropertyScope& scope, const StageSpec& stage) {
  const PropertyScope client{scope.scenario, stage.consumer, scope.path + ".consumer"};
  const std::uint32_t poll = number(client, "max.poll.records",
                                    scope.scenario.flavour == Flavour::java ? 500 : 1, 1, limits::fetch_max);
  return number(scope, "batch", poll, 1, limits::fetch_max);
}

void need_output(const Scenario& scenario, const StageSpec& stage, bool wanted) {
  if (stage.outputs.empty() != wanted) return;
  throw ScenarioError(scenario.file, stage.line, "stages." + stage.name + ".output",
                      wanted ? "module \"" + stage.module + "\" publishes its results: name an output topic"
                             : "module \"" + stage.module + "\" publishes nothing: module \"stage\" does");
}

/// The inputs and their retry topics, in the order of retry_topics(); none without.
std::vector<RetryLevel> levels_of(const StageSpec& stage, const Topology& topology,
                                  const HandlingSettings& h) {
  std::vector<RetryLevel> levels;
  const std::vector<std::string> names = retry_topics(stage);
  if (names.empty()) return levels;
  const std::size_t each = names.size() / stage.inputs.size();
  for (std::size_t i = 0; i < stage.inputs.size(); ++i) {
    Duration wait = h.retry.backoff;
    for (std::size_t k = 0; k <= each; ++k) {
      const std::string& name = k == 0 ? stage.inputs[i] : names[i * each + k - 1];
      const TopicInfo& topic = topology.topics[topology.topic(name)];
      RetryLevel level = {topic.first_place, topic.partitions, static_cast<std::uint32_t>(k)};
      if (k > 0) level.wait = wait;
      if (k > 1) level.wait = wait = wait * h.retry.multiplier;
      level.has_next = k < each;
      level.next = static_cast<std::uint8_t>(stage.outputs.size() + i * each + k);
      levels.push_back(level);
    }
  }
  return levels;
}

bool concurrent(const StageSettings& s) { return s.concurrency > 1 || !s.levels.empty(); }

StageSettings read_stage(const Scenario& scenario, const Topology& topology, ProcessId process) {
  const StageSpec& stage = stage_of(scenario, topology, process);
  const PropertyScope scope{scenario, stage.settings, "stages." + stage.name};
  if (stage.inputs.empty()) {
    throw ScenarioError(scenario.file, stage.line, scope.path + ".input",
                        "a stage reads something: name its input");
  }
  StageSettings s{HandlingSettings(stage)};
  const std::string_view commit = choice(scope, "commit", {"sync", "async", "auto"});
  s.commit = commit == "sync"    ? CommitMode::sync
             : commit == "async" ? CommitMode::async
                                 : CommitMode::automatic;
  s.before = choice(scope, "when", {"after", "before"}) == "before" || planted(Plant::stage_commits_first);
  s.batch = batch_of(scope, stage);
  s.in_progress = duration(scope, "in_progress", Duration::forever());
  s.publish_waits = boolean(scope, "publish_waits", false);
  s.has_dead_letter = !stage.retry.dead_letter.empty();
  s.levels = levels_of(stage, topology, s.handling);
  s.dead_letter = static_cast<std::uint8_t>(stage.outputs.size() + retry_topics(stage).size());
  s.concurrency = number(scope, "concurrency", 1, 1, limits::concurrency);
  s.commit_newest = choice(scope, "commit_up_to", {"unfinished", "newest"}) == "newest";
  const std::string_view serial = choice(scope, "in_order", {"none", "key", "partition"});
  s.serial = serial == "key" ? Serial::key : serial == "partition" ? Serial::partition : Serial::none;
  if (concurrent(s) && s.before) {
    throw ScenarioError(scenario.file, stage.line, scope.path + ".when",
                        "\"before\" takes one message at a time: no concurrency, no retry topics");
  }
  return s;
}

/// Modules that work in transactions, or keep their offsets themselves, take one message at a time.
void need_plain(const Scenario& scenario, const StageSpec& stage, const StageSettings& s) {
  if (!concurrent(s)) return;
  const bool topics = !s.levels.empty();
  throw ScenarioError(
      scenario.file, stage.line, "stages." + stage.name + (topics ? ".retry.style" : ".concurrency"),
      "module \"" + stage.module +
          (topics ? "\" retries \"in_place\" or not at all (\"none\")" : "\" takes one message at a time"));
}

std::vector<Kind> stage_effects(const Scenario& scenario, const Topology& topology, ProcessId process,
                                const StageSettings& s) {
  const bool queue = on_queue(scenario, topology, stage_of(scenario, topology, process));
  std::vector<Kind> kinds = {Kind::fetch, queue ? Kind::ack : Kind::commit};
  if (s.output || s.has_dead_letter || !s.levels.empty()) kinds.push_back(Kind::publish);
  if (!s.levels.empty()) kinds.insert(kinds.end(), {Kind::pause, Kind::resume});
  if (s.store) kinds.push_back(Kind::store_write);
  if (s.in_progress != Duration::forever()) kinds.push_back(Kind::progress);
  return kinds;
}

std::unique_ptr<ModulePlan> make_stage(const Scenario& scenario, const Topology& topology, ProcessId process,
                                       StageSettings s) {
  auto kinds = stage_effects(scenario, topology, process, s);
  if (concurrent(s)) {
    return std::make_unique<Plan<StageSettings, ConcurrentStage>>(std::move(s), std::move(kinds));
  }
  return std::make_unique<Plan<StageSettings, Stage>>(std::move(s), std::move(kinds));
}

const std::vector<SettingInfo> stage_settings = {
    {"commit", "sync",
     "sync: wait for each commit; async; auto: left to the client library (enable.auto.commit)"},
    {"when", "after", "commit or ack after processing (at least once) or before it (at most once)"},
    {"batch", "1 (java: max.poll.records)", "messages asked for at a time; a batch is committed as a whole"},
    {"in_progress", "never", "queues: tell the broker so often that work goes on"},
    {"publish_waits", "false", "wait for each publish before the next message"},
    {"concurrency", "1", "messages worked on at the same time"},
    {"commit_up_to", "unfinished",
     "with concurrency, logs: unfinished: what is committed has all been handled; newest: the newest that is "
     "done, past what is unfinished"},
    {"in_order", "none", "with concurrency: never two messages of the same key, or partition, at a time"},
};

}  // namespace

std::unique_ptr<ModulePlan> plan_producer(const Scenario& scenario, const Topology& topology,
                                          ProcessId process) {
  const WorkloadSpec& workload = scenario.workloads[topology.processes[process].index];
  const PropertyScope scope{scenario, workload.settings, "workloads." + workload.name};
  return std::make_unique<ProducerPlan>(ProducerSettings{boolean(scope, "resend", false)});
}

std::unique_ptr<ModulePlan> plan_observer(const Scenario&, const Topology&, ProcessId) {
  return std::make_unique<ObserverPlan>(500);
}

std::unique_ptr<ModulePlan> plan_consumer(const Scenario& scenario, const Topology& topology,
                                          ProcessId process) {
  need_output(scenario, stage_of(scenario, topology, process), false);
  return make_stage(scenario, topology, process, read_stage(scenario, topology, process));
}

std::unique_ptr<ModulePlan> plan_stage(const Scenario& scenario, const Topology& topology,
                                       ProcessId process) {
  need_output(scenario, stage_of(scenario, topology, process), true);
  StageSettings s = read_stage(scenario, topology, process);
  s.output = true;
  return make_stage(scenario, topology, process, std::move(s));
}

std::unique_ptr<ModulePlan> plan_idempotent_sink(const Scenario& scenario, const Topology& topology,
                                                 ProcessId process) {
  StageSettings s = read_stage(scenario, topology, process);
  s.store = true;
  return make_stage(scenario, topology, process, std::move(s));
}

std::unique_ptr<ModulePlan> plan_transactional(const Scenario& scenario, const Topology& topology,
                                               ProcessId process) {
  const StageSpec& stage = stage_of(scenario, topology, process);
  need_output(scenario, stage, true);
  const StageSettings common = read_stage(scenario, topology, process);
  need_plain(scenario, stage, common);
  TransactionalSettings s{HandlingSettings(stage)};
  s.batch = common.batch;
  s.has_dead_letter = common.has_dead_letter;
  s.dead_letter = common.dead_letter;
  std::vector<Kind> kinds = {Kind::fetch,
                             Kind::publish,
                             Kind::begin,
                             Kind::offsets_to_transaction,
                             Kind::commit_transaction,
                             Kind::abort_transaction,
                             Kind::seek};
  return std::make_unique<Plan<TransactionalSettings, TransactionalStage>>(std::move(s), std::move(kinds));
}

std::unique_ptr<ModulePlan> plan_offset_sink(const Scenario& scenario, const Topology& topology,
                                             ProcessId process) {
  const StageSpec& stage = stage_of(scenario, topology, process);
  OffsetSinkSettings s{HandlingSettings(stage)};
  const StageSettings common = read_stage(scenario, topology, process);
  need_plain(scenario, stage, common);
  s.batch = common.batch;
  std::vector<Kind> kinds = {Kind::fetch, Kind::accept, Kind::store_read, Kind::store_write};
  return std::make_unique<Plan<OffsetSinkSettings, OffsetSink>>(std::move(s), std::move(kinds));
}

std::span<const ModuleInfo> all_modules() {
  static const std::vector<SettingInfo> batch_only = {stage_settings[2]};
  static const std::vector<ModuleInfo> modules = {
      {"producer",
       "a workload's side: publishes what it is asked to",
       {{"resend", "false",
         "the application publishes a failed or unknown message again, under the same id"}},
       plan_producer},
      {"consumer", "consume, process, commit or ack; the effect is the handling itself", stage_settings,
       plan_consumer},
      {"stage", "consume, process, publish, commit or ack", stage_settings, plan_stage},
      {"transactional-stage", "consume, process and publish in one transaction with the input's offsets",
       batch_only, plan_transactional},
      {"idempotent-sink", "consume, process, write to a store under the request's id: repeats overwrite",
       stage_settings, plan_idempotent_sink},
      {"external-offset-sink",
       "write result and input offset to a store in one atomic batch; start from there", batch_only,
       plan_offset_sink},
      {"observer", "reads a topic from its start and does nothing", {}, plan_observer},
  };
  return modules;
}

}  // namespace mqlab
