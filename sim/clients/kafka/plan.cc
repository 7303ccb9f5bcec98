#include "sim/clients/kafka/plan.h"

#include <algorithm>

#include "core/modules/registry.h"
#include "core/scenario/partitioner.h"
#include "sim/clients/kafka/frames.h"

namespace mqlab::sim::kafka::client {
namespace {

/// Key numbers whose partition is looked up rather than hashed.
constexpr std::uint32_t table_at_most = 1u << 20;

/// How late clients notice that a time has passed: librdkafka looks once a second.
constexpr Duration slack = Duration::seconds(2);
/// How often a coordinator looks for transactions that have timed out.
constexpr Duration transaction_scan = Duration::seconds(10);

/// Kafka has two; a scenario that names none of them gets librdkafka.
Flavour flavour_of(const Scenario& s) {
  return s.flavour == Flavour::java ? Flavour::java : Flavour::librdkafka;
}

std::uint32_t number_of(std::vector<std::string>& names, const std::string& name) {
  if (names.empty()) names.emplace_back();
  if (name.empty()) return 0;
  const auto at = std::find(names.begin() + 1, names.end(), name);
  if (at == names.end()) {
    names.push_back(name);
    return static_cast<std::uint32_t>(names.size() - 1);
  }
  return static_cast<std::uint32_t>(at - names.begin());
}

const std::vector<std::uint16_t>* table_of(const Scenario& s, Partitioner partitioner,
                                           std::uint32_t partitions, ClientPlans& plans) {
  std::uint32_t keys = 0;
  for (const WorkloadSpec& w : s.workloads) {
    if (w.keys.kind != KeySpec::Kind::none) keys = std::max(keys, w.keys.count);
  }
  std::vector<std::uint16_t>& table = plans.tables[{partitioner, partitions}];
  for (auto key = static_cast<std::uint32_t>(table.size()); key <= std::min(keys, table_at_most); ++key) {
    table.push_back(static_cast<std::uint16_t>(partition_of_key(partitioner, key, partitions)));
  }
  return &table;
}

void plan_ports(const Scenario& s, const Topology& topology, std::uint32_t broker, ProcessId process,
                ClientPlan& plan) {
  const Ports ports = ports_of(s, topology, process);
  const Version version = parse_version(s.brokers[broker].version).value_or(Version{});
  const auto here = [&](TopicId topic) {
    return topology.topics[topic].broker == broker && topology.topics[topic].kind == TopicKind::topic;
  };
  for (std::size_t i = 0; i < ports.outputs.size(); ++i) {
    if (!here(ports.outputs[i])) continue;
    const TopicInfo& topic = topology.topics[ports.outputs[i]];
    plan.outputs.push_back({static_cast<std::uint8_t>(i), ports.outputs[i], topic.first_place,
                            topic.partitions, plan.output_partitions, topic.at_first,
                            frames::produced_topic(plan.java(), version, topic.name)});
    plan.grows = plan.grows || topic.grows();
    plan.output_partitions += topic.partitions;
  }
  for (std::size_t i = 0; i < ports.inputs.size(); ++i) {
    if (!here(ports.inputs[i])) continue;
    const TopicInfo& topic = topology.topics[ports.inputs[i]];
    plan.inputs.push_back({static_cast<std::uint8_t>(i), ports.inputs[i], topic.first_place, topic.partitions,
                           plan.input_partitions, topic.at_first,
                           frames::fetched_topic(plan.java(), topic.name)});
    plan.grows = plan.grows || topic.grows();
    plan.input_partitions += topic.partitions;
  }
}

/// The sooner one of reader and writer.
Duration refresh_of(const ClientPlan& plan) {
  Duration refresh = Duration::forever();
  const auto take = [&](Duration age) {
    if (age > Duration{}) refresh = std::min(refresh, age);
  };
  if (!plan.inputs.empty()) take(plan.consumer.connection.metadata_max_age);
  if (!plan.outputs.empty()) take(plan.producer.connection.metadata_max_age);
  return refresh == Duration::forever() ? Duration{} : refresh;
}

void plan_process(const Scenario& s, const Topology& topology, std::uint32_t broker, ProcessId process,
                  ClientPlans& plans) {
  const ProcessInfo& info = topology.processes[process];
  ClientPlan& plan = plans.plans[process];
  plan.flavour = flavour_of(s);
  plan_ports(s, topology, broker, process, plan);
  const BrokerSpec& spec = s.brokers[broker];
  const auto producer = [&](const Properties& p, const std::string& path) {
    plan.producer = resolve_producer(s, p, plan.flavour, spec, path + ".producer");
    plan.producer.transactional_id = for_instance(plan.producer.transactional_id, info.instance);
  };
  const auto consumer = [&](const Properties& p, const std::string& path) {
    plan.consumer = resolve_consumer(s, p, plan.flavour, spec, path + ".consumer");
    plan.consumer.group_instance_id = for_instance(plan.consumer.group_instance_id, info.instance);
  };
  if (info.role == Role::workload && !plan.outputs.empty()) {
    producer(s.workloads[info.index].producer, "workloads." + info.group);
  }
  if (info.role == Role::stage) {
    const StageSpec& stage = s.stages[info.index];
    if (!plan.outputs.empty()) producer(stage.producer, "stages." + info.group);
    if (!plan.inputs.empty()) consumer(stage.consumer, "stages." + info.group);
    if (plan.consumer.group_id.empty()) plan.consumer.group_id = info.group;
  }
  if (info.role == Role::observer && !plan.inputs.empty()) {
    plan.observer = true;
    consumer(s.observers[info.index].consumer, "observers." + info.group);
    if (find(s.observers[info.index].consumer, "auto.offset.reset") == nullptr)
      plan.consumer.reset = OffsetReset::earliest;
    plan.consumer.auto_commit = false;
    plan.consumer.group_id.clear();
    plan.consumer.group_instance_id.clear();
  }
  const auto settles = [&](Duration d) {
    if (d != Duration::forever()) plans.settle = std::max(plans.settle, d);
  };
  if (plan.grows) {
    plan.refresh = refresh_of(plan);
    settles(plan.refresh + slack);  // until it knows of what was added
  }
  plan.produce_bytes = frames::produce(plan.java(), info.name, plan.producer.transactional_id);
  if (!plan.inputs.empty()) {
    plan.group = number_of(plans.groups, plan.consumer.group_id);
    plan.static_instance = number_of(plans.instances, plan.consumer.group_instance_id);
    settles(plan.consumer.connection.request_timeout + slack);
    if (!plan.observer)
      settles(std::max(plan.consumer.session_timeout, plan.consumer.max_poll_interval) + slack);
  }
  if (!plan.outputs.empty()) {
    for (OutputPlan& output : plan.outputs) {
      output.partition_of_key = table_of(s, plan.producer.partitioner, output.partitions, plans);
      output.partition_at_first = table_of(s, plan.producer.partitioner, output.at_first, plans);
    }
    plan.transactional_id = number_of(plans.transactional_ids, plan.producer.transactional_id);
    settles(std::max(plan.producer.connection.request_timeout, plan.producer.linger) + slack);
    if (plan.transactional_id != 0) settles(plan.producer.transaction_timeout + transaction_scan);
  }
}

}  // namespace

const OutputPlan* ClientPlan::output(std::uint8_t port) const {
  for (const OutputPlan& o : outputs) {
    if (o.port == port) return &o;
  }
  return nullptr;
}

const InputPlan* ClientPlan::input(std::uint8_t port) const {
  for (const InputPlan& i : inputs) {
    if (i.port == port) return &i;
  }
  return nullptr;
}

std::uint32_t ClientPlan::partition_of(const OutputPlan& output, std::uint32_t key, bool grown) const {
  const auto& table = grown ? *output.partition_of_key : *output.partition_at_first;
  if (key < table.size()) return table[key];
  return partition_of_key(producer.partitioner, key, grown ? output.partitions : output.at_first);
}

void plan_clients(const Scenario& scenario, const Topology& topology, std::uint32_t broker,
                  ClientPlans& plans) {
  plans.plans.resize(topology.processes.size());
  plans.places = static_cast<PlaceId>(topology.places.size());
  plans.groups.assign(1, {});
  plans.instances.assign(1, {});
  plans.transactional_ids.assign(1, {});
  for (std::size_t p = 0; p < topology.processes.size(); ++p) {
    plan_process(scenario, topology, broker, static_cast<ProcessId>(p), plans);
  }
}

}  // namespace mqlab::sim::kafka::client
