// Pieces of the lab's hand on Kafka, apart so that each fits a screen.
#pragma once
#include <map>
#include <vector>

#include "live/admin.h"
#include "live/ports/kafka_client.h"

namespace mqlab::live::kafka {

/// A consumer that reads what it is told to, in no group's name but `group`'s for asking its offsets.
ClientPtr lab_consumer(const std::string& bootstrap, const std::string& group, bool committed_only);
ClientPtr lab_producer(const std::string& bootstrap, const std::string& transactional_id);

/// Throws PortError unless every topic was made or was there.
void create_topics(rd_kafka_t* client, const std::vector<TopicSpec>& topics, int timeout_ms);
/// Topics that are not there do not matter.
void delete_topics(rd_kafka_t* client, const std::vector<std::string>& topics, int timeout_ms);

/// A message into a place of the lab's own and back, by the ways the scenario uses: idempotent or
/// transactional, a group's offset committed. So all coordinators are loaded. Throws PortError.
void round_trip(const std::string& bootstrap, const std::string& topic, bool transactional);

struct ClusterView {
  std::map<std::pair<std::string, std::int32_t>, std::int32_t>
      leaders;         ///< (topic, partition) → node; −1 = none
  bool whole = false;  ///< so many nodes as expected, all replicas in sync
};
ClusterView look(rd_kafka_t* client, std::uint32_t nodes, int timeout_ms);

/// End offset of each partition: the high watermark, or for a client that reads committed only the last
/// stable offset. Throws PortError.
std::vector<std::int64_t> ends(rd_kafka_t* client, rd_kafka_topic_partition_list_t* partitions,
                               int timeout_ms);

/// Reads partitions from their begin to their end as `consumer` sees it; calls `visit` for every record.
/// Returns which partitions were read to the end, in the order of the list.
std::vector<bool> read_all(rd_kafka_t* consumer, const rd_kafka_topic_partition_list_t* partitions,
                           const std::function<void(const rd_kafka_message_t&)>& visit);

}  // namespace mqlab::live::kafka
