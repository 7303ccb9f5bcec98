#include "core/scenario/kafka_settings.h"

#include <gtest/gtest.h>
#include <set>

#include "core/scenario/error.h"
#include "core/scenario/nats_settings.h"
#include "core/scenario/text.h"

namespace mqlab {
namespace {

struct Client {
  Scenario scenario;
  BrokerSpec broker;
  explicit Client(const std::string& version = "4.1", Properties of_broker = {}) {
    scenario.file = "s.toml";
    broker = {"kafka", BrokerKind::kafka, version, 3, std::move(of_broker), {}, 2};
    scenario.brokers = {broker};
  }
  KafkaProducer producer(Flavour flavour, const Properties& p) const {
    return resolve_producer(scenario, p, flavour, broker);
  }
  KafkaConsumer consumer(Flavour flavour, const Properties& p) const {
    return resolve_consumer(scenario, p, flavour, broker);
  }
  std::string refused(Flavour flavour, bool producing, const Properties& p, const std::string& key) const {
    try {
      producing ? void(producer(flavour, p)) : void(consumer(flavour, p));
      ADD_FAILURE() << key << " was taken";
      return "";
    } catch (const ScenarioError& e) {
      EXPECT_EQ(e.path, std::string(producing ? "producer." : "consumer.") + key) << e.what();
      EXPECT_EQ(e.line, 7) << e.what();
      return e.problem;
    }
  }
};

Properties set(std::initializer_list<std::pair<const char*, const char*>> pairs) {
  Properties p;
  for (const auto& [key, value] : pairs) p.push_back({key, value, 7});
  return p;
}

constexpr auto java = Flavour::java;
constexpr auto rdkafka = Flavour::librdkafka;

TEST(KafkaSettings, TablesAreSound) {
  for (const SettingTable* table :
       {&java_producer_settings(), &java_consumer_settings(), &librdkafka_producer_settings(),
        &librdkafka_consumer_settings(), &kafka_broker_settings(), &kafka_topic_settings(),
        &nats_server_settings(), &nats_stream_settings(), &nats_consumer_settings(),
        &nats_producer_settings()}) {
    std::set<std::string> seen;
    for (const std::string& key : table->keys())
      EXPECT_TRUE(seen.insert(key).second) << table->owner << ": " << key;
    for (const auto& part : {table->own, table->shared}) {
      for (const Setting& setting : part) {
        if (!setting.alias_of.empty()) {
          EXPECT_NE(table->find(setting.alias_of), nullptr) << setting.key;
        }
        const std::string value(default_of(setting, Version{4, 1}));
        if (value.empty()) continue;
        const Properties p = {{std::string(setting.key), value, 1}};
        EXPECT_NO_THROW(Values(*table, p, Version{4, 1}, {"f", "p"})) << setting.key << " = " << value;
      }
    }
    for (const std::string& name : split(table->lab_sets, ' ')) EXPECT_FALSE(seen.contains(name)) << name;
  }
}

TEST(KafkaSettings, DefaultsDifferByFlavourAndVersion) {
  const KafkaProducer j = Client().producer(java, {}), r = Client().producer(rdkafka, {});
  EXPECT_TRUE(j.idempotence);
  EXPECT_FALSE(r.idempotence);
  EXPECT_EQ(j.in_flight, 5u);
  EXPECT_EQ(r.in_flight, 1'000'000u);
  EXPECT_EQ(j.linger, Duration::millis(5));
  EXPECT_EQ(Client("3.9").producer(java, {}).linger, Duration{});
  EXPECT_EQ(r.linger, Duration::millis(5));
  EXPECT_EQ(j.batch_bytes, 16'384u);
  EXPECT_EQ(r.batch_bytes, 1'000'000u);
  EXPECT_EQ(j.request_bytes, 1'048'576u);
  EXPECT_EQ(r.request_bytes, 1'000'000u);
  EXPECT_EQ(j.delivery_timeout, Duration::seconds(120));
  EXPECT_EQ(r.delivery_timeout, Duration::seconds(300));
  EXPECT_EQ(j.connection.request_timeout, Duration::seconds(30));
  EXPECT_EQ(r.connection.request_timeout, Duration::seconds(60));
  EXPECT_EQ(r.sticky_linger, Duration::millis(10));
  const KafkaConsumer jc = Client().consumer(java, {}), rc = Client().consumer(rdkafka, {});
  EXPECT_FALSE(jc.read_committed);
  EXPECT_TRUE(rc.read_committed);
  EXPECT_TRUE(rc.auto_store);
  EXPECT_EQ(jc.assignors, (std::vector{Assignor::range, Assignor::cooperative_sticky}));
  EXPECT_EQ(rc.assignors, (std::vector{Assignor::range, Assignor::roundrobin}));
  EXPECT_EQ(rc.queued_bytes, 65'536u << 10);
}

TEST(KafkaSettings, EachFlavourHasItsOwnNames) {
  const Client c;
  EXPECT_EQ(c.producer(rdkafka, set({{"queue.buffering.max.ms", "0.5"}})).linger, Duration::micros(500));
  EXPECT_EQ(c.producer(rdkafka, set({{"request.required.acks", "1"}})).acks, 1);
  EXPECT_EQ(c.producer(rdkafka, set({{"message.timeout.ms", "9000"}})).delivery_timeout,
            Duration::seconds(9));
  EXPECT_EQ(c.producer(rdkafka, set({{"message.timeout.ms", "0"}})).delivery_timeout, Duration::forever());
  EXPECT_EQ(c.consumer(rdkafka, set({{"fetch.wait.max.ms", "20"}})).fetch_wait, Duration::millis(20));
  EXPECT_EQ(c.consumer(java, set({{"fetch.max.wait.ms", "20"}})).fetch_wait, Duration::millis(20));
  EXPECT_NE(c.refused(rdkafka, false, set({{"fetch.max.wait.ms", "20"}}), "fetch.max.wait.ms")
                .find("\"fetch.wait.max.ms\""),
            std::string::npos);
  EXPECT_NE(c.refused(java, true, set({{"queue.buffering.max.ms", "20"}}), "queue.buffering.max.ms")
                .find("no such setting"),
            std::string::npos);
  EXPECT_NE(c.refused(java, true, set({{"lingerms", "20"}}), "lingerms").find("did you mean \"linger.ms\"?"),
            std::string::npos);
  EXPECT_NE(c.refused(rdkafka, true, set({{"acks", "all"}, {"request.required.acks", "1"}}),
                      "request.required.acks")
                .find("another name"),
            std::string::npos);
  EXPECT_NE(c.refused(java, true, set({{"bootstrap.servers", "x"}}), "bootstrap.servers").find("by the lab"),
            std::string::npos);
  EXPECT_NO_THROW(c.producer(java, set({{"ssl.protocol", "TLSv1.3"}})));
}

TEST(KafkaSettings, TypesAndRanges) {
  const Client c;
  c.refused(java, true, set({{"linger.ms", "5ms"}}), "linger.ms");
  c.refused(java, true, set({{"linger.ms", "0.5"}}), "linger.ms");
  c.refused(java, true, set({{"linger.ms", "-1"}}), "linger.ms");
  c.refused(java, true, set({{"enable.idempotence", "yes"}}), "enable.idempotence");
  c.refused(java, true, set({{"acks", "2"}}), "acks");
  c.refused(java, true, set({{"batch.size", "99999999999"}}), "batch.size");
  c.refused(rdkafka, true, set({{"message.max.bytes", "500"}}), "message.max.bytes");
  c.refused(rdkafka, false, set({{"auto.offset.reset", "none"}}), "auto.offset.reset");
  c.refused(java, false, set({{"auto.offset.reset", "smalest"}}), "auto.offset.reset");
  c.refused(rdkafka, false, set({{"partition.assignment.strategy", "sticky"}}),
            "partition.assignment.strategy");
}

// What kafka-clients 4.1.0 answered to the same values.
TEST(KafkaSettings, JavaContradictions) {
  const Client c;
  EXPECT_FALSE(c.producer(java, set({{"acks", "1"}})).idempotence);
  EXPECT_FALSE(c.producer(java, set({{"retries", "0"}})).idempotence);
  c.refused(java, true, set({{"acks", "1"}, {"enable.idempotence", "true"}}), "acks");
  c.refused(java, true, set({{"retries", "0"}, {"enable.idempotence", "true"}}), "retries");
  c.refused(java, true, set({{"max.in.flight.requests.per.connection", "6"}}),
            "max.in.flight.requests.per.connection");
  EXPECT_FALSE(
      Client("3.9").producer(java, set({{"max.in.flight.requests.per.connection", "6"}})).idempotence);
  EXPECT_EQ(
      c.producer(java, set({{"max.in.flight.requests.per.connection", "6"}, {"enable.idempotence", "false"}}))
          .in_flight,
      6u);
  c.refused(java, true, set({{"transactional.id", "x"}, {"enable.idempotence", "false"}}),
            "transactional.id");
  c.refused(java, true, set({{"transactional.id", "x"}, {"acks", "1"}}), "acks");
  c.refused(java, true, set({{"delivery.timeout.ms", "1000"}}), "delivery.timeout.ms");
  EXPECT_EQ(c.producer(java, set({{"request.timeout.ms", "200000"}})).delivery_timeout,
            Duration::millis(200'005));
  c.refused(java, false, set({{"session.timeout.ms", "6000"}, {"heartbeat.interval.ms", "6000"}}),
            "heartbeat.interval.ms");
}

// What librdkafka 2.16.0 answered to the same values.
TEST(KafkaSettings, LibrdkafkaContradictions) {
  const Client c;
  const KafkaProducer p = c.producer(rdkafka, set({{"enable.idempotence", "true"}}));
  EXPECT_EQ(p.in_flight, 5u);
  EXPECT_EQ(p.acks, -1);
  c.refused(rdkafka, true, set({{"enable.idempotence", "true"}, {"acks", "1"}}), "acks");
  c.refused(rdkafka, true, set({{"enable.idempotence", "true"}, {"retries", "0"}}), "retries");
  c.refused(rdkafka, true, set({{"enable.idempotence", "true"}, {"max.in.flight", "6"}}), "max.in.flight");
  c.refused(rdkafka, true, set({{"linger.ms", "1000"}, {"message.timeout.ms", "500"}}), "message.timeout.ms");
  EXPECT_EQ(c.producer(rdkafka, set({{"message.timeout.ms", "3"}})).linger, Duration::micros(2900));
  c.refused(rdkafka, true, set({{"enable.gapless.guarantee", "true"}}), "enable.gapless.guarantee");
  const KafkaProducer t =
      c.producer(rdkafka, set({{"transactional.id", "x"}, {"transaction.timeout.ms", "5000"}}));
  EXPECT_TRUE(t.idempotence);
  EXPECT_EQ(t.delivery_timeout, Duration::seconds(5));
  EXPECT_EQ(t.connection.request_timeout, Duration::millis(4900));
  c.refused(rdkafka, true, set({{"transactional.id", "x"}, {"enable.idempotence", "false"}}),
            "enable.idempotence");
  c.refused(rdkafka, true, set({{"transactional.id", "x"}, {"message.timeout.ms", "100000"}}),
            "message.timeout.ms");
  c.refused(
      rdkafka, true,
      set({{"transactional.id", "x"}, {"transaction.timeout.ms", "1000"}, {"socket.timeout.ms", "1101"}}),
      "socket.timeout.ms");
  c.refused(rdkafka, false, set({{"max.poll.interval.ms", "6000"}, {"session.timeout.ms", "7000"}}),
            "max.poll.interval.ms");
  c.refused(rdkafka, false, set({{"fetch.max.bytes", "10000"}}), "fetch.max.bytes");
  c.refused(rdkafka, false, set({{"receive.message.max.bytes", "52428800"}}), "receive.message.max.bytes");
  c.refused(rdkafka, false, set({{"partition.assignment.strategy", "cooperative-sticky,range"}}),
            "partition.assignment.strategy");
}

TEST(KafkaSettings, WhatTheBrokerRefuses) {
  const Client c;
  c.refused(rdkafka, false, set({{"session.timeout.ms", "5000"}, {"max.poll.interval.ms", "9000"}}),
            "session.timeout.ms");
  const Client lax("4.1", set({{"group.min.session.timeout.ms", "1000"}}));
  EXPECT_EQ(lax.consumer(rdkafka, set({{"session.timeout.ms", "2000"}})).session_timeout,
            Duration::seconds(2));
  c.refused(java, true, set({{"transactional.id", "x"}, {"transaction.timeout.ms", "900001"}}),
            "transaction.timeout.ms");
}

TEST(KafkaSettings, TheConsumerProtocolTakesItsTimesFromTheBroker) {
  const Client c;
  EXPECT_TRUE(c.consumer(java, set({{"group.protocol", "consumer"}})).consumer_protocol);
  EXPECT_TRUE(c.consumer(java, set({{"group.protocol", "consumer"}})).cooperative());
  for (const char* key : {"session.timeout.ms", "heartbeat.interval.ms"})
    c.refused(java, false, set({{"group.protocol", "consumer"}, {key, "10000"}}), key);
  c.refused(java, false, set({{"group.protocol", "consumer"}, {"partition.assignment.strategy", "range"}}),
            "partition.assignment.strategy");
  Client("3.9").refused(java, false, set({{"group.protocol", "consumer"}}), "group.protocol");
  EXPECT_EQ(resolve_broker(c.scenario, c.broker).consumer_session_timeout, Duration::seconds(45));
}

TEST(KafkaSettings, TransactionsOfJavaAndBrokersFrom40AreOfTheSecondProtocol) {
  const Properties id = set({{"transactional.id", "x"}});
  EXPECT_TRUE(Client("4.1").producer(java, id).second_protocol);
  EXPECT_FALSE(Client("3.9").producer(java, id).second_protocol);
  EXPECT_FALSE(Client("4.1").producer(rdkafka, id).second_protocol);
  EXPECT_FALSE(Client("4.1").producer(java, {}).second_protocol);
}

TEST(KafkaSettings, RetentionByTheFinestUnitThatIsSet) {
  const auto of = [](const Properties& broker, const Properties& own) {
    Client c("4.1", broker);
    TopicSpec topic;
    topic.name = "t";
    topic.properties = own;
    return resolve_topic(c.scenario, topic, c.broker);
  };
  EXPECT_EQ(of({}, {}).retention_time, Duration::seconds(7 * 24 * 3600));
  EXPECT_EQ(of(set({{"log.retention.hours", "1"}}), {}).retention_time, Duration::seconds(3600));
  EXPECT_EQ(of(set({{"log.retention.hours", "1"}, {"log.retention.minutes", "2"}}), {}).retention_time,
            Duration::seconds(120));
  EXPECT_EQ(of(set({{"log.retention.ms", "5"}}), {}).retention_time, Duration::millis(5));
  EXPECT_EQ(of(set({{"log.retention.ms", "5"}}), set({{"retention.ms", "-1"}})).retention_time,
            Duration::forever());
  EXPECT_FALSE(of({}, set({{"cleanup.policy", "compact"}})).expires());
  EXPECT_TRUE(of({}, set({{"cleanup.policy", "compact,delete"}})).expires());
}

TEST(KafkaSettings, BrokerAndTopics) {
  Client c("4.1", set({{"min.insync.replicas", "2"}, {"log.flush.interval.messages", "1"}}));
  const KafkaBroker b = resolve_broker(c.scenario, c.broker);
  EXPECT_EQ(b.flush_messages, 1u);
  EXPECT_EQ(b.flush_interval, Duration{});
  EXPECT_EQ(b.offsets_replication, 3u);
  EXPECT_TRUE(b.eligible_leader_replicas);
  EXPECT_EQ(b.message_max_bytes, 1'048'588u);
  TopicSpec topic;
  topic.name = "t";
  topic.replication = 3;
  EXPECT_EQ(resolve_topic(c.scenario, topic, c.broker).min_insync_replicas, 2u);
  topic.replication = 1;
  EXPECT_EQ(resolve_topic(c.scenario, topic, c.broker).min_insync_replicas, 1u);
  topic.properties = set({{"flush.messages", "100"}, {"max.message.bytes", "2000"}});
  EXPECT_EQ(resolve_topic(c.scenario, topic, c.broker).flush_messages, 100u);
  EXPECT_EQ(resolve_topic(c.scenario, topic, c.broker).max_message_bytes, 2000u);
  topic.properties = set({{"segment.bytes", "1000"}});
  EXPECT_THROW(resolve_topic(c.scenario, topic, c.broker), ScenarioError);
  c.broker.nodes = 1;
  EXPECT_EQ(resolve_broker(c.scenario, c.broker).transaction_min_isr, 1u);
  c.broker.properties = set({{"transaction.state.log.replication.factor", "3"}});
  EXPECT_THROW(resolve_broker(c.scenario, c.broker), ScenarioError);
}

TEST(KafkaSettings, InstanceNumbers) {
  EXPECT_EQ(for_instance("embed-{instance}", 3), "embed-3");
  EXPECT_EQ(for_instance("{instance}{instance}", 12), "1212");
  EXPECT_EQ(for_instance("plain", 1), "plain");
}

}  // namespace
}  // namespace mqlab
