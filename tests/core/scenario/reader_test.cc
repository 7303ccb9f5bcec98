#include "core/scenario/reader.h"

#include <gtest/gtest.h>

#include "core/base/limits.h"
#include "tests/core/scenario/example.h"

namespace mqlab {
namespace {

using testing::full;
using testing::minimal;

TEST(Reader, Defaults) {
  const Scenario s = read_scenario(minimal, "least.toml");
  EXPECT_EQ(s.name, "least");
  ASSERT_EQ(s.brokers.size(), 1u);
  EXPECT_EQ(s.brokers[0].name, "kafka");
  EXPECT_EQ(s.brokers[0].version, "4.1");
  EXPECT_EQ(s.brokers[0].line, 2);
  EXPECT_EQ(s.flavour, Flavour::librdkafka);
  ASSERT_EQ(s.topics.size(), 1u);
  EXPECT_EQ(s.topics[0].partitions, 1u);
  EXPECT_EQ(s.topics[0].broker, "kafka");
  ASSERT_EQ(s.workloads.size(), 1u);
  EXPECT_EQ(s.workloads[0].name, "producer");
  EXPECT_EQ(s.workloads[0].rate, 1000);
  EXPECT_EQ(s.workloads[0].messages, 10u);
  EXPECT_EQ(s.workloads[0].size.low, 1024u);
  EXPECT_EQ(s.limits.horizon, Duration::seconds(600));
  EXPECT_EQ(s.menu.heal, std::vector{Duration::seconds(1)});
}

TEST(Reader, EverythingAUserMaySay) {
  const Scenario s = read_scenario(full, "full.toml");
  EXPECT_EQ(s.brokers[0].nodes, 3u);
  ASSERT_NE(find(s.brokers[0].properties, "min.insync.replicas"), nullptr);
  EXPECT_EQ(find(s.brokers[0].properties, "min.insync.replicas")->value, "2");
  EXPECT_EQ(find(s.topics[1].properties, "min.insync.replicas")->value, "2");
  EXPECT_EQ(find(s.topics[1].properties, "min.insync.replicas")->line, 18);
  const WorkloadSpec& w = s.workloads[0];
  EXPECT_EQ(w.rate, 2000);
  EXPECT_EQ(w.arrival.kind, ArrivalSpec::Kind::poisson);
  EXPECT_EQ(w.keys.kind, KeySpec::Kind::zipf);
  EXPECT_EQ(w.keys.count, 1000u);
  EXPECT_EQ(w.keys.skew, 1.1);
  const StageSpec& g = s.stages[0];
  EXPECT_EQ(g.inputs, std::vector<std::string>{"requests"});
  EXPECT_EQ(g.outputs, std::vector<std::string>{"vectors"});
  EXPECT_EQ(g.service_time.shape, DurationSpec::Shape::lognormal);
  EXPECT_EQ(g.service_time.b, Duration::millis(9));
  EXPECT_EQ(g.failure.poison, 0.001);
  EXPECT_EQ(g.retry.multiplier, 2u);
  EXPECT_EQ(g.retry.dead_letter, "requests-dlt");
  EXPECT_EQ(find(g.producer, "transactional.id")->value, "embed-{instance}");
  EXPECT_EQ(s.menu.menu, (std::vector{Action::kill, Action::pause, Action::partition}));
  ASSERT_EQ(s.faults.size(), 1u);
  EXPECT_EQ(s.faults[0].at.nth, 3u);
  EXPECT_EQ(s.faults[0].heal, Duration::seconds(5));
  ASSERT_EQ(s.claims.size(), 3u);
  EXPECT_EQ(s.claims[0].scope(), "exactly_once of requests in vectors as billing");
  EXPECT_EQ(s.claims[1].id, "order.key");
  EXPECT_EQ(find(s.claims[2].parameters, "at_most")->value, "15ms");
}

TEST(Reader, WritesWhatItReads) {
  for (const std::string& toml : {minimal, full}) {
    const std::string complete = to_toml(read_scenario(toml, "x.toml"));
    EXPECT_EQ(to_toml(read_scenario(complete, "x.toml")), complete);
  }
}

TEST(Reader, QuotasAreWrittenAndChangedAsTheyAreRead) {
  const std::string quotas = minimal +
                             "[broker.quotas]\nproducer_byte_rate = \"20KiB/s\"\nconsumer_byte_rate = 5\n"
                             "[broker.quotas.clients.producer]\nproducer_byte_rate = 7\n";
  const Scenario s =
      read_scenario(quotas, "x.toml", {{"broker.quotas.clients.producer.consumer_byte_rate", "9"}});
  const std::vector<QuotaSpec>& read = s.brokers.front().quotas;
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].client, "");
  EXPECT_EQ(read[0].producer_byte_rate, 20'480u);
  EXPECT_EQ(read[0].consumer_byte_rate, 5u);
  EXPECT_EQ(read[1].client, "producer");
  EXPECT_EQ(read[1].producer_byte_rate, 7u);
  EXPECT_EQ(read[1].consumer_byte_rate, 9u);
  const std::string complete = to_toml(s);
  EXPECT_EQ(to_toml(read_scenario(complete, "x.toml")), complete);
  EXPECT_EQ(read_scenario(complete, "x.toml").brokers.front().quotas.size(), 2u);
}

TEST(Reader, DottedKeysOfMapsAndClaimsNeedNoQuotes) {
  const std::string quoted =
      minimal + "producer = { \"linger.ms\" = 5, \"batch.size\" = 100 }\n[claims]\n\"order.key\" = true\n";
  const std::string bare =
      minimal + "producer.batch.size = 100\nproducer.linger.ms = 5\n[claims]\norder.key = true\n";
  const Scenario a = read_scenario(quoted, "x"), b = read_scenario(bare, "x");
  EXPECT_EQ(find(a.workloads[0].producer, "linger.ms")->value, "5");
  EXPECT_EQ(find(b.workloads[0].producer, "linger.ms")->value, "5");
  EXPECT_EQ(a.claims[0].id, "order.key");
  EXPECT_EQ(b.claims[0].id, "order.key");
}

TEST(Reader, ListsInTheirOtherForms) {
  const Scenario s = read_scenario(R"(name = "two"
[[brokers]]
name = "k"
kind = "kafka"
[[brokers]]
kind = "nats"
[[topics]]
name = "a"
broker = "k"
[[streams]]
name = "b"
broker = "nats"
subjects = ["b.*", "c.>"]
[[workloads]]
name = "one"
stream = "b"
duration = "2s"
rate = 100
[[workloads]]
name = "other"
topic = "a"
messages = 1
size = { low = 100, high = "2KiB" }
arrival = { kind = "bursts", burst = 5 }
[claims]
no_loss = [{ of = "a" }, { of = "b" }]
no_phantom = true
exactly_once = false
)",
                                   "two.toml");
  EXPECT_EQ(s.brokers[1].name, "nats");
  EXPECT_TRUE(s.topics[1].stream);
  EXPECT_EQ(s.topics[1].subjects.size(), 2u);
  EXPECT_EQ(s.workloads[0].messages, 200u);
  EXPECT_EQ(s.workloads[1].size.high, 2048u);
  EXPECT_EQ(s.workloads[1].arrival.burst, 5u);
  ASSERT_EQ(s.claims.size(), 3u);
  EXPECT_EQ(s.claims[1].of, "b");
  EXPECT_EQ(s.flavour, Flavour::librdkafka);
}

TEST(Reader, DeliveriesAsPopulation) {
  const Scenario a = read_scenario(minimal + "[claims]\nno_duplicates = { of = \"deliveries\" }\n", "x");
  const Scenario b =
      read_scenario(minimal + "[claims]\nno_duplicates = { of = \"requests\", deliveries = true }\n", "x");
  for (const Scenario* s : {&a, &b}) {
    EXPECT_EQ(s->claims[0].of, "requests");
    EXPECT_EQ(find(s->claims[0].parameters, "deliveries")->value, "true");
    EXPECT_EQ(s->claims[0].scope(), "no_duplicates of deliveries of requests");
  }
}

TEST(Reader, ModuleSettings) {
  const ModuleCatalog modules = {{"producer", {}}, {"stage", {"commit", "when"}}};
  const std::string stage = "[[stages]]\nname = \"s\"\ninput = \"requests\"\n";
  const Scenario s =
      read_scenario(minimal + stage + "module = \"stage\"\ncommit = \"sync\"\n", "x", {}, &modules);
  EXPECT_EQ(find(s.stages[0].settings, "commit")->value, "sync");
  const Scenario foreign =
      read_scenario(minimal + stage + "module = \"my.py:Mine\"\ndepth = 3\n", "x", {}, &modules);
  EXPECT_EQ(find(foreign.stages[0].settings, "depth")->value, "3");
  try {
    read_scenario(minimal + stage + "module = \"stage\"\ncomit = \"sync\"\n", "x", {}, &modules);
    FAIL();
  } catch (const ScenarioError& e) {
    EXPECT_EQ(e.line, 13);
    EXPECT_EQ(e.path, "stages.s.comit");
    EXPECT_NE(e.problem.find("did you mean \"commit\"?"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace mqlab
