// What the Kafka clients of a scenario are set to, resolved once and shared by all runs.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/scenario/kafka_settings.h"
#include "core/scenario/scenario.h"
#include "core/scenario/topology.h"

namespace mqlab::sim::kafka::client {

/// A topic that a process writes to. `port` is the process's output number.
struct OutputPlan {
  std::uint8_t port = 0;
  TopicId topic = no_topic;
  PlaceId first_place = 0;
  std::uint32_t partitions = 1;
  std::uint32_t first_index = 0;  ///< of its partitions among all that the process writes to
  std::uint32_t at_first = 1;     ///< partitions until the topic is known to have grown
  std::uint32_t topic_bytes = 0;  ///< of what names it in a produce request
  /// For the workloads' key numbers, 0 = none; with all partitions, and with those there are at first.
  const std::vector<std::uint16_t>*partition_of_key = nullptr, *partition_at_first = nullptr;
};

struct InputPlan {
  std::uint8_t port = 0;
  TopicId topic = no_topic;
  PlaceId first_place = 0;
  std::uint32_t partitions = 1;
  std::uint32_t first_index = 0;  ///< of its partitions among all that the process may read
  std::uint32_t at_first = 1;     ///< partitions until the topic is known to have grown
  std::uint32_t topic_bytes = 0;  ///< of what names it in the answer to a fetch
};

struct ClientPlan {
  Flavour flavour = Flavour::librdkafka;
  bool observer = false;  ///< reads all partitions from the start, without a group
  KafkaProducer producer;
  KafkaConsumer consumer;
  std::uint32_t group = 0;  ///< numbers from 1 in order of appearance; 0 = none
  std::uint32_t static_instance = 0;
  std::uint32_t transactional_id = 0;
  std::vector<OutputPlan> outputs;  ///< those of this broker only
  std::vector<InputPlan> inputs;
  std::uint32_t output_partitions = 0;
  std::uint32_t input_partitions = 0;
  std::uint32_t produce_bytes = 0;  ///< of a produce request without its topics; see frames.h

  bool grows = false;  ///< some topic of it gets more partitions
  Duration refresh =
      {};  ///< how often metadata are asked for; 0 = never. (One wire serves reader and writer.)

  bool java() const { return flavour == Flavour::java; }
  const OutputPlan* output(std::uint8_t port) const;
  const InputPlan* input(std::uint8_t port) const;
  /// Partition of `output` for a key number; hashes(producer.partitioner, key != 0). `grown`: among all.
  std::uint32_t partition_of(const OutputPlan& output, std::uint32_t key, bool grown) const;
};

struct ClientPlans {
  ClientPlans() = default;
  ClientPlans(const ClientPlans&) = delete;  // plans point into the tables
  ClientPlans& operator=(const ClientPlans&) = delete;

  std::vector<ClientPlan> plans;    ///< by process; without ports where it does not use this broker
  std::vector<std::string> groups;  ///< group.id by number; [0] is empty
  std::vector<std::string> transactional_ids;  ///< by number; [0] is empty
  std::vector<std::string> instances;          ///< group.instance.id by number; [0] is empty
  /// By partitioner and number of partitions.
  std::map<std::pair<Partitioner, std::uint32_t>, std::vector<std::uint16_t>> tables;
  PlaceId places = 0;  ///< of the whole topology
  /// The longest that nothing is heard of something unfinished: an answer that does not come, a member that
  /// does not beat or poll, a transaction left open. (A record that is not delivered yet is sent again or
  /// asks for metadata more often than that, until delivery.timeout.ms ends it.)
  Duration settle = {};
};

/// Fills `plans` for one broker. Throws ScenarioError for settings that contradict each other.
void plan_clients(const Scenario& scenario, const Topology& topology, std::uint32_t broker,
                  ClientPlans& plans);

}  // namespace mqlab::sim::kafka::client
