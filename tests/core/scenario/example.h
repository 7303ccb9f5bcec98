// Scenarios for the tests of the reader.
#pragma once
#include <string>

namespace mqlab::testing {

/// The smallest scenario there is.
inline const std::string minimal = R"(name = "least"
[broker]
kind = "kafka"
[[topics]]
name = "requests"
[workload]
topic = "requests"
messages = 10
)";

/// Uses most of what a scenario can say.
inline const std::string full = R"(name = "embedder"
question = "Is every request embedded exactly once when a worker dies?"
[broker]
kind = "kafka"
version = "4.1"
nodes = 3
properties = { "min.insync.replicas" = 2 }
[client]
flavour = "librdkafka"
[[topics]]
name = "requests"
partitions = 6
replication = 3
[[topics]]
name = "vectors"
partitions = 6
replication = 3
properties.min.insync.replicas = 2
[[topics]]
name = "requests-dlt"
[workload]
topic = "requests"
rate = "2000/s"
messages = 10_000
size = "1KiB"
arrival = "poisson"
keys = { kind = "zipf", count = 1000, skew = 1.1 }
producer = { "linger.ms" = 5 }
[[stages]]
name = "embed"
module = "transactional-stage"
instances = 2
input = "requests"
output = "vectors"
service_time = { kind = "lognormal", p50 = "2ms", p99 = "9ms" }
failure = { transient = 0.02, poison = 0.001 }
retry = { style = "topics", attempts = 4, backoff = "1s*2", dead_letter = "requests-dlt" }
consumer = { "max.poll.records" = 100 }
producer = { "transactional.id" = "embed-{instance}" }
[[observers]]
name = "billing"
topic = "vectors"
consumer = { "isolation.level" = "read_committed" }
[network]
latency = { kind = "lognormal", p50 = "200us", p99 = "1ms" }
[faults]
menu = ["kill", "pause", "partition"]
at_most = 2
[[fault]]
at = { process = "embed", step = "deliver", nth = 3 }
action = "kill"
heal = "5s"
[claims]
exactly_once = { of = "requests", in = "vectors", as = "billing" }
"order.key" = [{ in = "vectors", as = "billing" }]
"latency.p99" = { at_most = "15ms" }
)";

}  // namespace mqlab::testing
