#include "core/scenario/keys.h"

#include <array>

namespace mqlab {
namespace {

constexpr auto table_of_keys = std::to_array<KeyInfo>({
    {"", "name", "name", "required", "names the scenario in results and messages"},
    {"", "question", "string", "\"\"", "what the scenario answers, in one sentence"},
    {"", "broker", "table", "", "one broker; the same as a list of one"},
    {"", "brokers", "list of tables", "", "several broker clusters"},
    {"", "client", "table", "", "which client library the processes use"},
    {"", "topic", "table", "", "one Kafka topic"},
    {"", "topics", "list of tables", "", "Kafka topics"},
    {"", "stream", "table", "", "one NATS stream"},
    {"", "streams", "list of tables", "", "NATS streams"},
    {"", "workload", "table", "", "one source of messages"},
    {"", "workloads", "list of tables", "", "several sources"},
    {"", "stage", "table", "", "one stage"},
    {"", "stages", "list of tables", "",
     "the application: each stage runs a module in one or more processes"},
    {"", "observer", "table", "", "one observer"},
    {"", "observers", "list of tables", "", "readers whose view claims are judged by"},
    {"", "network", "table", "", "between all processes and brokers"},
    {"", "faults", "table", "", "what the search may do to the system"},
    {"", "fault", "list of tables", "", "faults spelled out, carried out one after the other"},
    {"", "claims", "table", "", "what is claimed; see docs/claims.md"},
    {"", "limits", "table", "", "when a run gives up"},
    {"", "live", "table", "", "a cluster of your own for live runs; see docs/live.md"},

    {"broker", "name", "name", "(the kind)", "its nodes are NAME-1, NAME-2 …"},
    {"broker", "kind", "\"kafka\" or \"nats\"", "required", ""},
    {"broker", "version", "string", "(kafka \"4.1\", nats \"2.12\")", "Kafka 3.0 to 4.x, NATS 2.9 to 2.x"},
    {"broker", "nodes", "integer 1 to 9", "1", "servers of the cluster"},
    {"broker", "properties", "map", "", "the broker's own settings by their own names; see docs/settings.md"},

    {"broker", "quotas", "table", "", "Kafka: what each client may write and read a second at each node"},

    {"broker.quotas", "producer_byte_rate", "bytes a second", "(no limit)",
     "each client that has no limit of its own writes so much to a node; 20480 or \"20KiB/s\""},
    {"broker.quotas", "consumer_byte_rate", "bytes a second", "(no limit)", "and reads so much from it"},
    {"broker.quotas", "clients", "table of tables", "",
     "limits of single clients by the name of a process, workload, stage or observer: "
     "`[broker.quotas.clients.worker]`"},

    {"broker.quotas.client", "producer_byte_rate", "bytes a second", "(that of all)",
     "of each of its processes; Kafka's client.id is the process's name"},
    {"broker.quotas.client", "consumer_byte_rate", "bytes a second", "(that of all)", ""},

    {"client", "flavour", "\"java\" or \"librdkafka\"; NATS: \"nats.c\"", "(librdkafka, nats.c)",
     "whose defaults, names and habits the processes have"},

    {"topic", "name", "name", "required", ""},
    {"topic", "broker", "name", "(the only broker)", ""},
    {"topic", "partitions", "integer 1 to 4096", "1", "when a run begins"},
    {"topic", "more_partitions", "integer 0 to 4095", "0", "made when an add_partitions strikes the topic"},
    {"topic", "replication", "integer, at most the broker's nodes", "1", "replicas of each partition"},
    {"topic", "properties", "map", "", "the topic's own settings"},

    {"stream", "name", "name", "required", ""},
    {"stream", "broker", "name", "(the only broker)", ""},
    {"stream", "replicas", "integer, at most the broker's nodes", "1", ""},
    {"stream", "subjects", "list of strings", "(NAME.>)", "subjects the stream stores"},
    {"stream", "properties", "map", "", "the stream's own settings"},

    {"workload", "name", "name", "\"producer\"", "required when there are several"},
    {"workload", "topic", "name", "required", "where the messages go; `stream` is the same"},
    {"workload", "stream", "name", "", "the same as `topic`"},
    {"workload", "rate", "rate, more than 0", "\"1000/s\"",
     "messages a second over all producers; \"90/m\", or a number"},
    {"workload", "messages", "integer 1 to 1e9", "(this or duration)", "exactly so many"},
    {"workload", "duration", "duration", "(this or messages)", "rate × duration messages"},
    {"workload", "size", "size, or { low, high }", "\"1KiB\"",
     "bytes of a message's value; a table draws evenly from a range"},
    {"workload", "tombstones", "number 0 to 1", "0.0",
     "Kafka: share of the messages without value; a compacted topic forgets their keys"},
    {"workload", "arrival", "\"constant\", \"poisson\", or { kind, burst }", "\"constant\"",
     "when the messages come"},
    {"workload", "keys", "\"none\", or { kind, count, skew }", "\"none\"", "which key a message has"},
    {"workload", "producers", "integer 1 to 256", "1",
     "processes that share the load: message i goes to process i mod producers"},
    {"workload", "producer", "map", "", "the producing client's own settings"},

    {"workload.size", "low", "size, at least 40 bytes", "required", ""},
    {"workload.size", "high", "size, at least low", "required", ""},
    {"workload.arrival", "kind", "\"constant\", \"poisson\" or \"bursts\"", "required", ""},
    {"workload.arrival", "burst", "integer 1 to 1000000", "1",
     "bursts: messages that come together; the rate is kept"},
    {"workload.keys", "kind", "\"none\", \"round_robin\", \"uniform\" or \"zipf\"", "required", ""},
    {"workload.keys", "count", "integer 1 to 1000000", "1", "distinct keys"},
    {"workload.keys", "skew", "number 0 to 10", "1.0", "zipf: key k is drawn in proportion to k^-skew"},

    {"stage", "name", "name", "required", "its processes are NAME-0, NAME-1 …"},
    {"stage", "module", "name, or \"FILE.py:Class\"", "required", "what the stage does; see docs/modules.md"},
    {"stage", "instances", "integer 1 to 256", "1", "processes"},
    {"stage", "spares", "integer 0 to 255", "0",
     "further processes, numbered behind the instances; each begins when a scale_out strikes it"},
    {"stage", "input", "name", "", "topic or stream it reads"},
    {"stage", "inputs", "list of names", "[]", "several"},
    {"stage", "output", "name", "", "topic or stream it writes"},
    {"stage", "outputs", "list of names", "[]", "several"},
    {"stage", "store", "name", "\"\"", "store it uses"},
    {"stage", "service_time", "duration, or a distribution", "\"0s\"", "how long handling one message takes"},
    {"stage", "failure", "table", "", "failures of the application itself"},
    {"stage", "retry", "table", "", "what the application does about them"},
    {"stage", "consumer", "map", "", "the reading client's own settings"},
    {"stage", "producer", "map", "",
     "the writing client's own settings; {instance} stands for the instance's number"},

    {"stage.failure", "transient", "number 0 to 1", "0.0",
     "share of handlings that fail and may be tried again"},
    {"stage.failure", "poison", "number 0 to 1", "0.0", "share of messages that always fail"},
    {"stage.retry", "style", "\"none\", \"in_place\" or \"topics\"", "\"none\"",
     "topics: what failed waits in a topic of its own, and is overtaken"},
    {"stage.retry", "attempts", "integer 1 to 1000", "1", "handlings before it gives up"},
    {"stage.retry", "backoff", "duration, or \"1s*2\"", "\"0s\"",
     "wait before the next attempt; *2 doubles it each time"},
    {"stage.retry", "dead_letter", "name", "\"\"", "topic for what was given up; none: dropped"},

    {"distribution", "kind", "\"constant\", \"uniform\", \"exponential\" or \"lognormal\"", "required", ""},
    {"distribution", "value", "duration", "", "constant"},
    {"distribution", "low", "duration", "", "uniform"},
    {"distribution", "high", "duration", "", "uniform"},
    {"distribution", "mean", "duration", "", "exponential"},
    {"distribution", "p50", "duration, more than 0", "", "lognormal"},
    {"distribution", "p99", "duration, at least p50", "", "lognormal"},

    {"observer", "name", "name", "required", ""},
    {"observer", "topic", "name", "required", "what it reads; `stream` is the same"},
    {"observer", "stream", "name", "", "the same as `topic`"},
    {"observer", "consumer", "map", "", "the reading client's own settings"},

    {"network", "latency", "duration, or a distribution", "\"200us\"", "one way"},
    {"network", "loss", "number 0 to 0.9", "0.0",
     "share of segments lost; shows as delay, since the transport resends"},
    {"network", "bandwidth", "bytes a second, \"125MB/s\"", "\"\"", "of each connection; none: unlimited"},
    {"network", "platform", "string", "\"\"",
     "SimGrid platform file, whose links connections share; none: the network in the process"},
    {"network", "racks", "table", "", "a platform made here, instead of a file"},
    {"network", "place", "map", "",
     "host of a process or of a group's; others: the host of the same name, or the next one in turn"},
    {"network.racks", "zones", "integer 1 to 64", "1", ""},
    {"network.racks", "racks", "integer 1 to 64", "1", "of each zone"},
    {"network.racks", "hosts", "integer 1 to 64", "4", "of each rack; zone1-rack1-host1 is the first"},
    {"network.racks", "host", "bytes a second", "\"1250MB/s\"", "a host's link, each way"},
    {"network.racks", "rack", "bytes a second", "\"5000MB/s\"", "a rack's uplink, each way"},
    {"network.racks", "zone", "bytes a second", "\"12500MB/s\"", "a zone's uplink, each way"},
    {"network.racks", "host_latency", "duration", "\"50us\"", "one way, of a host's link"},
    {"network.racks", "rack_latency", "duration", "\"25us\"", "of a rack's uplink"},
    {"network.racks", "zone_latency", "duration", "\"250us\"", "of a zone's uplink"},

    {"faults", "menu", "list of actions", "[]", "what may happen"},
    {"faults", "targets", "list of names", "[]",
     "processes, stages, workloads, observers or brokers that may be hit; none: all stages"},
    {"faults", "steps", "list of steps", "[]", "anchors that may be used; none: all"},
    {"faults", "at_most", "integer 0 to 16", "1", "faults in one run"},
    {"faults", "heal", "duration, or a list", "[\"1s\"]",
     "how long a fault lasts, each is tried; kill: until the restart"},

    {"fault", "at", "table, or a duration", "required", "when"},
    {"fault", "action", "action", "required",
     "kill, restart, pause, power_loss, partition, delay, drop_response, reset, disk_full, fsync_error, "
     "clock_jump, scale_out (a spare of a stage begins), scale_in (an instance stops by SIGTERM), "
     "add_partitions (to a "
     "topic)"},
    {"fault", "target", "name", "\"\"",
     "a process, a stage, workload or broker, \"leader of TOPIC/0\"; none: the process of `at`"},
    {"fault", "between", "list of two", "[]",
     "partition: the two sides, each names with commas, or \"rest\""},
    {"fault", "heal", "duration", "\"1s\"",
     "how long it lasts; kill: until the restart; scale_out, scale_in, add_partitions: for good, without it"},

    {"fault.at", "time", "duration", "", "so long after the start"},
    {"fault.at", "process", "name", "", "a process, or a stage, workload or observer: any of its processes"},
    {"fault.at", "step", "step", "", "what it does at that moment; see docs/faults.md"},
    {"fault.at", "message", "integer", "0", "only for this message; 0: any"},
    {"fault.at", "nth", "integer at least 1", "1", "the nth time"},

    {"claim", "of", "name", "\"\"", "the population: a topic, stream or workload"},
    {"claim", "in", "name", "\"\"", "where effects are looked for: a topic, stream, store or stage"},
    {"claim", "as", "name", "\"\"", "whose view: an observer"},
    {"claim", "expect", "\"holds\" or \"violated\"", "\"holds\"",
     "violated: a ratchet; then holding is the surprise"},
    {"claim", "excused", "list of strings", "[]", "losses that do not count"},

    {"limits", "horizon", "duration, more than 0", "\"10m\"",
     "of the run's own time; with something still going on by then: undecided"},
    {"limits", "live_timeout", "duration, more than 0", "\"2m\"", "of a live run"},

    {"live", "address", "string", "required", "HOST:PORT,… (kafka) or URLs (nats)"},
    {"live", "properties", "map", "",
     "of every client that connects, by the library's own names; secrets as \"${NAME}\" of the environment"},
});

}  // namespace

std::span<const KeyInfo> all_keys() { return table_of_keys; }

std::vector<std::string> keys_of(std::string_view table) {
  std::vector<std::string> keys;
  for (const KeyInfo& info : table_of_keys) {
    if (info.table == table) keys.emplace_back(info.key);
  }
  return keys;
}

}  // namespace mqlab
