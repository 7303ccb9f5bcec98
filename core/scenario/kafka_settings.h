// Kafka's settings: tables by scope and flavour, and the typed values that a
// scenario comes to. Checks are those that the real client makes when it is
// created, or the broker when it is asked; each was tried on
// kafka-clients 4.1.0 or librdkafka 2.16.0 unless its comment names another
// source.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "core/scenario/partitioner.h"
#include "core/scenario/scenario.h"
#include "core/scenario/settings.h"

namespace mqlab {

const SettingTable& java_producer_settings();
const SettingTable& java_consumer_settings();
const SettingTable& librdkafka_producer_settings();
const SettingTable& librdkafka_consumer_settings();
const SettingTable& kafka_broker_settings();
const SettingTable& kafka_topic_settings();
const SettingTable& kafka_producer_settings(Flavour flavour);
const SettingTable& kafka_consumer_settings(Flavour flavour);

inline constexpr std::uint32_t unlimited = 0xffff'ffff;

/// What both clients of a flavour have.
struct KafkaConnection {
  Duration request_timeout = {};  ///< until the connection is given up; java: request.timeout.ms,
                                  ///< librdkafka: socket.timeout.ms
  Duration retry_backoff = {};
  Duration retry_backoff_max = {};
  Duration reconnect_backoff = {};
  Duration reconnect_backoff_max = {};
  Duration metadata_max_age = {};  ///< −1 ms = never asked for again
};

struct KafkaProducer {
  Flavour flavour = Flavour::java;
  KafkaConnection connection;
  std::int32_t acks = -1;  ///< −1 = all
  bool idempotence = true;
  bool gapless = false;
  Duration linger = {};
  std::uint32_t batch_bytes = 0;
  std::uint32_t batch_messages = unlimited;
  std::uint32_t request_bytes = 0;  ///< largest record and request; max.request.size, message.max.bytes
  std::uint64_t buffer_bytes = 0;
  std::uint32_t buffer_messages = unlimited;
  Duration max_block = {};      ///< java: a full buffer blocks so long; librdkafka:
                                ///< 0, produce() fails at once
  std::uint32_t in_flight = 0;  ///< per broker
  std::uint32_t retries = 0;
  Duration delivery_timeout = {};  ///< forever() = none
  Duration broker_timeout = {};    ///< how long the broker may wait for replicas
  Partitioner partitioner = Partitioner::murmur2_random;
  Duration sticky_linger = {};   ///< librdkafka; java sticks for batch_bytes
  std::string transactional_id;  ///< {instance} not yet replaced; empty = none
  Duration transaction_timeout = {};
  /// Transactional java clients from 4.0 on, as brokers of these versions have
  /// transaction.version 2 (KIP-890).
  bool second_protocol = false;
};

enum class OffsetReset : std::uint8_t { earliest, latest, none };
enum class Assignor : std::uint8_t { range, roundrobin, sticky, cooperative_sticky };

struct KafkaConsumer {
  Flavour flavour = Flavour::java;
  KafkaConnection connection;
  std::string group_id;             ///< empty = the stage's name
  std::string group_instance_id;    ///< {instance} not yet replaced; empty = a
                                    ///< dynamic member
  bool consumer_protocol = false;   ///< KIP-848, else classic
  std::vector<Assignor> assignors;  ///< by preference; classic
  Duration session_timeout = {};
  Duration heartbeat_interval = {};
  Duration max_poll_interval = {};
  std::uint32_t max_poll_records = 0;
  bool auto_commit = true;
  bool auto_store = true;  ///< librdkafka: offsets are stored at hand-over
  Duration auto_commit_interval = {};
  OffsetReset reset = OffsetReset::latest;
  bool read_committed = false;
  std::uint32_t fetch_min_bytes = 0;
  std::uint32_t fetch_max_bytes = 0;
  std::uint32_t partition_bytes = 0;
  Duration fetch_wait = {};
  Duration fetch_error_backoff = {};          ///< librdkafka
  Duration fetch_queue_backoff = {};          ///< librdkafka
  std::uint32_t queued_messages = unlimited;  ///< librdkafka: fetched ahead
  std::uint64_t queued_bytes = 0;             ///< librdkafka; java: 0, one answer per broker is fetched ahead

  /// Keeps what stays its own through a rebalance.
  bool cooperative() const {
    if (consumer_protocol) return true;
    return !assignors.empty() && assignors.front() == Assignor::cooperative_sticky;
  }
};

struct KafkaBroker {
  Version version;
  std::uint32_t nodes = 1;
  std::uint32_t min_insync_replicas = 1;
  std::uint32_t message_max_bytes = 0;
  bool unclean_election = false;
  Duration replica_lag_max = {};
  Duration replica_fetch_wait = {};
  std::uint32_t replica_fetch_min_bytes = 0;
  std::uint32_t replica_fetch_bytes = 0;
  std::uint32_t replica_response_bytes = 0;
  Duration replica_fetch_backoff = {};
  std::uint32_t fetch_max_bytes = 0;
  std::uint64_t flush_messages = 0;  ///< fsync after so many records; 0 = never
  Duration flush_interval = {};      ///< fsync after so long; 0 = never
  std::uint64_t segment_bytes = 0;
  Duration segment_time = {};    ///< a segment is rolled by the first append after this long
  Duration retention_time = {};  ///< forever() = kept
  std::int64_t retention_bytes = -1;
  Duration retention_check = {};
  bool deletes = true;  ///< log.cleanup.policy
  bool compacts = false;
  bool cleaner = true;  ///< log.cleaner.enable
  Duration cleaner_backoff = {};
  Duration tombstone_retention = {};
  Duration compaction_lag_min = {};
  Duration compaction_lag_max = {};  ///< forever() = none
  double dirty_ratio = 0.5;
  Duration session_timeout = {};  ///< of a broker with the controller
  Duration heartbeat_interval = {};
  Duration quorum_election_timeout = {};
  Duration quorum_fetch_timeout = {};
  Duration quorum_backoff_max = {};
  Duration initial_rebalance_delay = {};
  Duration group_session_min = {};
  Duration group_session_max = {};
  Duration consumer_session_timeout = {};  ///< of members of the consumer protocol
  Duration consumer_heartbeat_interval = {};
  bool consumer_range = false;  ///< their assignor; else uniform
  Duration offsets_commit_timeout = {};
  Duration offsets_retention = {};  ///< of a group without members
  Duration offsets_retention_check = {};
  std::uint32_t offsets_replication = 0;  ///< at most nodes unless set, as the lab sets it on real brokers
  std::uint32_t offsets_partitions = 0;
  std::uint32_t transaction_replication = 0;  ///< likewise
  std::uint32_t transaction_min_isr = 0;
  std::uint32_t transaction_partitions = 0;
  Duration transaction_max_timeout = {};
  Duration transaction_scan = {};
  bool partition_verification = true;
  std::uint32_t transaction_version = 0;  ///< the feature's level of a new cluster: 2 from 4.0 on
  Duration add_partitions_backoff = {};   ///< a leader asks again while transactions are concurrent …
  Duration add_partitions_patience = {};  ///< … for so long
  // Published faults of brokers that speak this protocol (mqlab.known.bugs).
  bool refuses_repeats = false;    ///< redpanda#3039: a repeated batch is called out of sequence
  bool reads_past_stable = false;  ///< redpanda#3036: readers of committed records get one too many
  bool tells_unstable_offsets =
      false;  ///< redpanda#9571: offsets of an ending transaction are not waited for
  bool transactions_in_memory = false;  ///< redpanda#6018: what a new coordinator does not know of
  std::uint32_t quota_samples = 0;      ///< a rate is measured over so many windows, the last one open
  Duration quota_window = {};
  bool eligible_leader_replicas = false;  ///< KIP-966: on for new clusters from 4.1
};

struct KafkaTopic {
  std::uint32_t partitions = 1;
  std::uint32_t replication = 1;
  std::uint32_t min_insync_replicas =
      1;  ///< at most the replication factor [kafka: Partition.effectiveMinIsr]
  std::uint32_t max_message_bytes = 0;
  bool unclean_election = false;
  std::uint64_t flush_messages = 0;  ///< 0 = never
  Duration flush_interval = {};      ///< 0 = never
  std::uint64_t segment_bytes = 0;
  Duration segment_time = {};
  bool deletes = true;     ///< cleanup.policy
  bool compacts = false;   ///< so that every record needs a key …
  bool compacted = false;  ///< … and this is done
  Duration tombstone_retention = {};
  Duration compaction_lag_min = {};
  Duration compaction_lag_max = Duration::forever();
  double dirty_ratio = 0.5;
  Duration retention_time = Duration::forever();  ///< forever() = kept
  std::int64_t retention_bytes = -1;

  /// Whether records may go.
  bool expires() const { return deletes && (retention_time != Duration::forever() || retention_bytes >= 0); }
};

/// All throw ScenarioError at `path` ("workload.producer") for a setting that
/// does not exist, is out of range, or contradicts another. `broker` is the
/// cluster the client talks to.
KafkaProducer resolve_producer(const Scenario& scenario, const Properties& properties, Flavour flavour,
                               const BrokerSpec& broker, const std::string& path = "producer");
KafkaConsumer resolve_consumer(const Scenario& scenario, const Properties& properties, Flavour flavour,
                               const BrokerSpec& broker, const std::string& path = "consumer");
KafkaBroker resolve_broker(const Scenario& scenario, const BrokerSpec& broker);
KafkaTopic resolve_topic(const Scenario& scenario, const TopicSpec& topic, const BrokerSpec& broker);

/// A client's text with {instance} replaced: "embed-{instance}" → "embed-3".
std::string for_instance(std::string text, std::uint32_t instance);

/// Of the cluster a topic lies on.
const BrokerSpec& broker_of(const Scenario& scenario, const TopicSpec& topic);

}  // namespace mqlab
