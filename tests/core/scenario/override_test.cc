#include <gtest/gtest.h>

#include "core/scenario/reader.h"
#include "tests/core/scenario/example.h"

namespace mqlab {
namespace {

using testing::full;
using testing::minimal;

Scenario with(const std::vector<Override>& changes) { return read_scenario(full, "full.toml", changes); }

void refused(const std::string& path, const std::string& value, const std::string& path_named,
             const std::string& part) {
  try {
    with({{path, value}});
    ADD_FAILURE() << path << "=" << value << " was taken";
  } catch (const ScenarioError& e) {
    EXPECT_EQ(e.path, path_named) << e.what();
    EXPECT_NE(e.problem.find(part), std::string::npos) << e.what();
  }
}

TEST(Overrides, ListsGoByName) {
  EXPECT_EQ(with({{"stages.embed.instances", "5"}}).stages[0].instances, 5u);
  EXPECT_EQ(with({{"stage.embed.instances", "5"}}).stages[0].instances, 5u);
  EXPECT_EQ(with({{"topics.vectors.partitions", "2"}}).topics[1].partitions, 2u);
  EXPECT_EQ(with({{"topics.requests-dlt.partitions", "2"}}).topics[2].partitions, 2u);
  EXPECT_EQ(with({{"observers.billing.topic", "requests"}}).observers[0].topic, "requests");
}

TEST(Overrides, TheOnlyElementNeedsNoName) {
  EXPECT_EQ(with({{"broker.version", "4.0"}}).brokers[0].version, "4.0");
  EXPECT_EQ(with({{"brokers.kafka.nodes", "3"}, {"workload.rate", "10/s"}}).workloads[0].rate, 10);
  EXPECT_EQ(with({{"stages.instances", "3"}}).stages[0].instances, 3u);
  EXPECT_EQ(with({{"fault.heal", "7s"}}).faults[0].heal, Duration::seconds(7));
}

TEST(Overrides, APropertyMapSwallowsTheRest) {
  const Scenario s = with({{"broker.properties.min.insync.replicas", "1"},
                           {"topics.vectors.properties.min.insync.replicas", "3"},
                           {"stages.embed.consumer.session.timeout.ms", "6000"}});
  EXPECT_EQ(s.brokers[0].properties.size(), 1u);
  EXPECT_EQ(find(s.brokers[0].properties, "min.insync.replicas")->value, "1");
  EXPECT_EQ(find(s.topics[1].properties, "min.insync.replicas")->value, "3");
  EXPECT_EQ(find(s.stages[0].consumer, "session.timeout.ms")->value, "6000");
}

TEST(Overrides, AKeyMayHaveItsQuotes) {
  const Scenario s = with({{"stages.embed.consumer.\"session.timeout.ms\"", "6000"}});
  EXPECT_EQ(find(s.stages[0].consumer, "session.timeout.ms")->value, "6000");
}

TEST(Overrides, AKeyGoesBeforeTheNameOfTheOnlyElement) {
  EXPECT_EQ(find(with({{"workload.producer.linger.ms", "7"}}).workloads[0].producer, "linger.ms")->value,
            "7");
  refused("workload.producer.rate", "7", "workload.producer.rate", "no such setting");
}

TEST(Overrides, TablesAreMadeAndValuesTyped) {
  const Scenario s = with({{"limits.horizon", "30s"},
                           {"network.latency", "1ms"},
                           {"stages.embed.retry.attempts", "2"},
                           {"faults.menu", "[\"kill\"]"},
                           {"client.flavour", "librdkafka"},
                           {"question", "\"why?\""}});
  EXPECT_EQ(s.limits.horizon, Duration::seconds(30));
  EXPECT_EQ(s.network.latency.a, Duration::millis(1));
  EXPECT_EQ(s.stages[0].retry.attempts, 2u);
  EXPECT_EQ(s.menu.menu, std::vector{Action::kill});
  EXPECT_EQ(s.question, "why?");
}

TEST(Overrides, DurationReplacesMessages) {
  const Scenario s = with({{"workload.duration", "1s"}});
  EXPECT_EQ(s.workloads[0].messages, 2000u);
}

TEST(Overrides, Claims) {
  EXPECT_EQ(find(with({{"claims.latency.p99.at_most", "20ms"}}).claims[2].parameters, "at_most")->value,
            "20ms");
  EXPECT_EQ(with({{"claims.order.key.in", "requests"}}).claims[1].in, "requests");
  EXPECT_EQ(with({{"claims.exactly_once", "false"}}).claims.size(), 2u);
  EXPECT_EQ(with({{"claims.no_loss", "true"}}).claims.back().id, "no_loss");
  EXPECT_EQ(with({{"claims.order.partition.in", "vectors"}}).claims.back().id, "order.partition");
}

TEST(Overrides, ErrorsNameThePath) {
  refused("stages.embd.instances", "5", "stages.embd.instances", "did you mean \"embed\"?");
  refused("topics.vector.partitions", "5", "topics.vector.partitions", "did you mean \"vectors\"?");
  refused("stages.embed.instances", "lots", "stages.embed.instances", "must be an integer");
  refused("stages.embed.instances", "-1", "stages.embed.instances", "must be an integer");
  refused("workload.rate", "nan", "workload.rate", "must be messages per time");
  refused("brokr.version", "4.1", "brokr", "did you mean \"broker\"?");
  refused("streams.x.replicas", "3", "streams.x.replicas", "no stream");
  refused("", "3", "", "names no key");
  refused("workload.rate", "[1,", "workload.rate", "not TOML");
  refused("claims.exactly_once.of", "request", "claims.exactly_once.of", "did you mean \"requests\"?");
}

}  // namespace
}  // namespace mqlab
