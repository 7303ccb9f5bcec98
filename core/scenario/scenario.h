// The scenario as a value: what a user wrote, checked and completed with defaults. Plain data, no behaviour.
// Files are read by core/scenario/reader.h; docs/scenario.md is the page for users.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/time.h"

namespace mqlab {

/// One `key = value` of a property map, the broker's, client's or module's own name; value as text ("5",
/// "true").
struct Property {
  std::string key;
  std::string value;
  int line = 0;  ///< in the scenario file; 0 = a default
};
using Properties = std::vector<Property>;
/// nullptr when absent.
const Property* find(const Properties& properties, std::string_view key);

enum class BrokerKind : std::uint8_t { kafka, redpanda, nats, redis, rabbitmq, pulsar };
enum class Flavour : std::uint8_t { java, librdkafka, nats_c };

/// A distribution of durations: constant a · uniform a…b · exponential mean a · lognormal p50 = a, p99 = b.
struct DurationSpec {
  enum class Shape : std::uint8_t { constant, uniform, exponential, lognormal };
  Shape shape = Shape::constant;
  Duration a = {};
  Duration b = {};
};

/// What a client may write to and read from each node of a Kafka cluster, in bytes per second (KIP-13); 0 =
/// no limit is said.
struct QuotaSpec {
  std::string
      client;  ///< a process, or a workload, stage or observer: each of its processes; empty = any other
  std::uint64_t producer_byte_rate = 0;
  std::uint64_t consumer_byte_rate = 0;
  int line = 0;
};

struct BrokerSpec {
  std::string name;  ///< default: the kind
  BrokerKind kind = BrokerKind::kafka;
  std::string version;
  std::uint32_t nodes = 1;
  Properties properties;
  std::vector<QuotaSpec> quotas = {};
  int line = 0;
};

/// A Kafka topic or a NATS stream. (A stream has one partition; its replicas are `replication`.)
struct TopicSpec {
  std::string name;
  std::string broker;
  bool stream = false;
  std::uint32_t partitions = 1;
  std::uint32_t more_partitions = 0;  ///< made when an add_partitions strikes
  std::uint32_t replication = 1;
  std::vector<std::string> subjects;  ///< streams; default: NAME.>
  Properties properties;
  int line = 0;
};

struct ArrivalSpec {
  enum class Kind : std::uint8_t { constant, poisson, bursts };
  Kind kind = Kind::constant;
  std::uint32_t burst = 1;  ///< messages that come together; the rate is kept over all
};

struct KeySpec {
  enum class Kind : std::uint8_t { none, round_robin, uniform, zipf };
  Kind kind = Kind::none;
  std::uint32_t count = 1;
  double skew = 1.0;
};

struct SizeSpec {  ///< bytes; constant: low = high
  std::uint32_t low = 1024;
  std::uint32_t high = 1024;
};

struct WorkloadSpec {
  std::string name;
  std::string topic;
  double rate = 1000;          ///< messages per second
  std::uint64_t messages = 0;  ///< exactly so many (a duration is turned into this)
  ArrivalSpec arrival;
  KeySpec keys;
  SizeSpec size;
  double tombstones = 0;        ///< share of the messages that have no value
  std::uint32_t producers = 1;  ///< processes that share the load, message i goes to i mod producers
  Properties producer;          ///< client settings
  Properties settings;          ///< of the producer module
  int line = 0;
};

struct FailureSpec {
  double transient = 0;  ///< share of handlings that fail and may be tried again
  double poison = 0;     ///< share of messages that always fail
};

struct RetrySpec {
  enum class Style : std::uint8_t { none, in_place, topics };
  Style style = Style::none;
  std::uint32_t attempts = 1;
  Duration backoff = {};
  std::uint32_t multiplier = 1;
  std::string dead_letter;  ///< topic; empty = give up silently
};

struct StageSpec {
  std::string name;
  std::string module;  ///< a built-in name, or "FILE.py:Class"
  std::uint32_t instances = 1;
  std::uint32_t spares = 0;  ///< further instances, which begin when scaled out
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::string store;  ///< name of the store the stage uses; empty = none
  DurationSpec service_time;
  FailureSpec failure;
  RetrySpec retry;
  Properties consumer;  ///< client settings
  Properties producer;
  Properties settings;  ///< the module's own
  int line = 0;
};

struct ObserverSpec {
  std::string name;
  std::string topic;
  Properties consumer;
  int line = 0;
};

/// A platform made here: zones of racks of hosts. Each link has both directions apart; a rack's or zone's
/// uplink is shared by all that leaves it.
struct RacksSpec {
  struct Link {
    std::uint64_t bytes_per_second;
    Duration latency;  ///< one way
  };
  std::uint32_t zones = 1;
  std::uint32_t racks = 1;                            ///< of each zone
  std::uint32_t hosts = 4;                            ///< of each rack
  Link host = {1'250'000'000, Duration::micros(50)};  ///< 10 Gbit/s
  Link rack = {5'000'000'000, Duration::micros(25)};
  Link zone = {12'500'000'000, Duration::micros(250)};
};

struct NetworkSpec {
  DurationSpec latency = {DurationSpec::Shape::constant, Duration::micros(200), {}};  ///< one way
  double loss = 0;                     ///< share of segments lost (shows as delay: the transport resends)
  std::uint64_t bytes_per_second = 0;  ///< of each connection; 0 = no limit
  std::string platform;                ///< SimGrid platform file, relative to the scenario's
  std::optional<RacksSpec> racks;      ///< or a platform made here
  Properties place;                    ///< host by process, or by group for all of its processes
  /// Links shared between connections, by SimGrid. Otherwise the network in the process.
  bool shared() const { return racks.has_value() || !platform.empty(); }
};

enum class Action : std::uint8_t {
  kill,
  restart,
  pause,
  power_loss,
  partition,
  delay,
  drop_response,
  reset,      ///< the connection a request went out on breaks
  disk_full,  ///< of a broker node: no block is free any more
  clock_jump,
  scale_out,       ///< a spare instance of a stage begins, for good
  scale_in,        ///< an instance of a stage is told to stop (SIGTERM), for good
  add_partitions,  ///< to a Kafka topic, for good
  fsync_error,     ///< of a broker node: what it writes stays in the page cache, each fsync fails
};
inline constexpr Action last_action = Action::fsync_error;

/// Where in the run something happens: at a time, or when a row like this is written.
struct AnchorSpec {
  std::optional<Duration> time;
  std::string process;        ///< a process, or a stage or workload (any of its instances)
  std::string step;           ///< see core/faults/anchor.h for the names
  std::uint32_t message = 0;  ///< 0 = any
  std::uint32_t nth = 1;      ///< the nth row that matches
};

struct FaultSpec {
  AnchorSpec at;
  Action action = Action::kill;
  std::string target;  ///< a process ("kafka-2"), "leader of TOPIC/0"; empty = the anchored process
  std::vector<std::string> between;      ///< partition: the two sides' processes
  Duration heal = Duration::seconds(1);  ///< how long it lasts; kill: until the restart
  int line = 0;
};

struct FaultMenu {
  std::vector<Action> menu;
  std::vector<std::string>
      targets;                     ///< processes, stages or broker kinds that may be hit; empty = all stages
  std::vector<std::string> steps;  ///< anchors that may be used; empty = all
  std::uint32_t at_most = 1;
  std::vector<Duration> heal;  ///< durations tried
};

struct ClaimSpec {
  std::string id;          ///< "exactly_once", "order.key", "latency.p99" …
  std::string of, in, as;  ///< population, place of effects, observer
  Properties parameters;   ///< at_most, repeats …
  bool expect_violated = false;
  std::vector<std::string> excused;
  int line = 0;
  /// "exactly_once of requests in vectors as billing"
  std::string scope() const;
};

struct LimitsSpec {
  Duration horizon = Duration::seconds(600);  ///< of simulated (or live) time; not at rest by then: undecided
  Duration live_timeout = Duration::seconds(120);
};

/// A cluster of the user's own for live runs, in place of one that the lab starts on loopback. It is never
/// harmed.
struct LiveSpec {
  std::string address;    ///< host:port,… (kafka) or URLs (nats); empty = none
  Properties properties;  ///< of every client, by the library's own names; secrets stand as "${NAME}"
};

struct Scenario {
  std::string file;  ///< as named in messages
  std::string name;
  std::string question;
  std::vector<BrokerSpec> brokers;
  Flavour flavour = Flavour::librdkafka;
  std::vector<TopicSpec> topics;
  std::vector<WorkloadSpec> workloads;
  std::vector<StageSpec> stages;
  std::vector<ObserverSpec> observers;
  NetworkSpec network;
  FaultMenu menu;
  std::vector<FaultSpec> faults;
  std::vector<ClaimSpec> claims;
  LimitsSpec limits;
  LiveSpec live;
};

/// The topics in which a stage with retry.style = "topics" keeps what failed, by input and then by attempt:
/// "requests-retry-1000" for a wait of 1000 ms, "requests-retry-2" where all waits are the same. None
/// otherwise.
std::vector<std::string> retry_topics(const StageSpec& stage);

std::string_view name_of(BrokerKind kind);
std::string_view name_of(Flavour flavour);
/// Happens to one request of a client on its way; all others to a process.
constexpr bool of_request(Action action) {
  return action == Action::delay || action == Action::drop_response || action == Action::reset;
}
/// Happens to a disk, and only brokers have one.
constexpr bool of_disk(Action action) { return action == Action::disk_full || action == Action::fsync_error; }
/// No faults but what operators do to a stage, or to a topic.
constexpr bool of_scale(Action action) { return action == Action::scale_out || action == Action::scale_in; }
/// It has no end.
constexpr bool for_good(Action action) { return of_scale(action) || action == Action::add_partitions; }
std::string_view name_of(Action action);

}  // namespace mqlab
