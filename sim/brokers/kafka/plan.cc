#include "sim/brokers/kafka/plan.h"

#include <algorithm>

#include "core/scenario/error.h"
#include "sim/brokers/kafka/cluster.h"

namespace mqlab::sim {

std::unique_ptr<ClusterPlan> plan_kafka(const Scenario& scenario, const Topology& topology,
                                        std::uint32_t broker) {
  return std::make_unique<kafka::KafkaPlan>(scenario, topology, broker);
}

namespace kafka {

KafkaPlan::KafkaPlan(const Scenario& scenario, const Topology& topology, std::uint32_t broker)
    : broker_(broker), values_(resolve_broker(scenario, scenario.brokers[broker])) {
  const BrokerSpec& spec = scenario.brokers[broker];
  for (std::size_t p = 0; p < topology.processes.size(); ++p) {
    const ProcessInfo& info = topology.processes[p];
    if (info.role == Role::broker && info.index == broker) processes_.push_back(static_cast<ProcessId>(p));
  }
  topics_.resize(topology.topics.size());
  for (std::size_t t = 0; t < topology.topics.size(); ++t) {
    const TopicInfo& info = topology.topics[t];
    if (info.broker != broker || info.kind != TopicKind::topic) continue;
    const TopicSpec& topic = scenario.topics[info.index];
    topics_[t] = resolve_topic(scenario, topic, spec);
    if (topic.replication > spec.nodes) {
      throw ScenarioError(scenario.file, topic.line, "topics." + topic.name + ".replication",
                          std::to_string(topic.replication) + " replicas need as many nodes; " + spec.name +
                              " has " + std::to_string(spec.nodes));
    }
  }
  client::plan_clients(scenario, topology, broker, clients_);
  // Idle for longer than any client keeps something to itself, and than a broker, a group or a transaction
  // takes to give somebody up.
  const Duration failover =
      values_.session_timeout + values_.quorum_fetch_timeout + values_.quorum_backoff_max;
  quotas_ = client_quotas(spec, topology);
  settle_ = std::max({clients_.settle, failover, longest_throttle(scenario, spec, quotas_)});
}

Cluster* KafkaPlan::make(World& world) const {
  return world.arena().make<KafkaCluster>(world, *this, broker_);
}

Capabilities KafkaPlan::capabilities(ProcessId process) const {
  const client::ClientPlan& plan = clients_.plans[process];
  Capabilities c;
  c.log = true;
  c.groups = !plan.inputs.empty() && !plan.observer;
  c.transactions = plan.transactional_id != 0;
  c.max_message_bytes = values_.message_max_bytes;
  if (!plan.outputs.empty()) c.max_message_bytes = std::min(c.max_message_bytes, plan.producer.request_bytes);
  for (const client::OutputPlan& output : plan.outputs) {
    c.max_message_bytes = std::min(c.max_message_bytes, topics_[output.topic].max_message_bytes);
  }
  return c;
}

}  // namespace kafka
}  // namespace mqlab::sim
