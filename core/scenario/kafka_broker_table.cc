// Kafka's broker and topics. Names, ranges and defaults:
// KafkaConfig.configDef() and LogConfig of kafka 4.1.0, printed by that
// program; older defaults: KIP-1030 and the documentation of 3.9.
#include <array>

#include "core/scenario/kafka_known.h"
#include "core/scenario/kafka_settings.h"
#include "core/scenario/setting_rows.h"

namespace mqlab {
namespace {

using namespace rows;  // NOLINT(google-build-using-namespace): the rows read as
                       // a table

constexpr std::string_view never = "9223372036854775807";

constexpr auto broker = std::to_array<Setting>({
    number("min.insync.replicas", 1, most_int, "1", "acks=all is refused with fewer in-sync replicas"),
    bytes("message.max.bytes", 0, most_int, "1048588", "largest batch a topic takes"),
    flag("unclean.leader.election.enable", "false",
         "a replica out of sync may lead: acknowledged records are lost"),
    millis("replica.lag.time.max.ms", 0, most_long, "30000",
           "a follower that is behind for so long leaves the in-sync replicas"),
    millis("replica.fetch.wait.max.ms", 0, most_int, "500", "longest wait of a follower's fetch"),
    bytes("replica.fetch.min.bytes", 0, most_int, "1", "a follower's fetch waits for so much"),
    bytes("replica.fetch.max.bytes", 0, most_int, "1048576",
          "of one partition; the first batch is returned whole"),
    bytes("replica.fetch.response.max.bytes", 0, most_int, "10485760", "of one answer"),
    millis("replica.fetch.backoff.ms", 0, most_int, "1000", "wait after a follower's fetch failed"),
    known(millis("replica.high.watermark.checkpoint.interval.ms", 0, most_long, "5000",
                 "between checkpoints of the high watermark")),
    bytes("fetch.max.bytes", 1024, most_int, "57671680", "of one answer, whatever the consumer asks for"),
    number("log.flush.interval.messages", 1, most_long, never, "fsync after so many records; default: never"),
    millis("log.flush.interval.ms", 0, most_long, "",
           "fsync after so long; default: log.flush.scheduler.interval.ms"),
    millis("log.flush.scheduler.interval.ms", 0, most_long, never, "how often that is looked at"),
    bytes("log.segment.bytes", 14, most_int, "1073741824", "a segment is rolled, and synced, at this size"),
    millis("broker.session.timeout.ms", 0, most_int, "9000",
           "the controller fences a broker without heartbeat for so long"),
    millis("broker.heartbeat.interval.ms", 0, most_int, "2000", "between a broker's heartbeats"),
    millis("controller.quorum.election.timeout.ms", 0, most_int, "1000",
           "a controller without leader stands for election"),
    millis("controller.quorum.fetch.timeout.ms", 0, most_int, "2000",
           "a leader unheard of for so long is given up"),
    millis("controller.quorum.election.backoff.max.ms", 0, most_int, "1000",
           "longest wait between elections"),
    millis("group.initial.rebalance.delay.ms", 0, most_int, "3000",
           "an empty group waits so long for more members"),
    millis("group.min.session.timeout.ms", 0, most_int, "6000",
           "least session.timeout.ms a member may ask for"),
    millis("group.max.session.timeout.ms", 0, most_int, "1800000", "largest"),
    millis("group.consumer.session.timeout.ms", 1, most_int, "45000",
           "consumer protocol: a member without heartbeat for so long is removed"),
    millis("group.consumer.heartbeat.interval.ms", 1, most_int, "5000",
           "consumer protocol: between heartbeats"),
    words("group.consumer.assignors", "uniform|range", "uniform,range",
          "consumer protocol: the first is used where members name none"),
    millis("offsets.commit.timeout.ms", 1, most_int, "5000", "longest wait for the replicas of a commit"),
    number("offsets.topic.replication.factor", 1, 32'767, "3", "of __consumer_offsets"),
    number("offsets.topic.num.partitions", 1, most_int, "50", "of __consumer_offsets"),
    number("offsets.retention.minutes", 1, most_int, "10080",
           "offsets of a group without members for so long are forgotten"),
    number("transaction.state.log.replication.factor", 1, 32'767, "3", "of __transaction_state"),
    number("transaction.state.log.min.isr", 1, most_int, "2", "of __transaction_state"),
    number("transaction.state.log.num.partitions", 1, most_int, "50", "of __transaction_state"),
    millis("transaction.max.timeout.ms", 1, most_int, "900000",
           "largest transaction.timeout.ms a producer may ask for"),
    millis("transaction.abort.timed.out.transaction.cleanup.interval.ms", 1, most_int, "10000",
           "between looks for transactions to abort"),
    flag("transaction.partition.verification.enable", "true",
         "a partition's leader asks whether a transaction is open (KIP-890, "
         "part 1)"),
    millis("add.partitions.to.txn.retry.backoff.ms", 1, most_int, "20",
           "between a leader's attempts to add a partition while the last "
           "transaction ends; from 4.0"),
    millis("add.partitions.to.txn.retry.backoff.max.ms", 0, most_int, "100", "and for how long it goes on"),
    number("quota.window.num", 1, 3600, "11",
           "a client's rate is measured over so many windows, the last one open"),
    number("quota.window.size.seconds", 1, 3600, "1", "of each such window"),
    words("mqlab.known.bugs", "redpanda-3039|redpanda-3036|redpanda-9571|redpanda-6018", "",
          "the lab's own: published faults of other brokers that speak this protocol; simulated only"),
    known(millis("transactional.id.expiration.ms", 1, most_int, "604800000",
                 "an unused transactional.id is forgotten")),
    known(millis("producer.id.expiration.ms", 1, most_int, "86400000",
                 "an idle producer's sequence numbers are forgotten")),
    known(number("default.replication.factor", 1, 32'767, "1",
                 "of topics made without one; the lab always names it")),
    known(number("num.partitions", 1, most_int, "1",
                 "of topics made without a number; the lab always names it")),
    known(number("num.replica.fetchers", 1, most_int, "1", "")),
    known(number("num.io.threads", 1, most_int, "8", "")),
    known(number("num.network.threads", 1, most_int, "3", "")),
    known(millis("log.flush.offset.checkpoint.interval.ms", 0, most_int, "60000",
                 "between recovery point checkpoints")),
    millis("log.retention.ms", -1, most_long, "",
           "segments whose newest record is older are deleted; default: log.retention.minutes"),
    number("log.retention.minutes", -1, most_int, "", "default: log.retention.hours"),
    number("log.retention.hours", -1, most_int, "168", "segments whose newest record is older are deleted"),
    bytes("log.retention.bytes", -1, most_long, "-1", "a larger partition loses its oldest segments"),
    millis("log.retention.check.interval.ms", 1, most_long, "300000", "how often that is looked at"),
    millis("log.roll.ms", 1, most_long, "", "a segment is rolled after this long; default: log.roll.hours"),
    number("log.roll.hours", 1, most_int, "168", "a segment is rolled after this long"),
    millis("offsets.retention.check.interval.ms", 1, most_long, "600000",
           "how often offsets of groups without members are looked at"),
    known(bytes("socket.request.max.bytes", 1, most_int, "104857600", "largest request")),
    known(flag("auto.create.topics.enable", "true", "the lab makes every topic, and turns this off")),
    known(flag("auto.leader.rebalance.enable", "true", "preferred leaders get their partitions back")),
    known(number("leader.imbalance.check.interval.seconds", 1, most_long, "300", "")),
    words("log.cleanup.policy", "delete|compact", "delete", "of topics that name none"),
    flag("log.cleaner.enable", "true", "false: nothing is compacted"),
    millis("log.cleaner.backoff.ms", 0, most_long, "15000",
           "how often the cleaner looks for logs to compact, and for old segments of compacted ones"),
    millis("log.cleaner.delete.retention.ms", 0, most_long, "86400000",
           "a tombstone is kept so long after it was first cleaned"),
    millis("log.cleaner.min.compaction.lag.ms", 0, most_long, "0",
           "segments with a younger record are not compacted"),
    millis("log.cleaner.max.compaction.lag.ms", 1, most_long, never,
           "segments whose first record is older are compacted however clean the log is"),
    real("log.cleaner.min.cleanable.ratio", "0.5", "a log is compacted when more of its bytes are not yet"),
    known(bytes("log.cleaner.dedupe.buffer.size", 0, most_long, "134217728", "")),
});

constexpr auto topic = std::to_array<Setting>({
    number("min.insync.replicas", 1, most_int, "",
           "acks=all is refused with fewer in-sync replicas; default: the "
           "broker's"),
    bytes("max.message.bytes", 0, most_int, "", "largest batch; default: the broker's message.max.bytes"),
    flag("unclean.leader.election.enable", "", "default: the broker's"),
    number("flush.messages", 1, most_long, "",
           "fsync after so many records; default: log.flush.interval.messages"),
    millis("flush.ms", 0, most_long, "", "fsync after so long; default: log.flush.interval.ms"),
    bytes("segment.bytes", 14, most_int, "",
          "a segment is rolled, and synced, at this size; default: "
          "log.segment.bytes"),
    millis("segment.ms", 1, most_long, "604800000",
           "a segment is rolled after this long; unless set: the broker's log.roll.ms"),
    millis("retention.ms", -1, most_long, "604800000",
           "segments whose newest record is older are deleted; −1: never; unless set: the broker's"),
    bytes("retention.bytes", -1, most_long, "-1",
          "a larger partition loses its oldest segments; −1: no limit; unless set: the broker's"),
    words("cleanup.policy", "delete|compact", "delete",
          "compact: the latest record of each key stays; unless set: the broker's log.cleanup.policy"),
    millis("delete.retention.ms", 0, most_long, "86400000",
           "a tombstone is kept so long after it was first cleaned (KIP-534); unless set: the broker's"),
    millis("min.compaction.lag.ms", 0, most_long, "0",
           "segments with a younger record are not compacted; unless set: the broker's"),
    millis("max.compaction.lag.ms", 1, most_long, never,
           "segments whose first record is older are compacted however clean the log is (KIP-354); also "
           "rolls them; unless set: the broker's"),
    real("min.cleanable.dirty.ratio", "0.5",
         "a log is compacted when more of its bytes are not yet; unless set: the broker's"),
    known(word("compression.type", "uncompressed|zstd|lz4|snappy|gzip|producer", "producer", "")),
    known(word("message.timestamp.type", "CreateTime|LogAppendTime", "CreateTime", "")),
    known(millis("message.timestamp.after.max.ms", 0, most_long, "9223372036854775807|4.0:3600000", "")),
    known(millis("message.timestamp.before.max.ms", 0, most_long, never, "")),
});

constexpr std::string_view source = "kafka 4.1.0: KafkaConfig, LogConfig";

}  // namespace

const SettingTable& kafka_broker_settings() {
  static const SettingTable table{"Kafka's broker", source, broker, {}, known_kafka_broker, lab_sets_broker};
  return table;
}

const SettingTable& kafka_topic_settings() {
  static const SettingTable table{"a Kafka topic", source, topic, {}, known_kafka_topic, ""};
  return table;
}

}  // namespace mqlab
