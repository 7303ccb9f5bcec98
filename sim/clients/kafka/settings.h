// The settings of a Kafka client library that the model knows, as typed values. Defaults of Java's client are from
// ProducerConfig, ConsumerConfig and CommonClientConfigs (4.x), those of librdkafka from its CONFIGURATION.md (2.x).
#pragma once
#include <cstdint>
#include <string>

#include "core/base/time.h"
#include "core/scenario/scenario.h"

namespace mqlab::sim::kafka::client {

struct ConnectionSettings {
  Duration request_timeout = Duration::seconds(30);   ///< java: request.timeout.ms; librdkafka: socket.timeout.ms (60 s)
  Duration retry_backoff = Duration::millis(100);     ///< retry.backoff.ms
  Duration retry_backoff_max = Duration::seconds(1);  ///< retry.backoff.max.ms
  Duration reconnect_backoff = Duration::millis(50);  ///< reconnect.backoff.ms (librdkafka: 100 ms)
  Duration reconnect_backoff_max = Duration::seconds(1);  ///< reconnect.backoff.max.ms (librdkafka: 10 s)
};

struct ProducerSettings {
  ConnectionSettings connection;
  std::int8_t acks = -1;                              ///< −1 = all
  bool idempotence = true;                            ///< librdkafka: false unless set or transactional
  bool gapless = false;                               ///< librdkafka: enable.gapless.guarantee
  Duration linger = Duration::millis(5);              ///< linger.ms
  std::uint32_t batch_bytes = 16'384;                 ///< batch.size (librdkafka: 1,000,000)
  std::uint32_t batch_messages = 0xffff'ffff;         ///< librdkafka: batch.num.messages (10,000)
  std::uint32_t request_bytes = 1'048'576;            ///< java: max.request.size; librdkafka: message.max.bytes (1,000,000)
  std::uint64_t buffer_bytes = 33'554'432;            ///< java: buffer.memory; librdkafka: queue.buffering.max.kbytes (1 GiB)
  std::uint32_t buffer_messages = 0xffff'ffff;        ///< librdkafka: queue.buffering.max.messages (100,000)
  std::uint32_t in_flight = 5;                        ///< max.in.flight.requests.per.connection
  std::uint32_t retries = 2'147'483'647;              ///< retries / message.send.max.retries
  Duration delivery_timeout = Duration::seconds(120); ///< delivery.timeout.ms / message.timeout.ms (librdkafka: 300 s)
  Duration broker_timeout = Duration::seconds(30);    ///< how long the broker may wait for replicas: request.timeout.ms
  Duration sticky_linger = Duration::millis(10);      ///< librdkafka: sticky.partitioning.linger.ms
  std::string transactional_id;                       ///< empty = none
  Duration transaction_timeout = Duration::seconds(60);  ///< transaction.timeout.ms
  Duration max_block = Duration::seconds(60);         ///< java: max.block.ms
};

enum class OffsetReset : std::uint8_t { earliest, latest, none };

struct ConsumerSettings {
  ConnectionSettings connection;
  std::string group;                                  ///< group.id
  std::string instance;                               ///< group.instance.id; empty = dynamic member
  bool cooperative = false;                           ///< partition.assignment.strategy has cooperative-sticky
  Duration session_timeout = Duration::seconds(45);
  Duration heartbeat_interval = Duration::seconds(3);
  Duration max_poll_interval = Duration::seconds(300);
  std::uint32_t max_poll_records = 500;               ///< java only
  bool auto_commit = true;                            ///< enable.auto.commit
  bool auto_store = true;                             ///< librdkafka: enable.auto.offset.store
  Duration auto_commit_interval = Duration::seconds(5);
  OffsetReset reset = OffsetReset::latest;            ///< auto.offset.reset
  bool read_committed = false;                        ///< isolation.level (librdkafka: read_committed)
  std::uint32_t fetch_min_bytes = 1;
  std::uint32_t fetch_max_bytes = 52'428'800;
  std::uint32_t partition_bytes = 1'048'576;          ///< max.partition.fetch.bytes
  Duration fetch_wait = Duration::millis(500);        ///< fetch.max.wait.ms / fetch.wait.max.ms
  Duration fetch_error_backoff = Duration::millis(500);  ///< librdkafka: fetch.error.backoff.ms
  std::uint32_t queued_messages = 100'000;            ///< librdkafka: queued.min.messages
  std::uint64_t queued_bytes = 65'536ull << 10;       ///< librdkafka: queued.max.messages.kbytes
};

/// Read from the scenario's own property names; what is not named there keeps the flavour's default.
ProducerSettings producer_settings(Flavour flavour, const Properties& properties);
ConsumerSettings consumer_settings(Flavour flavour, const Properties& properties);

}  // namespace mqlab::sim::kafka::client
