// Every property map of a scenario against the tables of settings.
#include "core/scenario/kafka_settings.h"
#include "core/scenario/nats_settings.h"
#include "core/scenario/sections.h"

namespace mqlab {
namespace {

const TopicSpec* topic_of(const Scenario& scenario, const std::string& name) {
  for (const TopicSpec& topic : scenario.topics) {
    if (topic.name == name) return &topic;
  }
  return nullptr;
}

bool kafka(const BrokerSpec& broker) { return broker.kind == BrokerKind::kafka; }

/// The cluster a process's client speaks to: that of the first topic, else the first there is.
const BrokerSpec& client_broker(const Scenario& scenario, const std::vector<std::string>& topics) {
  for (const std::string& name : topics) {
    if (const TopicSpec* topic = topic_of(scenario, name)) return broker_of(scenario, *topic);
  }
  return scenario.brokers.front();
}

Flavour flavour_of(const Scenario& scenario) {
  return scenario.flavour == Flavour::java ? Flavour::java : Flavour::librdkafka;
}

void check_producer(const Scenario& s, const Properties& p, const BrokerSpec& broker,
                    const std::string& path) {
  if (kafka(broker)) {
    resolve_producer(s, p, flavour_of(s), broker, path);
  } else {
    resolve_nats_producer(s, p, broker, path);
  }
}

void check_consumer(const Scenario& s, const Properties& p, const BrokerSpec& broker, const std::string& path,
                    std::uint32_t instances) {
  if (kafka(broker)) {
    resolve_consumer(s, p, flavour_of(s), broker, path);
  } else {
    resolve_nats_consumer(s, p, broker, path, instances);
  }
}

void check_topic(const Scenario& s, const TopicSpec& topic) {
  const BrokerSpec& broker = broker_of(s, topic);
  if (kafka(broker)) {
    resolve_topic(s, topic, broker);
  } else {
    resolve_nats_stream(s, topic, broker);
  }
}

}  // namespace

void check_settings(const Scenario& s) {
  for (const BrokerSpec& broker : s.brokers) {
    if (kafka(broker)) {
      resolve_broker(s, broker);
    } else {
      resolve_nats_server(s, broker);
    }
  }
  for (const TopicSpec& topic : s.topics) check_topic(s, topic);
  for (const WorkloadSpec& w : s.workloads) {
    const std::string path = s.workloads.size() == 1 ? "workload" : "workloads." + w.name;
    check_producer(s, w.producer, client_broker(s, {w.topic}), path + ".producer");
  }
  for (const StageSpec& g : s.stages) {
    check_consumer(s, g.consumer, client_broker(s, g.inputs), "stages." + g.name + ".consumer",
                   g.instances + g.spares);
    check_producer(s, g.producer, client_broker(s, g.outputs.empty() ? g.inputs : g.outputs),
                   "stages." + g.name + ".producer");
  }
  for (const ObserverSpec& o : s.observers) {
    check_consumer(s, o.consumer, client_broker(s, {o.topic}), "observers." + o.name + ".consumer", 1);
  }
}

}  // namespace mqlab
