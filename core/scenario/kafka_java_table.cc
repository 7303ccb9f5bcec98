// Kafka's own client. Names, types, ranges and defaults: ProducerConfig.configDef() and
// ConsumerConfig.configDef() of kafka-clients 4.1.0, printed by that library; older defaults: KIP-1030 and
// the documentation of 3.9.
#include <array>

#include "core/scenario/kafka_known.h"
#include "core/scenario/kafka_settings.h"
#include "core/scenario/setting_rows.h"

namespace mqlab {
namespace {

using namespace rows;  // NOLINT(google-build-using-namespace): the rows read as a table

constexpr auto shared = std::to_array<Setting>({
    millis("request.timeout.ms", 0, most_int, "30000",
           "how long a request may stay unanswered before the connection is given up"),
    millis("retry.backoff.ms", 0, most_long, "100", "wait before the first retry; doubles, ± 20 %"),
    millis("retry.backoff.max.ms", 0, most_long, "1000", "longest wait between retries"),
    millis("reconnect.backoff.ms", 0, most_long, "50", "wait before connecting again"),
    millis("reconnect.backoff.max.ms", 0, most_long, "1000", "longest wait before connecting again"),
    millis("metadata.max.age.ms", 0, most_long, "300000", "metadata is asked for again after this long"),
    known(millis("connections.max.idle.ms", -1, most_long, "540000", "idle connections are closed")),
    known(word("client.dns.lookup", "use_all_dns_ips|resolve_canonical_bootstrap_servers_only",
               "use_all_dns_ips", "")),
    known(
        millis("socket.connection.setup.timeout.ms", 0, most_long, "10000", "longest wait for a connection")),
    known(millis("socket.connection.setup.timeout.max.ms", 0, most_long, "30000",
                 "longest wait for a connection after failures")),
    known(bytes("send.buffer.bytes", -1, most_int, "131072", "TCP buffer")),
    known(bytes("receive.buffer.bytes", -1, most_int, "65536", "TCP buffer (producer: 32768)")),
    known(word("metadata.recovery.strategy", "rebootstrap|none|REBOOTSTRAP|NONE", "none|4.0:rebootstrap",
               "when no known broker is left")),
});

constexpr auto producer = std::to_array<Setting>({
    word("acks", "all|-1|0|1", "all",
         "all: in every in-sync replica; 1: in the leader's log; 0: not waited for"),
    bytes("batch.size", 0, most_int, "16384", "a batch of one partition is sent when it is full"),
    millis("linger.ms", 0, most_long, "0|4.0:5", "or when its first record has waited so long"),
    bytes("max.request.size", 0, most_int, "1048576", "larger records are refused; requests are not larger"),
    bytes("buffer.memory", 0, most_long, "33554432", "records waiting to be sent; full: send() blocks"),
    millis("max.block.ms", 0, most_long, "60000", "longest time send() blocks"),
    number("max.in.flight.requests.per.connection", 1, most_int, "5",
           "unanswered requests to a broker; above 1 without idempotence a retry can reorder"),
    flag("enable.idempotence", "true",
         "the broker drops repeats of a batch; off by itself with acks ≠ all or retries = 0"),
    number("retries", 0, most_int, "2147483647", "attempts of a batch beside the first"),
    millis("delivery.timeout.ms", 0, most_int, "120000",
           "a record not acknowledged by then fails; its fate is unknown"),
    text("transactional.id", "",
         "writes are in transactions; a second producer with this id fences the first"),
    millis("transaction.timeout.ms", 0, most_int, "60000",
           "the coordinator aborts a transaction that takes longer"),
    known(word("compression.type", "none|gzip|snappy|lz4|zstd", "none", "of batches")),
    known(number("compression.gzip.level", -1, 9, "-1", "")),
    known(number("compression.lz4.level", 1, 17, "9", "")),
    known(number("compression.zstd.level", -131072, 22, "3", "")),
    known(millis("metadata.max.idle.ms", 5000, most_long, "300000",
                 "metadata of an unused topic is forgotten")),
    known(flag("partitioner.adaptive.partitioning.enable", "true",
               "records without a key go more to faster brokers")),
    known(millis("partitioner.availability.timeout.ms", 0, most_long, "0",
                 "slow partitions are avoided after this long")),
    flag("partitioner.ignore.keys", "false", "keys do not decide the partition (KIP-794)"),
    known(flag("transaction.two.phase.commit.enable", "false", "transactions never time out (KIP-939)")),
});

constexpr auto consumer = std::to_array<Setting>({
    text("group.id", "", "members of a group share the partitions; none: the stage's name"),
    text("group.instance.id", "",
         "a static member keeps its partitions over a restart within the session timeout"),
    word("group.protocol", "classic|consumer", "classic",
         "consumer: the coordinator assigns, nobody waits for all (KIP-848)"),
    words("partition.assignment.strategy",
          "range|roundrobin|sticky|cooperative-sticky|org.apache.kafka.clients.consumer.RangeAssignor|"
          "org.apache.kafka.clients.consumer.RoundRobinAssignor|org.apache.kafka.clients.consumer."
          "StickyAssignor|"
          "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
          "range,cooperative-sticky",
          "the first that all members have; short names stand for Kafka's classes"),
    millis("session.timeout.ms", 0, most_int, "45000", "a member without heartbeat for so long is removed"),
    millis("heartbeat.interval.ms", 0, most_int, "3000", "between heartbeats; below the session timeout"),
    millis("max.poll.interval.ms", 1, most_int, "300000",
           "a member that does not poll for so long leaves the group"),
    number("max.poll.records", 1, most_int, "500", "records one poll returns at most"),
    flag("enable.auto.commit", "true", "poll and close commit what earlier polls returned"),
    millis("auto.commit.interval.ms", 0, most_int, "5000", "between automatic commits"),
    text("auto.offset.reset", "latest",
         "earliest, latest, none, or by_duration:…: where to begin without a committed offset"),
    word("isolation.level", "read_uncommitted|read_committed", "read_uncommitted",
         "read_committed: no records of aborted or open transactions"),
    bytes("fetch.min.bytes", 0, most_int, "1", "the broker waits for so much"),
    millis("fetch.max.wait.ms", 0, most_int, "500", "but not longer than this"),
    bytes("fetch.max.bytes", 0, most_int, "52428800", "of one answer; the first batch is returned whole"),
    bytes("max.partition.fetch.bytes", 0, most_int, "1048576",
          "of one partition; the first batch is returned whole"),
    known(flag("check.crcs", "true", "")),
    known(flag("allow.auto.create.topics", "true", "")),
    known(flag("exclude.internal.topics", "true", "")),
    known(text("client.rack", "", "read from replicas in the same rack")),
    known(millis("default.api.timeout.ms", 0, most_int, "60000",
                 "of calls without a timeout of their own, such as commitSync")),
    known(text("group.remote.assignor", "", "of the consumer protocol")),
    known(word("share.acknowledgement.mode", "implicit|explicit", "implicit", "of share groups")),
});

constexpr std::string_view source = "kafka-clients 4.1.0: ProducerConfig, ConsumerConfig";

}  // namespace

const SettingTable& java_producer_settings() {
  static const SettingTable table{"the java producer", source,         producer, shared,
                                  known_java_producer, lab_sets_client};
  return table;
}

const SettingTable& java_consumer_settings() {
  static const SettingTable table{"the java consumer", source,         consumer, shared,
                                  known_java_consumer, lab_sets_client};
  return table;
}

}  // namespace mqlab
