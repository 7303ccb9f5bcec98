// The settings of a simulated Kafka cluster as typed values. Names, defaults and their sources:
// core/scenario/kafka_settings.h; the defaults below are those of Kafka 4.x (kafka: ReplicationConfigs, KRaftConfigs,
// QuorumConfig, LogConfig, GroupCoordinatorConfig, TransactionLogConfig, TransactionStateManagerConfig).
#pragma once
#include <cstdint>
#include <vector>

#include "core/base/time.h"

namespace mqlab::sim::kafka {

struct BrokerValues {
  Duration session_timeout = Duration::seconds(9);       ///< broker.session.timeout.ms
  Duration heartbeat_interval = Duration::seconds(2);    ///< broker.heartbeat.interval.ms
  Duration replica_lag_max = Duration::seconds(30);      ///< replica.lag.time.max.ms
  Duration replica_fetch_wait = Duration::millis(500);   ///< replica.fetch.wait.max.ms
  std::uint32_t replica_fetch_bytes = 1u << 20;          ///< replica.fetch.max.bytes, of one partition
  std::uint32_t replica_response_bytes = 10u << 20;      ///< replica.fetch.response.max.bytes
  Duration quorum_fetch_timeout = Duration::seconds(2);  ///< controller.quorum.fetch.timeout.ms
  Duration quorum_election_timeout = Duration::seconds(1);      ///< controller.quorum.election.timeout.ms
  Duration quorum_backoff_max = Duration::seconds(1);           ///< controller.quorum.election.backoff.max.ms
  std::uint32_t fetch_max_bytes = 55u << 20;             ///< fetch.max.bytes of the broker

  Duration initial_rebalance_delay = Duration::seconds(3);   ///< group.initial.rebalance.delay.ms
  Duration group_session_min = Duration::seconds(6);         ///< group.min.session.timeout.ms
  Duration group_session_max = Duration::seconds(1800);      ///< group.max.session.timeout.ms
  Duration offsets_commit_timeout = Duration::seconds(5);    ///< offsets.commit.timeout.ms
  std::uint32_t offsets_replication = 3;                     ///< offsets.topic.replication.factor
  std::uint32_t offsets_min_isr = 1;                         ///< min.insync.replicas of the broker

  std::uint32_t transaction_replication = 3;             ///< transaction.state.log.replication.factor
  std::uint32_t transaction_min_isr = 2;                 ///< transaction.state.log.min.isr
  Duration transaction_max_timeout = Duration::seconds(900);  ///< transaction.max.timeout.ms
  Duration transaction_scan = Duration::seconds(10);  ///< transaction.abort.timed.out.transaction.cleanup.interval.ms
  bool partition_verification = true;                 ///< transaction.partition.verification.enable

  bool eligible_leader_replicas = false;  ///< KIP-966: on for new clusters from 4.1
  /// From the start of a process until it registers with the controller. Measured on real nodes: some 3 s of JVM.
  Duration boot = Duration::seconds(3);
};

struct TopicValues {
  std::uint32_t replication = 1;
  std::uint32_t min_isr = 1;                  ///< min.insync.replicas, at most the replication factor
  std::uint32_t max_message_bytes = 1048588;  ///< max.message.bytes, of a batch
  bool unclean_election = false;              ///< unclean.leader.election.enable
  std::uint64_t flush_messages = 0;           ///< flush.messages: fsync after so many records; 0 = never
  std::uint64_t segment_bytes = 1u << 30;     ///< segment.bytes: the roll of a segment flushes it
};

}  // namespace mqlab::sim::kafka
