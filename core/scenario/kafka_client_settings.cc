#include <algorithm>

#include "core/scenario/kafka_settings.h"
#include "core/scenario/text.h"

namespace mqlab {
namespace {

constexpr std::uint32_t most_idempotent =
    5;  // requests in flight; the broker remembers five batches a producer

Version version_of(const BrokerSpec& broker) { return parse_version(broker.version).value_or(Version{}); }

Duration sum(Duration a, Duration b) { return (Instant{a.ns} + b) - Instant{}; }

KafkaConnection connection_of(const Values& v, bool java) {
  KafkaConnection c;
  c.request_timeout = v.duration(java ? "request.timeout.ms" : "socket.timeout.ms");
  c.retry_backoff = v.duration("retry.backoff.ms");
  c.retry_backoff_max = v.duration("retry.backoff.max.ms");
  c.reconnect_backoff = v.duration("reconnect.backoff.ms");
  c.reconnect_backoff_max = v.duration("reconnect.backoff.max.ms");
  c.metadata_max_age = v.duration(java ? "metadata.max.age.ms" : "topic.metadata.refresh.interval.ms");
  return c;
}

std::int32_t acks_of(const Values& v) { return v.text("acks") == "all" ? -1 : v.as<std::int32_t>("acks"); }

/// [kafka: ProducerConfig.postProcessAndValidateIdempotenceConfigs, tried
/// on 4.1.0]
void java_idempotence(const Values& v, KafkaProducer& p, Version version) {
  const bool asked = v.is_set("enable.idempotence") && v.truth("enable.idempotence");
  p.idempotence = v.truth("enable.idempotence");
  if (!p.idempotence) {
    if (!p.transactional_id.empty()) v.fail("transactional.id", "needs enable.idempotence = true");
    return;
  }
  if (p.retries == 0 && asked) v.fail("retries", "must not be 0 with enable.idempotence");
  if (p.acks != -1 && asked) v.fail("acks", "must be \"all\" with enable.idempotence");
  if (p.in_flight > most_idempotent &&
      (asked || version >= Version{4, 0})) {  // before 4.0 a warning, and off
    v.fail("max.in.flight.requests.per.connection",
           "must be at most 5 with idempotence, which is on unless "
           "enable.idempotence = false");
  }
  p.idempotence = p.retries != 0 && p.acks == -1 && p.in_flight <= most_idempotent;
  if (!p.idempotence && !p.transactional_id.empty()) {
    v.fail(p.acks != -1     ? "acks"
           : p.retries == 0 ? "retries"
                            : "max.in.flight.requests.per.connection",
           "turns idempotence off, which transactional.id needs");
  }
}

/// [kafka: KafkaProducer.configureDeliveryTimeout]
void java_delivery(const Values& v, KafkaProducer& p) {
  const Duration least = sum(p.linger, p.connection.request_timeout);
  if (p.delivery_timeout >= least) return;
  if (v.is_set("delivery.timeout.ms")) {
    v.fail("delivery.timeout.ms",
           "must be at least linger.ms + request.timeout.ms, " + std::to_string(least.ns / 1'000'000));
  }
  p.delivery_timeout = least;
}

void read_java(const Values& v, KafkaProducer& p, Version version) {
  p.request_bytes = v.as<std::uint32_t>("max.request.size");
  p.buffer_bytes = v.as<std::uint64_t>("buffer.memory");
  p.max_block = v.duration("max.block.ms");
  p.in_flight = v.as<std::uint32_t>("max.in.flight.requests.per.connection");
  p.batch_bytes = std::max(p.batch_bytes, 1u);  // [kafka: KafkaProducer: Math.max(1, batch.size)]
  if (v.truth("partitioner.ignore.keys")) p.partitioner = Partitioner::any_key;
  java_idempotence(v, p, version);
  java_delivery(v, p);
}

/// [librdkafka: rdkafka_conf.c rd_kafka_conf_finalize,
/// rd_kafka_topic_conf_finalize]
void librdkafka_transactions(const Values& v, KafkaProducer& p) {
  if (p.transactional_id.empty()) return;
  if (!p.idempotence && v.is_set("enable.idempotence"))
    v.fail("enable.idempotence", "must be true with a transactional.id");
  p.idempotence = true;
  if (!v.is_set("socket.timeout.ms")) {
    p.connection.request_timeout =
        std::max(p.transaction_timeout - Duration::millis(100), Duration::millis(900));
  } else if (p.connection.request_timeout > p.transaction_timeout + Duration::millis(100)) {
    v.fail("socket.timeout.ms", "must be at most transaction.timeout.ms + 100");
  }
  if (!v.is_set("delivery.timeout.ms")) {
    p.delivery_timeout = p.transaction_timeout;
  } else if (p.delivery_timeout > p.transaction_timeout) {
    v.fail("delivery.timeout.ms", "must be at most transaction.timeout.ms");
  }
}

void librdkafka_idempotence(const Values& v, KafkaProducer& p) {
  if (!p.idempotence) {
    if (p.gapless) v.fail("enable.gapless.guarantee", "needs enable.idempotence = true");
    return;
  }
  if (v.is_set("max.in.flight") && p.in_flight > most_idempotent)
    v.fail("max.in.flight", "must be at most 5 with enable.idempotence");
  if (p.retries == 0) v.fail("retries", "must be at least 1 with enable.idempotence");
  if (p.acks != -1) v.fail("acks", "must be \"all\" with enable.idempotence");
  p.in_flight = std::min(p.in_flight, most_idempotent);
}

void librdkafka_linger(const Values& v, KafkaProducer& p) {
  if (p.delivery_timeout == Duration::forever() || p.delivery_timeout > p.linger) return;
  if (v.is_set("linger.ms")) {
    v.fail(v.is_set("delivery.timeout.ms") ? "delivery.timeout.ms" : "linger.ms",
           "delivery.timeout.ms must be more than linger.ms");
  }
  p.linger = p.delivery_timeout - Duration::micros(100);
}

void read_librdkafka(const Values& v, KafkaProducer& p) {
  p.request_bytes = v.as<std::uint32_t>("message.max.bytes");
  p.batch_messages = v.as<std::uint32_t>("batch.num.messages");
  p.buffer_bytes = v.as<std::uint64_t>("queue.buffering.max.kbytes") << 10;
  const auto messages = v.as<std::uint32_t>("queue.buffering.max.messages");
  p.buffer_messages = messages == 0 ? unlimited : messages;
  p.in_flight = v.as<std::uint32_t>("max.in.flight");
  p.idempotence = v.truth("enable.idempotence");
  p.gapless = v.truth("enable.gapless.guarantee");
  p.sticky_linger =
      v.is_set("sticky.partitioning.linger.ms") ? v.duration("sticky.partitioning.linger.ms") : p.linger * 2;
  if (p.delivery_timeout.ns == 0) p.delivery_timeout = Duration::forever();
  p.partitioner = partitioner_named(v.text("partitioner"));
  if (v.text("queuing.strategy") != "fifo") v.fail("queuing.strategy", "only fifo is modelled");
  librdkafka_transactions(v, p);
  librdkafka_idempotence(v, p);
  librdkafka_linger(v, p);
}

std::vector<Assignor> assignors_of(const Values& v) {
  std::vector<Assignor> list;
  for (const std::string& name : v.list("partition.assignment.strategy")) {
    const bool cooperative = name.find("ooperative") != std::string::npos;
    if (cooperative) {
      list.push_back(Assignor::cooperative_sticky);
    } else if (name.find("ticky") != std::string::npos) {
      list.push_back(Assignor::sticky);
    } else {
      list.push_back(name.find("obin") != std::string::npos ? Assignor::roundrobin : Assignor::range);
    }
  }
  if (list.empty()) v.fail("partition.assignment.strategy", "names no assignor");
  return list;
}

OffsetReset reset_of(const Values& v) {
  const std::string text = v.text("auto.offset.reset");
  if (text == "earliest" || text == "smallest" || text == "beginning") return OffsetReset::earliest;
  if (text == "latest" || text == "largest" || text == "end") return OffsetReset::latest;
  if (text == "none" || text == "error") return OffsetReset::none;
  v.fail("auto.offset.reset", quoted(text) +
                                  (text.starts_with("by_duration") ? " is not modelled" : " is unknown") +
                                  "; valid: earliest, latest, none");
}

void read_java(const Values& v, KafkaConsumer& c) {
  c.fetch_wait = v.duration("fetch.max.wait.ms");
  if (c.heartbeat_interval >= c.session_timeout)
    v.fail("heartbeat.interval.ms", "must be less than session.timeout.ms");
}

void read_librdkafka(const Values& v, KafkaConsumer& c) {
  c.fetch_wait = v.duration("fetch.wait.max.ms");
  c.auto_store = v.truth("enable.auto.offset.store");
  c.fetch_error_backoff = v.duration("fetch.error.backoff.ms");
  c.fetch_queue_backoff = v.duration("fetch.queue.backoff.ms");
  c.queued_messages = v.as<std::uint32_t>("queued.min.messages");
  c.queued_bytes = v.as<std::uint64_t>("queued.max.messages.kbytes") << 10;
  const auto message = v.as<std::uint32_t>("message.max.bytes");
  if (!v.is_set("fetch.max.bytes")) {
    const auto queue = static_cast<std::uint32_t>(std::min<std::uint64_t>(c.queued_bytes, c.fetch_max_bytes));
    c.fetch_max_bytes = std::max(queue, message);
  } else if (c.fetch_max_bytes < message) {
    v.fail("fetch.max.bytes", "must be at least message.max.bytes, " + std::to_string(message));
  }
  if (v.is_set("receive.message.max.bytes") &&
      v.integer("receive.message.max.bytes") < std::int64_t{c.fetch_max_bytes} + 512) {
    v.fail("receive.message.max.bytes", "must be at least fetch.max.bytes + 512");
  }
  if (c.max_poll_interval < c.session_timeout)
    v.fail("max.poll.interval.ms", "must be at least session.timeout.ms");
  const bool cooperative = c.assignors.front() == Assignor::cooperative_sticky;
  for (const Assignor assignor : c.assignors) {
    if ((assignor == Assignor::cooperative_sticky) == cooperative) continue;
    v.fail("partition.assignment.strategy", "cooperative and eager assignors cannot be mixed");
  }
}

/// The coordinator refuses a member with INVALID_SESSION_TIMEOUT. [kafka:
/// GroupMetadataManager.classicGroupJoin]
void check_session(const Values& v, const KafkaConsumer& c, const Scenario& scenario,
                   const BrokerSpec& spec) {
  const KafkaBroker broker = resolve_broker(scenario, spec);
  if (c.session_timeout >= broker.group_session_min && c.session_timeout <= broker.group_session_max) return;
  const auto ms = [](Duration d) { return std::to_string(d.ns / 1'000'000); };
  v.fail("session.timeout.ms", ms(c.session_timeout) +
                                   " is refused by the broker, whose group.min.session.timeout.ms is " +
                                   ms(broker.group_session_min) + " and group.max.session.timeout.ms " +
                                   ms(broker.group_session_max));
}

/// java ConsumerConfig.checkUnsupportedConfigsPostProcess; librdkafka
/// rd_kafka_conf_finalize.
void check_consumer_protocol(const Values& v, Version broker) {
  if (broker < Version{4, 0}) v.fail("group.protocol", "\"consumer\" needs a broker from Kafka 4.0 on");
  for (const std::string_view key :
       {"session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"}) {
    if (v.is_set(key)) v.fail(key, "cannot be set with group.protocol = consumer: the broker's is used");
  }
}

}  // namespace

KafkaProducer resolve_producer(const Scenario& scenario, const Properties& properties, Flavour flavour,
                               const BrokerSpec& broker, const std::string& path) {
  const bool java = flavour == Flavour::java;
  const Values v(kafka_producer_settings(flavour), properties, version_of(broker), {scenario.file, path});
  KafkaProducer p;
  p.flavour = flavour;
  p.connection = connection_of(v, java);
  p.acks = acks_of(v);
  p.linger = v.duration("linger.ms");
  p.batch_bytes = v.as<std::uint32_t>("batch.size");
  p.retries = v.as<std::uint32_t>("retries");
  p.delivery_timeout = v.duration("delivery.timeout.ms");
  p.broker_timeout = v.duration("request.timeout.ms");
  p.transactional_id = v.text("transactional.id");
  p.transaction_timeout = v.duration("transaction.timeout.ms");
  java ? read_java(v, p, version_of(broker)) : read_librdkafka(v, p);
  p.second_protocol = java && !p.transactional_id.empty() && version_of(broker) >= Version{4, 0};
  // The coordinator answers INVALID_TRANSACTION_TIMEOUT. [kafka:
  // TransactionCoordinator.handleInitProducerId]
  if (!p.transactional_id.empty() &&
      p.transaction_timeout > resolve_broker(scenario, broker).transaction_max_timeout) {
    v.fail("transaction.timeout.ms",
           "is more than the broker's transaction.max.timeout.ms: "
           "init_transactions is refused");
  }
  return p;
}

KafkaConsumer resolve_consumer(const Scenario& scenario, const Properties& properties, Flavour flavour,
                               const BrokerSpec& broker, const std::string& path) {
  const bool java = flavour == Flavour::java;
  const Values v(kafka_consumer_settings(flavour), properties, version_of(broker), {scenario.file, path});
  KafkaConsumer c;
  c.consumer_protocol = v.text("group.protocol") == "consumer";
  if (c.consumer_protocol) check_consumer_protocol(v, version_of(broker));
  c.flavour = flavour;
  c.connection = connection_of(v, java);
  c.group_id = v.text("group.id");
  c.group_instance_id = v.text("group.instance.id");
  c.assignors = assignors_of(v);
  c.session_timeout = v.duration("session.timeout.ms");
  c.heartbeat_interval = v.duration("heartbeat.interval.ms");
  c.max_poll_interval = v.duration("max.poll.interval.ms");
  c.max_poll_records = v.as<std::uint32_t>("max.poll.records");
  c.auto_commit = v.truth("enable.auto.commit");
  c.auto_commit_interval = v.duration("auto.commit.interval.ms");
  c.reset = reset_of(v);
  c.read_committed = v.text("isolation.level") == "read_committed";
  c.fetch_min_bytes = v.as<std::uint32_t>("fetch.min.bytes");
  c.fetch_max_bytes = v.as<std::uint32_t>("fetch.max.bytes");
  c.partition_bytes = v.as<std::uint32_t>("max.partition.fetch.bytes");
  java ? read_java(v, c) : read_librdkafka(v, c);
  if (!c.consumer_protocol) check_session(v, c, scenario, broker);
  return c;
}

const SettingTable& kafka_producer_settings(Flavour flavour) {
  return flavour == Flavour::java ? java_producer_settings() : librdkafka_producer_settings();
}

const SettingTable& kafka_consumer_settings(Flavour flavour) {
  return flavour == Flavour::java ? java_consumer_settings() : librdkafka_consumer_settings();
}

std::string for_instance(std::string text, std::uint32_t instance) {
  constexpr std::string_view mark = "{instance}";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    text.replace(at, mark.size(), std::to_string(instance));
  }
  return text;
}

}  // namespace mqlab
