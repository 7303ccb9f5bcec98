#include "live/port.h"

#include "live/ports/store_sqlite.h"

namespace mqlab::live {

std::string with_instance(std::string text, std::uint32_t instance) {
  constexpr std::string_view mark = "{instance}";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
    text.replace(at, mark.size(), std::to_string(instance));
  }
  return text;
}

const BrokerSpec& broker_of(const Scenario& scenario, const Topology& topology, ProcessId process) {
  const Ports ports = ports_of(scenario, topology, process);
  std::vector<TopicId> topics = ports.inputs;
  topics.insert(topics.end(), ports.outputs.begin(), ports.outputs.end());
  if (topics.empty()) return scenario.brokers.front();
  const std::uint32_t broker = topology.topics[topics.front()].broker;
  for (const TopicId topic : topics) {
    if (topology.topics[topic].broker != broker) {
      throw PortError(topology.processes[process].name +
                      ": a process that talks to two brokers cannot run in the live world");
    }
  }
  return scenario.brokers[broker];
}

std::unique_ptr<Port> make_port(const PortContext& context, const std::string& store_file) {
  const BrokerSpec& broker = broker_of(context.scenario, context.topology, context.process);
  std::unique_ptr<Port> port;
  switch (broker.kind) {
    case BrokerKind::kafka:
      port = make_kafka_port(context);
      break;
    case BrokerKind::nats:
      port = make_nats_port(context);
      break;
    default:
      throw PortError("no live port to " + std::string(name_of(broker.kind)));
  }
  const TopicId store = ports_of(context.scenario, context.topology, context.process).store;
  if (store == no_topic) return port;
  return with_store(std::move(port), store_file, context.topology.topics[store].first_place, context.events);
}

}  // namespace mqlab::live
