// Small scenarios for tests of the search.
#pragma once
#include <string>

#include "core/modules/registry.h"
#include "core/scenario/reader.h"
#include "sim/setup.h"

namespace mqlab::test {

/// Consume, publish, commit on a Kafka of `nodes` nodes; two instances that may be killed or paused.
inline std::string at_least_once(int nodes = 1, int messages = 12) {
  const std::string replication = std::to_string(nodes);
  return R"(
name = "at-least-once"
[broker]
kind = "kafka"
version = "4.1"
nodes = )" +
         replication + R"(
[client]
flavour = "librdkafka"
[[topics]]
name = "requests"
partitions = 2
replication = )" +
         replication + R"(
[[topics]]
name = "results"
partitions = 2
replication = )" +
         replication + R"(
[workload]
name = "api"
topic = "requests"
rate = "200/s"
messages = )" +
         std::to_string(messages) + R"(
size = "200B"
keys = { kind = "round_robin", count = 4 }
producer = { "acks" = "all", "enable.idempotence" = true }
[[stages]]
name = "work"
module = "stage"
instances = 2
input = "requests"
output = "results"
service_time = { kind = "uniform", low = "1ms", high = "5ms" }
consumer = { "group.id" = "work", "enable.auto.commit" = false, "auto.offset.reset" = "earliest", "session.timeout.ms" = 6000 }
producer = { "acks" = "all", "enable.idempotence" = true }
[network]
latency = { kind = "lognormal", p50 = "200us", p99 = "1ms" }
[faults]
menu = ["kill", "pause"]
targets = ["work"]
at_most = 2
[claims]
no_loss = { of = "requests", in = "results" }
no_duplicates = { of = "requests", in = "results" }
)";
}

inline std::unique_ptr<sim::Setup> prepared(const std::string& toml) {
  publish_module_catalog();
  return std::make_unique<sim::Setup>(read_scenario(toml, "test"));
}

/// Producers that send to one server, all before the first message arrives.
inline std::string in_flight(int producers, int messages, const std::string& faults = "") {
  return R"(
name = "in-flight"
[broker]
kind = "nats"
version = "2.12"
[[streams]]
name = "requests"
[workload]
name = "api"
stream = "requests"
rate = "1000/s"
messages = )" +
         std::to_string(messages) + "\nproducers = " + std::to_string(producers) + R"(
[network]
latency = "50ms"
[limits]
horizon = "5m"
)" + faults +
         R"(
[claims]
no_loss = { of = "requests", in = "requests" }
)";
}

}  // namespace mqlab::test
