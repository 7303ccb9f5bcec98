// Pieces of the lab's hand on Kafka, apart so that each fits a screen.
#pragma once
#include <map>
#include <vector>

#include "live/admin.h"
#include "live/ports/kafka_client.h"

namespace mqlab::live::kafka {

/// Where the lab's own clients connect, and with which of [live]'s properties.
struct Access {
  std::string address;
  const Properties& properties;
};

/// What the library said last about a connection that cannot come about by waiting (a wrong password, an
/// untrusted certificate); empty when nothing.
std::string hopeless();

/// A consumer that reads what it is told to, in no group's name but `group`'s for asking its offsets.
ClientPtr lab_consumer(const Access& access, const std::string& group, bool committed_only);
ClientPtr lab_producer(const Access& access, const std::string& transactional_id);

/// Throws PortError unless every topic was made or was there.
void create_topics(rd_kafka_t* client, const std::vector<TopicSpec>& topics, int timeout_ms);
/// Topics and groups that are not there do not matter.
/// Until the topic has `total` partitions.
void add_partitions(rd_kafka_t* client, const std::string& topic, std::uint32_t total, int timeout_ms);
void delete_topics(rd_kafka_t* client, const std::vector<std::string>& topics, int timeout_ms);
void delete_groups(rd_kafka_t* client, const std::vector<std::string>& groups, int timeout_ms);

/// An id for an idempotent producer from every node of `access.address`, by a message of each into `topic`. A
/// node that has none left asks the controller for a block of them and refuses the request that made it look
/// (COORDINATOR_LOAD_IN_PROGRESS, kafka RPCProducerIdManager); librdkafka comes again after 500 ms, for which
/// a pipeline's first producer would stand still. Throws PortError.
void give_out_ids(const Access& access, const std::string& topic);

/// A message into a place of the lab's own and back, by the ways the scenario uses: idempotent or
/// transactional, a group's offset committed. So all coordinators are loaded. Throws PortError.
void round_trip(const Access& access, const std::string& topic, bool transactional);

struct ClusterView {
  std::map<std::pair<std::string, std::int32_t>, std::int32_t>
      leaders;         ///< (topic, partition) → node; −1 = none
  bool whole = false;  ///< at least so many nodes as expected, all replicas of its topics in sync
};
/// `prefix` of the topics that count; empty = all.
ClusterView look(rd_kafka_t* client, std::uint32_t nodes, const std::string& prefix, int timeout_ms);

/// Where each partition begins (`where` = RD_KAFKA_OFFSET_BEGINNING) or ends (RD_KAFKA_OFFSET_END): the high
/// watermark, or for a client that reads committed only the last stable offset. Throws PortError.
std::vector<std::int64_t> offsets_at(rd_kafka_t* client, rd_kafka_topic_partition_list_t* partitions,
                                     std::int64_t where, int timeout_ms);

/// Reads partitions from their begin to their end as `consumer` sees it; calls `visit` for every record.
/// Returns which partitions were read to the end, in the order of the list.
std::vector<bool> read_all(rd_kafka_t* consumer, const rd_kafka_topic_partition_list_t* partitions,
                           const std::function<void(const rd_kafka_message_t&)>& visit);

}  // namespace mqlab::live::kafka
