// Schedules a second of the search on a small scenario: three Kafka nodes, 50 messages, one fault each, one
// core; and what a second job adds.
#include <cstdio>
#include <string>

#include "core/modules/registry.h"
#include "core/scenario/reader.h"
#include "search/verify.h"

namespace {

constexpr const char* scenario = R"(
name = "search-speed"
[broker]
kind = "kafka"
version = "4.1"
nodes = 3
properties = { "min.insync.replicas" = 2 }
[client]
flavour = "librdkafka"
[[topics]]
name = "requests"
partitions = 2
replication = 3
[workload]
name = "api"
topic = "requests"
rate = "1000/s"
messages = 50
size = "1KiB"
keys = { kind = "round_robin", count = 10 }
producer = { "acks" = "all", "enable.idempotence" = true, "linger.ms" = 5 }
[[stages]]
name = "sink"
module = "consumer"
instances = 2
input = "requests"
commit = "sync"
batch = 10
service_time = "1ms"
consumer = { "enable.auto.commit" = false, "auto.offset.reset" = "earliest", "group.id" = "sink", "session.timeout.ms" = 6000 }
[faults]
menu = ["kill", "pause"]
targets = ["sink", "kafka"]
at_most = 2
[claims]
no_loss = { of = "requests" }
"order.partition" = { in = "requests" }
)";

double rate(const mqlab::sim::Setup& setup, unsigned jobs) {
  mqlab::search::Options options;
  options.schedules = 100'000;
  options.budget = mqlab::Duration::seconds(5);
  options.jobs = jobs;
  options.keep_going = true;
  const auto report = mqlab::search::verify(setup, options);
  std::fprintf(stderr, "%u jobs: %llu schedules, %llu anchors, %llu shapes\n", jobs,
               static_cast<unsigned long long>(report.schedules),
               static_cast<unsigned long long>(report.anchors),
               static_cast<unsigned long long>(report.shapes));
  return static_cast<double>(report.schedules) / report.seconds;
}

}  // namespace

int main() {
  mqlab::publish_module_catalog();
  const mqlab::sim::Setup setup(mqlab::read_scenario(scenario, "bench"));
  const double one = rate(setup, 1);
  const double two = rate(setup, 2);
  std::printf("{\"name\": \"verify.one_job\", \"value\": %.0f, \"unit\": \"schedules/s\"}\n", one);
  std::printf(
      "{\"name\": \"verify.two_jobs\", \"value\": %.0f, \"unit\": \"schedules/s\", \"peer\": \"one job\", "
      "\"peer_value\": %.0f}\n",
      two, one);
}
