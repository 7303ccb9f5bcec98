// [[topics]], [[streams]]
#include <algorithm>

#include "core/base/limits.h"
#include "core/scenario/sections.h"
#include "core/scenario/subject.h"
#include "core/scenario/text.h"

namespace mqlab {
namespace {

void check_new_topic(const Section& s, const std::string& name, const Scenario& scenario) {
  for (const TopicSpec& topic : scenario.topics) {
    if (topic.name == name)
      s.fail("name", quoted(name) + " comes twice, first in line " + std::to_string(topic.line));
  }
}

const BrokerSpec& broker_of(const Section& s, const Scenario& scenario) {
  if (!s.has("broker")) {
    if (scenario.brokers.size() > 1) s.fail("broker", "missing: there are several brokers");
    return scenario.brokers.front();
  }
  const std::string name = s.name("broker", "");
  std::vector<std::string> names;
  for (const BrokerSpec& broker : scenario.brokers) {
    if (broker.name == name) return broker;
    names.push_back(broker.name);
  }
  s.fail("broker", "there is no broker " + quoted(name) + "; " + suggestion(name, names));
}

void check_replicas(const Section& s, std::string_view key, const TopicSpec& topic,
                    const BrokerSpec& broker) {
  if (topic.replication <= broker.nodes) return;
  s.fail(key, std::to_string(topic.replication) + " replicas need as many nodes; broker " + broker.name +
                  " has " + std::to_string(broker.nodes));
}

TopicSpec read_topic(const Section& s, const Scenario& scenario) {
  TopicSpec topic;
  topic.name = s.required_name("name");
  check_new_topic(s, topic.name, scenario);
  const BrokerSpec& broker = broker_of(s, scenario);
  topic.broker = broker.name;
  if (broker.kind == BrokerKind::nats) s.fail("broker", "NATS has streams, not topics: write [[streams]]");
  topic.partitions = static_cast<std::uint32_t>(s.integer("partitions", 1, 1, limits::partitions_per_topic));
  topic.more_partitions = static_cast<std::uint32_t>(
      s.integer("more_partitions", 0, 0, limits::partitions_per_topic - topic.partitions));
  topic.replication = static_cast<std::uint32_t>(s.integer("replication", 1, 1, limits::nodes));
  check_replicas(s, "replication", topic, broker);
  topic.properties = s.properties("properties");
  topic.line = s.line();
  return topic;
}

TopicSpec read_stream(const Section& s, const Scenario& scenario) {
  TopicSpec stream;
  stream.stream = true;
  stream.name = s.required_name("name");
  check_new_topic(s, stream.name, scenario);
  if (stream.name.find('.') != std::string::npos) s.fail("name", "a stream's name has no dots");
  const BrokerSpec& broker = broker_of(s, scenario);
  stream.broker = broker.name;
  if (broker.kind != BrokerKind::nats) s.fail("broker", "Kafka has topics, not streams: write [[topics]]");
  stream.replication =
      static_cast<std::uint32_t>(s.integer("replicas", 1, 1, 5));  // [nats-server: StreamMaxReplicas]
  check_replicas(s, "replicas", stream, broker);
  stream.subjects = s.texts("subjects");
  if (stream.subjects.empty()) stream.subjects = {stream.name + ".>"};
  for (const std::string& subject : stream.subjects) {
    if (!valid_subject(subject))
      s.fail("subjects", quoted(subject) + " is no subject: tokens between dots, '*' or a last '>'");
  }
  stream.properties = s.properties("properties");
  stream.line = s.line();
  return stream;
}

}  // namespace

void read_topics(const Node& root, Scenario& scenario, const SourceFile& file) {
  for (const Element& element : elements(root, "topic", "topics", file)) {
    scenario.topics.push_back(read_topic(Section(*element.table, element.path, "topic", file), scenario));
  }
  for (const Element& element : elements(root, "stream", "streams", file)) {
    scenario.topics.push_back(read_stream(Section(*element.table, element.path, "stream", file), scenario));
  }
}

}  // namespace mqlab
