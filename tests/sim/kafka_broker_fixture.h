// A simulated Kafka cluster driven by raw requests: bare clients stand where client libraries would.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "sim/brokers/kafka/cluster.h"
#include "sim/brokers/kafka/controller.h"
#include "sim/brokers/kafka/groups.h"
#include "sim/brokers/kafka/node.h"
#include "sim/brokers/kafka/requests.h"
#include "sim/brokers/kafka/transactions.h"
#include "sim/world.h"

namespace mqlab::sim::kafka {

using Ids = std::vector<MessageId>;

/// Keeps every answer, and when it came.
class BareClient final : public Component {
 public:
  struct Got {
    Instant at;
    Answer* answer;
  };
  struct Beat {
    Instant at;
    std::uint32_t member;
    Error error;
  };
  explicit BareClient(World& world) : world_(world) {}
  void on(const SimEvent& event) override {
    if (event.kind == answer_event) got.push_back({world_.now(), reinterpret_cast<Answer*>(event.a)});
    if (event.kind == heartbeat_event) {
      beats.push_back({world_.now(), static_cast<std::uint32_t>(event.a), static_cast<Error>(event.x)});
    }
    if (event.kind == wake && event.x == alarm) awake = true;
  }
  static constexpr std::uint16_t wake = 100;
  std::vector<Got> got;
  std::vector<Beat> beats;
  bool awake = false;
  std::uint32_t alarm = 0;  ///< number of the latest; earlier ones are void

 private:
  World& world_;
};

struct Lab {
  struct Options {
    std::uint32_t nodes = 3;
    std::uint32_t partitions = 3;
    Properties broker = {};
    Properties topic = {};
    std::string version = "4.0";
    std::uint64_t seed = 1;
    std::uint32_t clients = 4;
    std::uint32_t replication = 0;  ///< 0 = on all nodes
    std::vector<QuotaSpec> quotas = {};
  };
  explicit Lab(Options options) : setup(scenario(options)), world(setup, 1 << 26) {
    for (auto& module : setup.modules)
      module = nullptr;  // no applications: the test's own clients are there instead
    setup.settle = Duration::seconds(100'000);
    schedule.seed = options.seed;
    world.begin(schedule, {});
    for (const ProcessId p : setup.topology.group("app")) {
      clients.push_back(std::make_unique<BareClient>(world));
      world.add(*clients.back(), p);
    }
    timer = std::make_unique<BareClient>(world);
    world.add(*timer, setup.topology.lab);
  }

  static Scenario scenario(const Options& o) {
    Scenario s;
    s.name = "bare";
    s.brokers.push_back({.name = "kafka",
                         .kind = BrokerKind::kafka,
                         .version = o.version,
                         .nodes = o.nodes,
                         .properties = o.broker,
                         .quotas = o.quotas});
    TopicSpec topic;
    topic.name = "in";
    topic.broker = "kafka";
    topic.partitions = o.partitions;
    topic.replication = o.replication == 0 ? o.nodes : o.replication;
    topic.properties = o.topic;
    s.topics.push_back(topic);
    topic.name = "out";
    s.topics.push_back(topic);
    WorkloadSpec app;
    app.name = "app";
    app.topic = "in";
    app.messages = 1;
    app.producers = o.clients;
    s.workloads.push_back(app);
    s.network.latency = {DurationSpec::Shape::constant, Duration::micros(200), {}};
    s.limits.horizon = Duration::seconds(100'000);
    return s;
  }

  KafkaCluster& cluster() { return static_cast<KafkaCluster&>(world.cluster(0)); }
  ProcessId node(std::uint32_t i) { return static_cast<ProcessId>(i); }
  PlaceId in(std::uint32_t p = 0) { return p; }
  Partition& partition(PlaceId place) { return *cluster().partition(place); }
  NodeIndex leader(PlaceId place) { return partition(place).decided.leader; }
  /// As the leader of the place has it.
  Replica& led(PlaceId place) { return *partition(place).replica(leader(place)); }
  Replica& replica(PlaceId place, NodeIndex n) { return *partition(place).replica(n); }
  Instant now() { return world.now(); }

  void set_alarm(Instant at) {
    timer->awake = false;
    world.schedule(at, *timer, BareClient::wake, 0, ++timer->alarm);
  }
  void run_until(Instant at) {
    set_alarm(at);
    while (!timer->awake && world.step()) {
    }
    ASSERT_TRUE(timer->awake);
  }
  void run_for(Duration d) { run_until(now() + d); }

  // ---- faults ----
  void cut(ProcessId a, ProcessId b, bool begin = true) {
    for (const auto& [x, y] : {std::pair{a, b}, std::pair{b, a}}) {
      begin ? world.network().cut(x, y) : world.network().join(x, y);
    }
    const LifeChange change = begin ? LifeChange::cut : LifeChange::joined;
    cluster().controller().life_changed(a, change);
    for (NodeIndex n = 0; n < cluster().size(); ++n) cluster().at(n).life_changed(a, change);
  }
  void kill(NodeIndex n, bool power_loss = false) { world.kill(cluster().process(n), power_loss); }
  void start(NodeIndex n) { world.start(cluster().process(n)); }
  /// A node that is neither of these.
  NodeIndex other(std::initializer_list<NodeIndex> than) {
    for (NodeIndex n = 0; n < cluster().size(); ++n) {
      if (std::find(than.begin(), than.end(), n) == than.end()) return n;
    }
    return no_node;
  }
  NodeSet isr(PlaceId place) { return partition(place).decided.isr; }
  NodeIndex controller() { return cluster().controller().active(); }

  // ---- requests ----
  template <class R>
  R* make(RequestKind kind, std::uint32_t client) {
    R* r;
    if constexpr (std::is_constructible_v<R, Arena&>) {
      r = world.arena().make<R>(world.arena());
    } else {
      r = world.arena().make<R>();
    }
    r->kind = kind;
    r->from = clients[client]->owner;
    r->correlation = ++correlation;
    r->reply_to = clients[client].get();
    return r;
  }
  /// Sends and returns the correlation.
  std::uint32_t send(ProcessId to, Request* r, Duration extra = {}) {
    const std::uint32_t c = r->correlation;
    world.network().send(r->from, cluster().node(to), 100, request_event, reinterpret_cast<std::uint64_t>(r),
                         0, 0, extra);
    return c;
  }
  template <class A>
  A* answer(std::uint32_t c) {
    for (auto& client : clients) {
      for (auto& g : client->got) {
        if (g.answer->correlation == c) return static_cast<A*>(g.answer);
      }
    }
    return nullptr;
  }
  Instant answered_at(std::uint32_t c) {
    for (auto& client : clients) {
      for (auto& g : client->got) {
        if (g.answer->correlation == c) return g.at;
      }
    }
    return Instant::never();
  }
  /// Runs until the answer is there, at most for so long.
  template <class A>
  A* await(std::uint32_t c, Duration at_most = Duration::seconds(60)) {
    set_alarm(now() + at_most);
    while (answer<A>(c) == nullptr && !timer->awake && world.step()) {
    }
    return answer<A>(c);
  }

  Batch* batch(MessageId first, std::uint32_t count, std::uint32_t bytes = 1000) {
    auto* b = world.arena().make<Batch>();
    b->count = b->capacity = count;
    b->bytes = bytes;
    b->records = static_cast<Record*>(world.arena().allocate(count * sizeof(Record)));
    for (std::uint32_t i = 0; i < count; ++i) {
      b->records[i] = Record{};
      b->records[i].id = first + i;
      b->records[i].size = 100;
    }
    return b;
  }
  Batch* sequenced(MessageId first, std::uint32_t count, std::int64_t producer, std::int16_t epoch,
                   std::int32_t sequence) {
    Batch* b = batch(first, count);
    b->producer = producer;
    b->epoch = epoch;
    b->first_sequence = sequence;
    return b;
  }
  std::uint32_t produce_to(ProcessId to, PlaceId place, Batch* b, std::int8_t acks = -1,
                           std::uint32_t client = 0) {
    auto* r = make<ProduceRequest>(RequestKind::produce, client);
    r->acks = acks;
    r->parts.push_back({place, b});
    return send(to, r);
  }
  std::uint32_t produce(PlaceId place, Batch* b, std::int8_t acks = -1, std::uint32_t client = 0) {
    return produce_to(cluster().process(leader(place)), place, b, acks, client);
  }
  /// Produces and waits; the part of the answer.
  ProducedPart produced(PlaceId place, Batch* b, std::int8_t acks = -1) {
    const auto* a = await<ProduceAnswer>(produce(place, b, acks));
    if (a == nullptr || a->parts.empty()) return {place, Error::timed_out_local, -1, false};
    return a->parts[0];
  }
  std::uint32_t fetch(PlaceId place, std::int64_t offset, bool read_committed = false,
                      std::uint32_t client = 1, std::uint32_t min_bytes = 1,
                      Duration wait = Duration::millis(500)) {
    auto* r = make<FetchRequest>(RequestKind::fetch, client);
    r->read_committed = read_committed;
    r->min_bytes = min_bytes;
    r->max_wait = wait;
    r->parts.push_back({place, offset, 1u << 20});
    return send(cluster().process(leader(place)), r);
  }
  /// Ids that a reader sees from the start of the place on, right now.
  std::vector<MessageId> read(PlaceId place, bool read_committed = false) {
    const auto* a = await<FetchAnswer>(fetch(place, 0, read_committed, 3, 1, Duration{}));
    std::vector<MessageId> ids;
    if (a == nullptr) return ids;
    for (const FetchedRecords& run : a->runs) {
      for (std::uint32_t i = 0; i < run.count; ++i) ids.push_back(run.batch->records[run.first + i].id);
    }
    return ids;
  }

  sim::Setup setup;
  World world;
  Schedule schedule;
  std::vector<std::unique_ptr<BareClient>> clients;
  std::unique_ptr<BareClient> timer;
  std::uint32_t correlation = 0;
};

inline const Properties fast_failover = {{"broker.session.timeout.ms", "2000"},
                                         {"broker.heartbeat.interval.ms", "500"},
                                         {"controller.quorum.fetch.timeout.ms", "1000"},
                                         {"controller.quorum.election.timeout.ms", "500"},
                                         {"controller.quorum.election.backoff.max.ms", "250"},
                                         {"replica.lag.time.max.ms", "3000"}};

inline Properties with(Properties base, const Properties& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

inline Ids range(MessageId first, MessageId last) {
  Ids ids(last - first + 1);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

inline Lab::Options fast(const Properties& more = {}) { return {.broker = with(fast_failover, more)}; }

/// A partition whose leader does not have the controller, or does.
inline PlaceId led_apart(Lab& lab, bool apart = true) {
  PlaceId place = 0;
  while ((lab.leader(place) != lab.controller()) != apart) ++place;
  return place;
}

inline void expect_same_logs(Lab& lab, PlaceId place) {
  const Log& leader = lab.led(place).log;
  for (NodeIndex n = 0; n < lab.cluster().size(); ++n) {
    const Log& log = lab.replica(place, n).log;
    ASSERT_EQ(log.end(), leader.end()) << int{n};
    ASSERT_EQ(log.entries().size(), leader.entries().size());
    for (std::size_t i = 0; i < log.entries().size(); ++i)
      EXPECT_EQ(log.entries()[i].batch, leader.entries()[i].batch);
  }
}

}  // namespace mqlab::sim::kafka
