#include "core/scenario/nats_settings.h"

#include <gtest/gtest.h>

#include "core/scenario/error.h"

namespace mqlab {
namespace {

struct Nats : ::testing::Test {
  Scenario scenario;
  BrokerSpec broker{"nats", BrokerKind::nats, "2.12", 3, {}, {}, 2};
  TopicSpec stream;
  Nats() {
    scenario.file = "s.toml";
    scenario.brokers = {broker};
    stream.name = "REQ";
    stream.stream = true;
  }
  NatsConsumer consumer(const Properties& p) const { return resolve_nats_consumer(scenario, p, broker); }
};

TEST_F(Nats, Server) {
  EXPECT_EQ(resolve_nats_server(scenario, broker).sync_interval, Duration::seconds(120));
  broker.properties = {{"sync_interval", "always", 3}};
  EXPECT_TRUE(resolve_nats_server(scenario, broker).sync_always);
  broker.properties = {{"sync_interval", "0s", 3}};
  EXPECT_THROW(resolve_nats_server(scenario, broker), ScenarioError);
  broker.properties = {{"sync_intervall", "1s", 3}};
  try {
    resolve_nats_server(scenario, broker);
    FAIL();
  } catch (const ScenarioError& e) {
    EXPECT_EQ(e.path, "broker.properties.sync_intervall");
    EXPECT_NE(e.problem.find("\"sync_interval\""), std::string::npos);
  }
}

TEST_F(Nats, Stream) {
  stream.properties = {
      {"max_bytes", "1MiB", 3}, {"max_age", "1m", 4}, {"discard", "new", 5}, {"max_msgs", "0", 6}};
  const NatsStream s = resolve_nats_stream(scenario, stream, broker);
  EXPECT_EQ(s.max_bytes, 1 << 20);
  EXPECT_EQ(s.max_msgs, -1);
  EXPECT_TRUE(s.discard_new);
  EXPECT_EQ(s.duplicate_window, Duration::seconds(60)) << "no more than max_age";
  stream.properties.push_back({"duplicate_window", "2m", 7});
  EXPECT_THROW(resolve_nats_stream(scenario, stream, broker), ScenarioError);
  stream.properties = {{"duplicate_window", "5", 7}};
  EXPECT_THROW(resolve_nats_stream(scenario, stream, broker), ScenarioError) << "no unit";
}

TEST_F(Nats, Consumer) {
  const NatsConsumer c = consumer({{"ack_wait", "1s", 1}, {"durable_name", "w", 2}});
  EXPECT_EQ(c.ack_wait, Duration::seconds(1));
  EXPECT_EQ(c.durable, "w");
  EXPECT_EQ(c.max_ack_pending, 1000);
  EXPECT_EQ(c.max_deliver, -1);
  EXPECT_EQ(consumer({}).ack_wait, Duration::seconds(30));
  const NatsConsumer backed = consumer({{"backoff", "1s,5s", 1}});
  EXPECT_EQ(backed.backoff.size(), 2u);
  EXPECT_EQ(backed.ack_wait, Duration::seconds(1));
  EXPECT_THROW(consumer({{"backoff", "1s,5s", 1}, {"max_deliver", "1", 1}}), ScenarioError);
  EXPECT_THROW(consumer({{"ack_wait", "0s", 1}}), ScenarioError);
  EXPECT_THROW(consumer({{"ack_policy", "always", 1}}), ScenarioError);
}

TEST_F(Nats, OrderedConsumersAcknowledgeNothing) {
  const NatsConsumer c = consumer({{"ordered", "true", 1}});
  EXPECT_EQ(c.ack_policy, NatsConsumer::AckPolicy::none);
  EXPECT_THROW(consumer({{"ordered", "true", 1}, {"ack_wait", "30s", 2}}), ScenarioError);
  EXPECT_THROW(consumer({{"ordered", "true", 1}, {"ack_policy", "explicit", 2}}), ScenarioError);
}

TEST_F(Nats, Producer) {
  const NatsProducer p =
      resolve_nats_producer(scenario, {{"msg_id", "false", 1}, {"ack_timeout", "500ms", 2}}, broker);
  EXPECT_FALSE(p.msg_id);
  EXPECT_EQ(p.ack_timeout, Duration::millis(500));
  EXPECT_EQ(p.max_pending, 4000u);
}

}  // namespace
}  // namespace mqlab
