// Bad input: each is refused with file, line, path, what is wrong and what would be right, on one line.
#include <gtest/gtest.h>
#include <algorithm>

#include "core/base/limits.h"
#include "core/scenario/reader.h"
#include "tests/core/scenario/example.h"

namespace mqlab {
namespace {

using testing::full;
using testing::minimal;

void refused(const std::string& toml, int line, const std::string& path, const std::string& part) {
  try {
    read_scenario(toml, "bad.toml");
    ADD_FAILURE() << "taken, though it has no good " << path << ":\n" << toml.substr(0, 400);
  } catch (const ScenarioError& e) {
    const std::string what = e.what();
    EXPECT_EQ(e.file, "bad.toml");
    EXPECT_EQ(e.line, line) << what;
    EXPECT_EQ(e.path, path) << what;
    EXPECT_NE(e.problem.find(part), std::string::npos) << what;
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    EXPECT_LT(what.size(), 3000u);
  }
}

struct Altered {
  std::string toml;
  int line;  ///< of the end of the new text
};

/// `full` with the first `from` replaced.
Altered altered(const std::string& from, const std::string& to) {
  std::string toml = full;
  const std::size_t at = toml.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  toml.replace(std::min(at, toml.size()), from.size(), to);
  return {toml, 1 + static_cast<int>(std::count(
                        toml.begin(), toml.begin() + static_cast<std::ptrdiff_t>(at + to.size()), '\n'))};
}

/// The error is `above` lines above the end of the new text.
void refused(const Altered& bad, const std::string& path, const std::string& part, int above = 0) {
  refused(bad.toml, bad.line - above, path, part);
}

TEST(ReaderErrors, MisspeltKeys) {
  refused(altered("partitions = 6", "partition = 6"), "topics.requests.partition",
          "did you mean \"partitions\"?");
  refused(altered("[network]\nlatency", "[network]\nlatncy"), "network.latncy", "did you mean \"latency\"?");
  refused(altered("[network]", "[netwrk]"), "netwrk", "did you mean \"network\"?");
  refused(altered("heal = \"5s\"", "heel = \"5s\""), "fault[0].heel", "did you mean \"heal\"?");
  refused(altered("nth = 3", "nht = 3"), "fault[0].at.nht", "did you mean \"nth\"?");
}

TEST(ReaderErrors, MisspeltWords) {
  refused(altered("\"poisson\"", "\"poison\""), "workload.arrival", "did you mean \"poisson\"?");
  refused(altered("kind = \"kafka\"", "kind = \"kafk\""), "broker.kind", "did you mean \"kafka\"?");
  refused(altered("kind = \"kafka\"", "kind = \"rabbitmq\""), "broker.kind", "valid: kafka, nats");
  refused(altered("flavour = \"librdkafka\"", "flavour = \"librdkafk\""), "client.flavour", "librdkafka");
  refused(altered("action = \"kill\"", "action = \"kil\""), "fault[0].action", "did you mean \"kill\"?");
  refused(altered("[\"kill\", \"pause\"", "[\"kill\", \"pasue\""), "faults.menu", "did you mean \"pause\"?");
}

TEST(ReaderErrors, UnknownNames) {
  refused(altered("input = \"requests\"", "input = \"request\""), "stages.embed.input",
          "did you mean \"requests\"?");
  refused(altered("dead_letter = \"requests-dlt\"", "dead_letter = \"request-dlt\""),
          "stages.embed.retry.dead_letter", "did you mean \"requests-dlt\"?");
  refused(altered("topic = \"vectors\"", "topic = \"vector\""), "observers.billing.topic",
          "did you mean \"vectors\"?");
  refused(altered("process = \"embed\"", "process = \"embedd\""), "fault[0].at.process",
          "did you mean \"embed");
  refused(altered("as = \"billing\"", "as = \"biling\""), "claims.exactly_once.as",
          "did you mean \"billing\"?");
  refused(altered("heal = \"5s\"", "target = \"leader of requests/6\""), "fault[0].target", "6 partitions");
}

TEST(ReaderErrors, WrongTypesAndRanges) {
  refused(altered("nodes = 3", "nodes = 30"), "broker.nodes", "1 to 9");
  refused(altered("nodes = 3", "nodes = -3"), "broker.nodes", "1 to 9");
  refused(altered("nodes = 3", "nodes = 3.5"), "broker.nodes", "an integer");
  refused(altered("nodes = 3", "nodes = \"3\""), "broker.nodes", "is a string (\"3\")");
  refused(altered("nodes = 3", "nodes = 1"), "topics.requests.replication", "3 replicas need as many nodes",
          -7);
  refused(altered("version = \"4.1\"", "version = 4.1"), "broker.version", "in quotes");
  refused(altered("version = \"4.1\"", "version = \"2.1\""), "broker.version", "Kafka 3.0 to 4.x");
  refused(altered("rate = \"2000/s\"", "rate = -5"), "workload.rate", "must be more than one a day");
  refused(altered("rate = \"2000/s\"", "rate = nan"), "workload.rate", "messages per time");
  refused(altered("rate = \"2000/s\"", "rate = inf"), "workload.rate", "messages per time");
  refused(altered("rate = \"2000/s\"", "rate = 0"), "workload.rate", "more than");
  refused(altered("messages = 10_000", "messages = 0"), "workload.messages", "1 to 1000000000");
  refused(altered("messages = 10_000", "duration = \"10\""), "workload.duration", "no duration");
  refused(altered("messages = 10_000", "duration = \"900000h\""), "workload.duration", "more than");
  refused(altered("size = \"1KiB\"", "size = 10"), "workload.size", "must be 40 to");
  refused(altered("size = \"1KiB\"", "size = \"1kb\""), "workload.size", "a size in bytes");
  refused(altered("skew = 1.1", "skew = nan"), "workload.keys.skew", "a number from 0 to 10");
  refused(altered("transient = 0.02", "transient = 1.5"), "stages.embed.failure.transient", "0 to 1");
  refused(altered("p50 = \"2ms\"", "p50 = 2"), "stages.embed.service_time.p50", "\"2ms\"");
  refused(altered("p99 = \"9ms\"", "p99 = \"1ms\""), "stages.embed.service_time.p99", "at least p50");
  refused(altered("backoff = \"1s*2\"", "backoff = \"1s*\""), "stages.embed.retry.backoff", "no back-off");
  refused(altered("\"linger.ms\" = 5", "\"linger.ms\" = nan"), "workload.producer.linger.ms", "finite");
  refused(altered("\"linger.ms\" = 5", "\"linger.ms\" = 1979-05-27"), "workload.producer.linger.ms",
          "must be a string");
  refused(altered("name = \"requests\"", "name = \"re quests\""), "topics.re quests.name", "no name");
}

TEST(ReaderErrors, MissingAndContradictory) {
  refused("question = \"?\"\n", 1, "name", "missing");
  refused("name = \"x\"\n", 0, "broker", "missing");
  refused(altered("messages = 10_000", "messages = 10\nduration = \"1s\""), "workload.duration",
          "messages is set too");
  refused(altered("messages = 10_000\n", ""), "workload.messages", "missing", 3);
  refused(altered("output = ", "output = \"vectors\"\noutputs = [\"vectors\"] #"), "stages.embed.outputs",
          "output is set too");
  refused(full + "[[workloads]]\nname = \"b\"\n", 21, "workload", "has workloads too");
  refused(altered("at = { process = \"embed\", step = \"deliver\", nth = 3 }", "at = \"3s\""),
          "fault[0].target", "missing", 1);
  refused(altered("at = { process = \"embed\", step", "at = { time = \"1s\", step"), "fault[0].at.step",
          "time is set too");
}

TEST(ReaderErrors, DuplicateNames) {
  refused(altered("name = \"vectors\"", "name = \"requests\""), "topics.requests.name",
          "comes twice, first in line 10");
  refused(altered("name = \"billing\"", "name = \"embed\""), "observers.embed.name",
          "a stage has it, line 29");
  refused(altered("name = \"billing\"", "name = \"embed-0\"").toml, 0, "embed-0",
          "would be a process of embed too");
  refused(altered("name = \"billing\"", "name = \"auditor\""), "observers.auditor.name",
          "the lab's own name");
  refused(altered("properties.min.insync.replicas = 2",
                  "properties = { \"min.insync.replicas\" = 2, min.insync.replicas = 1 }"),
          "topics[1].properties.min.insync.replicas", "set twice");
  refused(altered("nodes = 3", "nodes = 3\nnodes = 3"), "", "not TOML");
  refused(full + "[[claims.exactly_once]]\nof = \"requests\"\n", 57, "", "not TOML");
}

TEST(ReaderErrors, NotAScenario) {
  refused("this is no TOML", 1, "", "not TOML");
  refused("name = \"x\nbroker\"", 1, "", "not TOML");
  refused("\xff\xfe\x00", 1, "", "not TOML");
  refused(std::string("name = \"a\0b\"", 12), 1, "", "not TOML");
  refused("", 1, "name", "missing");
  refused("name = \"x\"\n[[broker]]\nkind=3\n[faults]\nname=1", 3, "broker[0].kind", "");
}

TEST(ReaderErrors, NestedTooDeepOrTooLarge) {
  for (const std::string unit : {"[", "{a=", "a.", "\"a\"."}) {
    std::string deep = "x = ";
    if (unit.back() == '.') deep = "";
    for (int i = 0; i < 100'000; ++i) deep += unit;
    refused(deep, 1, "", "nested deeper than 16 levels");
  }
  std::string table = "[";
  for (int i = 0; i < 100'000; ++i) table += "a.";
  refused(table + "a]", 1, "", "nested deeper");
  refused(std::string(limits::scenario_bytes + 1, '#'), 0, "", "larger than 4 MiB");
  std::string wide = minimal + "[claims]\n";
  for (int i = 0; i < 20'000; ++i) wide += "c" + std::to_string(i) + " = true\n";
  refused(wide, 9, "claims", "more than");
  std::string many = minimal;
  for (int i = 0; i < 20'000; ++i) many += "[[stages]]\n";
  refused(many, 9, "stages", "more than");
}

TEST(ReaderErrors, Nats) {
  const std::string nats = "name = \"n\"\n[broker]\nkind = \"nats\"\nnodes = 3\n";
  refused(nats + "[[topics]]\nname = \"a\"\n", 5, "topics.a.broker", "[[streams]]");
  refused(nats + "[client]\nflavour = \"java\"\n", 6, "client.flavour", "nats.c");
  refused(nats + "[[streams]]\nname = \"a.b\"\n", 6, "streams.a.b.name", "no dots");
  refused(nats + "[[streams]]\nname = \"a\"\nreplicas = 5\n", 7, "streams.a.replicas", "5 replicas");
  refused(nats + "[[streams]]\nname = \"a\"\nsubjects = [\"a..b\"]\n", 7, "streams.a.subjects", "no subject");
  refused(nats +
              "[[streams]]\nname = \"a\"\nsubjects = [\"x.*\"]\n[[streams]]\nname = \"b\"\nsubjects = "
              "[\"x.y\", \"z\"]\n",
          8, "streams.b.subjects", "overlaps");
}

TEST(ReaderErrors, Quotas) {
  const std::string kind = "kind = \"kafka\"", quotas = kind + "\nquotas.";
  refused(altered(kind, quotas + "producer_byte_rat = 5"), "broker.quotas.producer_byte_rat",
          "did you mean \"producer_byte_rate\"?");
  refused(altered(kind, quotas + "producer_byte_rate = 0"), "broker.quotas.producer_byte_rate", "20480 or");
  refused(altered(kind, quotas + "consumer_byte_rate = \"20KiB\""), "broker.quotas.consumer_byte_rate",
          "\"20KiB/s\"");
  refused(altered(kind, quotas + "clients.embd.producer_byte_rate = 5"), "broker.quotas.clients.embd",
          "did you mean \"embed\"?");
  refused(altered(kind, quotas + "clients.kafka-1.producer_byte_rate = 5"), "broker.quotas.clients.kafka-1",
          "there is no such client");
  refused(altered(kind, quotas + "clients.embed = 5"), "broker.quotas.clients.embed", "must be a table");
  refused(altered(kind, quotas + "clients.embed = {}"), "broker.quotas.clients.embed", "says no");
  refused(altered(kind, quotas + "clients = 5"), "broker.quotas.clients", "table of tables");
  refused("name = \"n\"\n[broker]\nkind = \"nats\"\nquotas.producer_byte_rate = 5\n", 4, "broker.quotas",
          "only Kafka");
}

}  // namespace
}  // namespace mqlab
