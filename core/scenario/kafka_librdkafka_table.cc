// librdkafka. Names, ranges and defaults: rd_kafka_conf_properties_show() of 2.16.0, and of 2.0.2 where it
// had more; the same is published as CONFIGURATION.md in confluentinc/librdkafka.
#include <array>

#include "core/scenario/kafka_known.h"
#include "core/scenario/kafka_settings.h"
#include "core/scenario/setting_rows.h"

namespace mqlab {
namespace {

using namespace rows;  // NOLINT(google-build-using-namespace): the rows read as a table

constexpr Setting in_flight = number("max.in.flight", 1, 1'000'000, "1000000",
                                     "unanswered requests to a broker; at most 5 with idempotence");
constexpr Setting refresh = millis("topic.metadata.refresh.interval.ms", -1, 3'600'000, "300000",
                                   "metadata is asked for again after this long");

constexpr auto shared = std::to_array<Setting>({
    in_flight,
    alias("max.in.flight.requests.per.connection", in_flight),
    millis("socket.timeout.ms", 10, 300'000, "60000",
           "how long a request may stay unanswered before the connection is given up"),
    millis("retry.backoff.ms", 1, 300'000, "100", "wait before the first retry; doubles, ± 20 %"),
    millis("retry.backoff.max.ms", 1, 300'000, "1000", "longest wait between retries"),
    millis("reconnect.backoff.ms", 0, 3'600'000, "100", "wait before connecting again"),
    millis("reconnect.backoff.max.ms", 0, 3'600'000, "10000", "longest wait before connecting again"),
    refresh,
    known(millis("metadata.max.age.ms", 1, 86'400'000, "900000", "metadata older than this is not used")),
    millis("topic.metadata.refresh.fast.interval.ms", 1, 60'000, "100",
           "between questions for a lost leader"),
    bytes("message.max.bytes", 1000, 1'000'000'000, "1000000",
          "larger messages are refused; requests are not larger"),
    known(bytes("receive.message.max.bytes", 1000, most_int, "100000000", "largest answer that is taken")),
    known(bytes("message.copy.max.bytes", 0, 1'000'000'000, "65535", "")),
    known(millis("connections.max.idle.ms", 0, most_int, "0", "idle connections are closed; 0: never")),
    known(millis("socket.connection.setup.timeout.ms", 1000, most_int, "30000",
                 "longest wait for a connection")),
    known(number("socket.max.fails", 0, 1'000'000, "1",
                 "failed requests after which the connection is closed")),
    known(flag("socket.nagle.disable", "true", "TCP_NODELAY; false before 2.13")),
    known(flag("socket.keepalive.enable", "false", "")),
    known(millis("topic.metadata.propagation.max.ms", 0, 3'600'000, "30000",
                 "how long a new topic may be unknown")),
    known(flag("allow.auto.create.topics", "false", "consumers only; producers: true")),
    known(word("client.dns.lookup", "use_all_dns_ips|resolve_canonical_bootstrap_servers_only",
               "use_all_dns_ips", "")),
    known(word("metadata.recovery.strategy", "none|rebootstrap", "rebootstrap",
               "when no known broker is left")),
    known(text("client.rack", "", "read from replicas in the same rack")),
});

constexpr Setting acks = word("acks", "all|-1|0|1", "all",
                              "all: in every in-sync replica; 1: in the leader's log; 0: not waited for");
constexpr Setting linger = {
    .key = "linger.ms",
    .type = SettingType::fraction,
    .low = 0,
    .high = 900'000,
    .defaults = "5",
    .effect = "a batch is sent when its first message has waited so long, or it is full"};
constexpr Setting retries =
    number("retries", 0, most_int, "2147483647", "attempts of a message beside the first");
constexpr Setting delivery = millis("delivery.timeout.ms", 0, most_int, "300000",
                                    "a message not acknowledged by then fails, its fate unknown; 0: never; "
                                    "transactional: transaction.timeout.ms unless set");
constexpr Setting compression =
    known(word("compression.type", "none|gzip|snappy|lz4|zstd|inherit", "none", "of batches"));

constexpr auto producer = std::to_array<Setting>({
    acks,
    alias("request.required.acks", acks),
    linger,
    alias("queue.buffering.max.ms", linger),
    bytes("batch.size", 1, most_int, "1000000", "largest batch of one partition"),
    number("batch.num.messages", 1, 1'000'000, "10000", "most messages of a batch"),
    number("queue.buffering.max.messages", 0, most_int, "100000",
           "messages waiting; full: produce() fails; 0: no limit"),
    number("queue.buffering.max.kbytes", 1, most_int, "1048576", "KiB waiting; full: produce() fails"),
    flag("enable.idempotence", "false",
         "the broker drops repeats of a batch; on by itself with a transactional.id"),
    flag("enable.gapless.guarantee", "false", "with idempotence: a failed message stops the producer"),
    retries,
    alias("message.send.max.retries", retries),
    delivery,
    alias("message.timeout.ms", delivery),
    millis("request.timeout.ms", 1, 900'000, "30000", "how long the broker may wait for the replicas"),
    text("transactional.id", "",
         "writes are in transactions; a second producer with this id fences the first"),
    millis("transaction.timeout.ms", 1000, most_int, "60000",
           "the coordinator aborts a transaction that takes longer"),
    millis("sticky.partitioning.linger.ms", 0, 900'000, "10",
           "messages without a key stay with a partition; 2 × linger.ms unless set"),
    word("partitioner", "random|consistent|consistent_random|murmur2|murmur2_random|fnv1a|fnv1a_random",
         "consistent_random",
         "which partition: consistent by CRC-32 of the key, murmur2 as the Java client, fnv1a as Sarama; "
         "…_random spreads records without a key, the others put them all in one; random heeds no key"),
    word("queuing.strategy", "fifo|lifo", "fifo", "only fifo is modelled"),
    compression,
    alias("compression.codec", compression),
    known(number("compression.level", -1, 12, "-1", "")),
    known(number("queue.buffering.backpressure.threshold", 1, 1'000'000, "1",
                 "unsent requests that hold back new batches")),
    known(flag("delivery.report.only.error", "false", "")),
});

constexpr Setting partition_bytes = bytes("max.partition.fetch.bytes", 1, 1'000'000'000, "1048576",
                                          "of one partition; the first batch is returned whole");

constexpr auto consumer = std::to_array<Setting>({
    text("group.id", "", "members of a group share the partitions; none: the stage's name"),
    text("group.instance.id", "",
         "a static member keeps its partitions over a restart within the session timeout"),
    word("group.protocol", "classic|consumer", "classic",
         "consumer: the coordinator assigns, nobody waits for all (KIP-848)"),
    words("partition.assignment.strategy", "range|roundrobin|cooperative-sticky", "range,roundrobin",
          "the first that all members have"),
    millis("session.timeout.ms", 1, 3'600'000, "45000", "a member without heartbeat for so long is removed"),
    millis("heartbeat.interval.ms", 1, 3'600'000, "3000", "between heartbeats"),
    millis("max.poll.interval.ms", 1, 86'400'000, "300000",
           "a member that does not poll for so long leaves the group"),
    number("max.poll.records", 1, most_int, "1",
           "messages one call hands out: the application's own argument (librdkafka knows the name from "
           "2.13, share groups)"),
    flag("enable.auto.commit", "true", "stored offsets are committed in the background"),
    millis("auto.commit.interval.ms", 0, 86'400'000, "5000", "between automatic commits"),
    flag("enable.auto.offset.store", "true",
         "a message's offset is stored when it is handed out, before it is processed"),
    word("auto.offset.reset", "smallest|earliest|beginning|largest|latest|end|error", "largest",
         "where to begin without a committed offset"),
    word("isolation.level", "read_uncommitted|read_committed", "read_committed",
         "read_committed: no records of aborted or open transactions"),
    bytes("fetch.min.bytes", 1, 100'000'000, "1", "the broker waits for so much"),
    millis("fetch.wait.max.ms", 0, 300'000, "500", "but not longer than this"),
    bytes("fetch.max.bytes", 0, 2'147'483'135, "52428800",
          "of one answer; the first batch is returned whole"),
    partition_bytes,
    alias("fetch.message.max.bytes", partition_bytes),
    number("queued.min.messages", 1, 10'000'000, "100000",
           "messages fetched ahead of the application, per partition"),
    number("queued.max.messages.kbytes", 1, 2'097'151, "65536", "KiB fetched ahead of the application"),
    millis("fetch.error.backoff.ms", 0, 300'000, "500", "wait after a fetch that failed"),
    millis("fetch.queue.backoff.ms", 0, 300'000, "1000", "wait while enough is fetched ahead"),
    known(flag("enable.partition.eof", "false", "an event at the end of a partition")),
    known(flag("check.crcs", "false", "")),
    known(millis("coordinator.query.interval.ms", 1, 3'600'000, "600000",
                 "between questions for the coordinator")),
    known(text("group.remote.assignor", "", "of the consumer protocol")),
    known(number("consume.callback.max.messages", 0, 1'000'000, "0", "")),
});

constexpr std::string_view source = "librdkafka 2.16.0: CONFIGURATION.md";

}  // namespace

const SettingTable& librdkafka_producer_settings() {
  static const SettingTable table{"librdkafka's producer",   source,         producer, shared,
                                  known_librdkafka_producer, lab_sets_client};
  return table;
}

const SettingTable& librdkafka_consumer_settings() {
  static const SettingTable table{"librdkafka's consumer",   source,         consumer, shared,
                                  known_librdkafka_consumer, lab_sets_client};
  return table;
}

}  // namespace mqlab
