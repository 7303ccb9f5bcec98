#include <algorithm>

#include "core/base/check.h"
#include "core/scenario/kafka_settings.h"

namespace mqlab {
namespace {

/// Kafka writes "never" as the largest number.
std::uint64_t flush_messages(std::int64_t value) {
  return value == 0x7fff'ffff'ffff'ffff ? 0 : static_cast<std::uint64_t>(value);
}
Duration flush_interval(Duration value) { return value == Duration::forever() ? Duration{} : value; }

Duration or_forever(Duration value) { return value.ns < 0 ? Duration::forever() : value; }

/// [kafka: KafkaConfig.getLogRetentionTimeMillis, logRollTimeMillis]: the finest unit that is set.
Duration retention_of(const Values& v) {
  if (v.is_set("log.retention.ms")) return or_forever(v.duration("log.retention.ms"));
  if (v.is_set("log.retention.minutes")) {
    const std::int64_t minutes = v.integer("log.retention.minutes");
    return minutes < 0 ? Duration::forever() : Duration::seconds(60) * minutes;
  }
  const std::int64_t hours = v.integer("log.retention.hours");
  return hours < 0 ? Duration::forever() : Duration::seconds(3600) * hours;
}

/// Replicas of an internal topic: as set, else as many of `otherwise` as there
/// are nodes.
std::uint32_t replicas(const Values& v, std::string_view key, std::uint32_t nodes) {
  const auto wanted = v.as<std::uint32_t>(key);
  if (wanted <= nodes) return wanted;
  if (v.is_set(key))
    v.fail(key, std::to_string(wanted) + " replicas need as many nodes; there are " + std::to_string(nodes));
  return nodes;
}

void read_groups(const Values& v, KafkaBroker& b) {
  b.initial_rebalance_delay = v.duration("group.initial.rebalance.delay.ms");
  b.group_session_min = v.duration("group.min.session.timeout.ms");
  b.group_session_max = v.duration("group.max.session.timeout.ms");
  b.consumer_session_timeout = v.duration("group.consumer.session.timeout.ms");
  b.consumer_heartbeat_interval = v.duration("group.consumer.heartbeat.interval.ms");
  b.consumer_range = v.list("group.consumer.assignors").front() == "range";
  b.offsets_retention = Duration::seconds(60) * v.integer("offsets.retention.minutes");
  b.offsets_retention_check = v.duration("offsets.retention.check.interval.ms");
  b.offsets_commit_timeout = v.duration("offsets.commit.timeout.ms");
  b.offsets_replication = replicas(v, "offsets.topic.replication.factor", b.nodes);
  b.offsets_partitions = v.as<std::uint32_t>("offsets.topic.num.partitions");
}

void read_transactions(const Values& v, KafkaBroker& b) {
  b.transaction_replication = replicas(v, "transaction.state.log.replication.factor", b.nodes);
  b.transaction_min_isr = replicas(v, "transaction.state.log.min.isr", b.transaction_replication);
  b.transaction_partitions = v.as<std::uint32_t>("transaction.state.log.num.partitions");
  b.transaction_max_timeout = v.duration("transaction.max.timeout.ms");
  b.transaction_scan = v.duration("transaction.abort.timed.out.transaction.cleanup.interval.ms");
  b.partition_verification = v.truth("transaction.partition.verification.enable");
  b.transaction_version = b.version >= Version{4, 0} ? 2 : 0;
  b.add_partitions_backoff = v.duration("add.partitions.to.txn.retry.backoff.ms");
  b.add_partitions_patience = v.duration("add.partitions.to.txn.retry.backoff.max.ms");
}

void read_replication(const Values& v, KafkaBroker& b) {
  b.min_insync_replicas = v.as<std::uint32_t>("min.insync.replicas");
  b.message_max_bytes = v.as<std::uint32_t>("message.max.bytes");
  b.unclean_election = v.truth("unclean.leader.election.enable");
  b.replica_lag_max = v.duration("replica.lag.time.max.ms");
  b.replica_fetch_wait = v.duration("replica.fetch.wait.max.ms");
  // [kafka: KafkaConfig.validateValues]
  if (b.replica_fetch_wait > b.replica_lag_max)
    v.fail("replica.fetch.wait.max.ms", "must be at most replica.lag.time.max.ms");
  b.replica_fetch_min_bytes = v.as<std::uint32_t>("replica.fetch.min.bytes");
  b.replica_fetch_bytes = v.as<std::uint32_t>("replica.fetch.max.bytes");
  b.replica_response_bytes = v.as<std::uint32_t>("replica.fetch.response.max.bytes");
  b.replica_fetch_backoff = v.duration("replica.fetch.backoff.ms");
  b.fetch_max_bytes = v.as<std::uint32_t>("fetch.max.bytes");
}

/// At least 1 MiB since 4.0. (KIP-1030)
void check_segment(const Values& v, std::string_view key, Version version) {
  if (!v.is_set(key) || version < Version{4, 0} || v.integer(key) >= 1 << 20) return;
  v.fail(key, "must be at least 1048576 from Kafka 4.0 on");
}

void read_log(const Values& v, KafkaBroker& b) {
  b.flush_messages = flush_messages(v.integer("log.flush.interval.messages"));
  const bool own = v.is_set("log.flush.interval.ms");
  b.flush_interval =
      flush_interval(v.duration(own ? "log.flush.interval.ms" : "log.flush.scheduler.interval.ms"));
  b.segment_bytes = v.as<std::uint64_t>("log.segment.bytes");
  b.segment_time = v.is_set("log.roll.ms") ? v.duration("log.roll.ms")
                                           : Duration::seconds(3600) * v.integer("log.roll.hours");
  b.retention_time = retention_of(v);
  b.retention_bytes = v.integer("log.retention.bytes");
  b.retention_check = v.duration("log.retention.check.interval.ms");
  check_segment(v, "log.segment.bytes", b.version);
}

bool has(const std::vector<std::string>& policy, std::string_view what) {
  return std::find(policy.begin(), policy.end(), what) != policy.end();
}

double ratio(const Values& v, std::string_view key) {
  const double value = v.real(key);
  if (!(value >= 0 && value <= 1)) v.fail(key, "must be 0 to 1");
  return value;
}

void read_cleaner(const Values& v, KafkaBroker& b) {
  const std::vector<std::string> policy = v.list("log.cleanup.policy");
  b.deletes = has(policy, "delete");
  b.compacts = has(policy, "compact");
  b.cleaner = v.truth("log.cleaner.enable");
  b.cleaner_backoff = v.duration("log.cleaner.backoff.ms");
  b.tombstone_retention = v.duration("log.cleaner.delete.retention.ms");
  b.compaction_lag_min = v.duration("log.cleaner.min.compaction.lag.ms");
  b.compaction_lag_max = v.duration("log.cleaner.max.compaction.lag.ms");
  b.dirty_ratio = ratio(v, "log.cleaner.min.cleanable.ratio");
}

/// What a topic says itself, else the broker.
Duration own(const Values& v, std::string_view key, Duration otherwise) {
  return v.is_set(key) ? v.duration(key) : otherwise;
}

/// [kafka: LogConfig.maxSegmentMs, validateValues]
void read_compaction(const Values& v, const KafkaBroker& b, KafkaTopic& t) {
  const std::vector<std::string> policy = v.list("cleanup.policy");
  const bool set = v.is_set("cleanup.policy");
  t.deletes = set ? has(policy, "delete") : b.deletes;
  t.compacts = set ? has(policy, "compact") : b.compacts;
  t.compacted = t.compacts && b.cleaner;
  t.tombstone_retention = own(v, "delete.retention.ms", b.tombstone_retention);
  t.compaction_lag_min = own(v, "min.compaction.lag.ms", b.compaction_lag_min);
  t.compaction_lag_max = own(v, "max.compaction.lag.ms", b.compaction_lag_max);
  t.dirty_ratio =
      v.is_set("min.cleanable.dirty.ratio") ? ratio(v, "min.cleanable.dirty.ratio") : b.dirty_ratio;
  if (t.compaction_lag_min > t.compaction_lag_max)
    v.fail("min.compaction.lag.ms", "must be at most max.compaction.lag.ms");
  if (t.compacts) t.segment_time = std::min(t.segment_time, t.compaction_lag_max);
}

void read_cluster(const Values& v, KafkaBroker& b) {
  b.session_timeout = v.duration("broker.session.timeout.ms");
  b.heartbeat_interval = v.duration("broker.heartbeat.interval.ms");
  b.quorum_election_timeout = v.duration("controller.quorum.election.timeout.ms");
  b.quorum_fetch_timeout = v.duration("controller.quorum.fetch.timeout.ms");
  b.quorum_backoff_max = v.duration("controller.quorum.election.backoff.max.ms");
  b.eligible_leader_replicas = b.version >= Version{4, 1};
}

void read_quotas(const Values& v, KafkaBroker& b) {
  b.quota_samples = v.as<std::uint32_t>("quota.window.num");
  b.quota_window = Duration::seconds(v.integer("quota.window.size.seconds"));
}

/// None is Kafka's own: known faults of others, as variants of this protocol. [redpanda#3039, mended by
/// #3077; #3036, a pull request; #9571, and the same effect in #28554; #6018, mended by #6019]
void read_known_bugs(const Values& v, KafkaBroker& b) {
  for (const std::string& bug : v.list("mqlab.known.bugs")) {
    b.refuses_repeats = b.refuses_repeats || bug == "redpanda-3039";
    b.reads_past_stable = b.reads_past_stable || bug == "redpanda-3036";
    b.tells_unstable_offsets = b.tells_unstable_offsets || bug == "redpanda-9571";
    b.transactions_in_memory = b.transactions_in_memory || bug == "redpanda-6018";
  }
}

}  // namespace

KafkaBroker resolve_broker(const Scenario& scenario, const BrokerSpec& broker) {
  const Version version = parse_version(broker.version).value_or(Version{});
  const bool only = scenario.brokers.size() == 1;
  const std::string path = only ? "broker.properties" : "brokers." + broker.name + ".properties";
  const Values v(kafka_broker_settings(), broker.properties, version, {scenario.file, path, broker.line});
  KafkaBroker b;
  b.version = version;
  b.nodes = broker.nodes;
  read_replication(v, b);
  read_log(v, b);
  read_cleaner(v, b);
  read_cluster(v, b);
  read_groups(v, b);
  read_transactions(v, b);
  read_quotas(v, b);
  read_known_bugs(v, b);
  return b;
}

KafkaTopic resolve_topic(const Scenario& scenario, const TopicSpec& topic, const BrokerSpec& broker) {
  const KafkaBroker b = resolve_broker(scenario, broker);
  const std::string path = "topics." + topic.name + ".properties";
  const Values v(kafka_topic_settings(), topic.properties, b.version, {scenario.file, path, topic.line});
  KafkaTopic t;
  t.partitions = topic.partitions;
  t.replication = topic.replication;
  t.min_insync_replicas =
      v.is_set("min.insync.replicas") ? v.as<std::uint32_t>("min.insync.replicas") : b.min_insync_replicas;
  t.min_insync_replicas = std::min(t.min_insync_replicas, t.replication);
  t.max_message_bytes =
      v.is_set("max.message.bytes") ? v.as<std::uint32_t>("max.message.bytes") : b.message_max_bytes;
  t.unclean_election = v.is_set("unclean.leader.election.enable") ? v.truth("unclean.leader.election.enable")
                                                                  : b.unclean_election;
  t.flush_messages =
      v.is_set("flush.messages") ? flush_messages(v.integer("flush.messages")) : b.flush_messages;
  t.flush_interval = v.is_set("flush.ms") ? flush_interval(v.duration("flush.ms")) : b.flush_interval;
  check_segment(v, "segment.bytes", b.version);
  t.segment_bytes = v.is_set("segment.bytes") ? v.as<std::uint64_t>("segment.bytes") : b.segment_bytes;
  t.segment_time = v.is_set("segment.ms") ? v.duration("segment.ms") : b.segment_time;
  t.retention_time = v.is_set("retention.ms") ? or_forever(v.duration("retention.ms")) : b.retention_time;
  t.retention_bytes = v.is_set("retention.bytes") ? v.integer("retention.bytes") : b.retention_bytes;
  read_compaction(v, b, t);
  return t;
}

const BrokerSpec& broker_of(const Scenario& scenario, const TopicSpec& topic) {
  const auto found = std::find_if(scenario.brokers.begin(), scenario.brokers.end(),
                                  [&](const BrokerSpec& broker) { return broker.name == topic.broker; });
  MQLAB_CHECK(found != scenario.brokers.end());
  return *found;
}

}  // namespace mqlab
