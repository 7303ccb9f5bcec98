// End-to-end rate of the simulated Kafka: three nodes, replication 3, acks=all, 1 KiB messages, the delivery
// and order claims on, the history windowed. Once batched, once with one message a batch. CPU seconds of one
// core.
#include <cstdio>
#include <ctime>
#include <string>

#include "core/modules/registry.h"
#include "core/scenario/reader.h"
#include "search/runner.h"

namespace {

std::string scenario(long messages, const char* rate, const char* producer) {
  return R"(
name = "throughput"
[broker]
kind = "kafka"
version = "4.1"
nodes = 3
properties = { "min.insync.replicas" = 2 }
[client]
flavour = "java"
[[topics]]
name = "requests"
partitions = 6
replication = 3
[workload]
name = "api"
topic = "requests"
rate = ")" +
         std::string(rate) + R"("
messages = )" +
         std::to_string(messages) + R"(
size = "1KiB"
keys = { kind = "round_robin", count = 600 }
producer = )" +
         producer + R"(
[[stages]]
name = "sink"
module = "consumer"
input = "requests"
commit = "async"
consumer = { "enable.auto.commit" = false, "auto.offset.reset" = "earliest", "group.id" = "sink" }
[claims]
no_loss = { of = "requests" }
no_duplicates = { of = "requests" }
"order.partition" = { in = "requests" }
)";
}

void run(const char* name, long messages, const char* rate, const char* producer) {
  using namespace mqlab;
  publish_module_catalog();
  const sim::Setup setup(read_scenario(scenario(messages, rate, producer), name));
  search::Runner runner(setup, setup.scenario.claims);
  const std::clock_t begin = std::clock();
  const search::Outcome outcome = runner.stream({});
  const double cpu = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  for (std::size_t c = 0; c < outcome.findings.size(); ++c) {
    const Finding& f = outcome.findings[c];
    if (f.verdict != Verdict::holds)
      std::fprintf(stderr, "%s: %s\n", runner.claims()[c].id.c_str(), f.explanation.c_str());
  }
  std::printf("{\"name\": \"%s\", \"value\": %.0f, \"unit\": \"messages/s of CPU\"}\n", name,
              static_cast<double>(messages) / cpu);
  std::fprintf(stderr, "%s: %.2f rows and %.2f events a message\n", name,
               static_cast<double>(runner.history().size()) / static_cast<double>(messages),
               static_cast<double>(outcome.steps) / static_cast<double>(messages));
}

}  // namespace

int main() {
  run("kafka.batched", 1'000'000, "200000/s", R"({ "linger.ms" = 5, "batch.size" = 65536 })");
  run("kafka.one_a_batch", 200'000, "5000/s", R"({ "linger.ms" = 0, "batch.size" = 0 })");
}
