#include "sim/brokers/nats/plan.h"

#include <algorithm>

#include "core/modules/registry.h"
#include "core/scenario/error.h"
#include "core/scenario/nats_settings.h"
#include "core/scenario/subject.h"
#include "sim/brokers/nats/cluster.h"
#include "sim/brokers/nats/plan_values.h"
#include "sim/world.h"

namespace mqlab::sim::nats {
namespace {

bool share_subjects(const ConsumerValues& a, const ConsumerValues& b) {
  if (a.filters.empty() || b.filters.empty()) return true;
  return std::ranges::any_of(a.filters, [&](const std::string& x) {
    return std::ranges::any_of(b.filters, [&](const std::string& y) { return subjects_overlap(x, y); });
  });
}

class NatsPlan final : public ClusterPlan {
 public:
  NatsPlan(const Scenario& scenario, const Topology& topology, std::uint32_t broker);

  Cluster* make(World& world) const override { return world.arena().make<NatsCluster>(world, values_); }
  Capabilities capabilities(ProcessId process) const override;
  Duration settle() const override { return settle_ + Duration::seconds(1); }

 private:
  void read_streams(const Scenario& scenario, const Topology& topology, std::uint32_t broker);
  void read_origins(const Scenario& scenario, const Topology& topology, const TopicInfo& topic);
  void check_work_queue(const Scenario& scenario, const TopicInfo& topic) const;
  void read_client(const Scenario& scenario, const Topology& topology, ProcessId process);
  void read_input(const Scenario& scenario, const Topology& topology, ProcessId process, TopicId topic,
                  ClientValues& client);
  std::uint32_t consumer(const ConsumerValues& wanted, const NatsConsumer& settings,
                         const SettingPlace& place);
  void settle_beyond(Duration wait) { settle_ = std::max(settle_, wait); }

  const BrokerSpec& spec_;
  sim::nats::Values values_;
  std::vector<NatsConsumer> durables_;  ///< what the plan's consumers were made from
  Duration settle_ =
      Duration::seconds(10);  ///< elections take up to 9 s, a leader without followers 10 s to step down
};

NatsPlan::NatsPlan(const Scenario& scenario, const Topology& topology, std::uint32_t broker)
    : spec_(scenario.brokers[broker]) {
  const NatsServer server = resolve_nats_server(scenario, spec_);
  values_.server = server_values(server);
  if (server.peer_remove_after != Duration::forever()) settle_beyond(server.peer_remove_after);
  values_.first_node = topology.first_of(Role::broker, broker);
  read_streams(scenario, topology, broker);
  values_.clients.resize(topology.processes.size());
  for (std::size_t p = 0; p < topology.processes.size(); ++p) {
    read_client(scenario, topology, static_cast<ProcessId>(p));
  }
  for (const TopicInfo& topic : topology.topics) {
    if (topic.kind == TopicKind::stream && topic.broker == broker) check_work_queue(scenario, topic);
  }
}

/// [nats-server: consumer.go, JSConsumerWQRequiresExplicitAck, JSConsumerWQMultipleUnfiltered,
/// JSConsumerWQConsumerNotUnique]
void NatsPlan::check_work_queue(const Scenario& scenario, const TopicInfo& topic) const {
  const std::uint32_t stream = values_.stream_of[topic.first_place];
  if (values_.streams[stream].retention != Retention::workqueue) return;
  const auto refuse = [&](const char* problem) {
    throw ScenarioError(scenario.file, scenario.topics[topic.index].line,
                        "streams." + topic.name + ".properties.retention", problem);
  };
  std::vector<const ConsumerValues*> readers;
  for (const ConsumerValues& c : values_.consumers) {
    if (c.stream != stream) continue;
    if (c.ack != AckPolicy::explicit_ack) refuse("a workqueue stream's consumer must acknowledge explicitly");
    for (const ConsumerValues* other : readers) {
      if (share_subjects(c, *other))
        refuse(
            "a workqueue stream has one consumer a subject; give the stages one durable name, or filters "
            "apart");
    }
    readers.push_back(&c);
  }
  for (const ClientValues& client : values_.clients) {
    for (const InputValues& input : client.inputs) {
      if (input.ordered && input.stream == stream)
        refuse("an ordered consumer (an observer's default) cannot read a workqueue stream");
    }
  }
}

/// A copy's messages have its origins' subjects.
void NatsPlan::read_origins(const Scenario& scenario, const Topology& topology, const TopicInfo& topic) {
  const NatsStream read = resolve_nats_stream(scenario, scenario.topics[topic.index], spec_);
  std::vector<std::string> names = read.sources;
  if (!read.mirror.empty()) names.push_back(read.mirror);
  StreamValues& values = values_.streams[values_.stream_of[topic.first_place]];
  values.mirror = !read.mirror.empty();
  for (const std::string& name : names) {
    const std::uint32_t origin = values_.stream_of[topology.topics[topology.topic(name)].first_place];
    values.origins.push_back({origin, static_cast<std::uint32_t>(values.forms.size())});
    const std::vector<SubjectForm>& forms = values_.streams[origin].forms;
    values.forms.insert(values.forms.end(), forms.begin(), forms.end());
    // Without heartbeats a copy looks for its origin every 10 s.
    settle_beyond(Duration::seconds(25));
  }
  if (values.forms.size() > 16) {  // Record::form
    throw ScenarioError(scenario.file, scenario.topics[topic.index].line, "streams." + topic.name,
                        "more than 16 kinds of subjects in one stream are not modelled");
  }
}

void NatsPlan::read_streams(const Scenario& scenario, const Topology& topology, std::uint32_t broker) {
  values_.stream_of.assign(topology.places.size(), no_stream);
  for (const TopicInfo& topic : topology.topics) {
    if (topic.kind != TopicKind::stream || topic.broker != broker) continue;
    const TopicSpec& stream = scenario.topics[topic.index];
    const NatsStream read = resolve_nats_stream(scenario, stream, spec_);
    StreamValues values = stream_values(read, stream.subjects);
    values.place = topic.first_place;
    values_.stream_of[topic.first_place] = static_cast<std::uint32_t>(values_.streams.size());
    values_.streams.push_back(values);
  }
  for (const TopicInfo& topic : topology.topics) {
    if (topic.kind == TopicKind::stream && topic.broker == broker) read_origins(scenario, topology, topic);
  }
}

void NatsPlan::read_client(const Scenario& scenario, const Topology& topology, ProcessId process) {
  const ProcessInfo& info = topology.processes[process];
  if (info.role != Role::workload && info.role != Role::stage && info.role != Role::observer) return;
  const Ports ports = ports_of(scenario, topology, process);
  ClientValues& client = values_.clients[process];
  const auto here = [&](TopicId topic) {
    return topology.topics[topic].kind == TopicKind::stream &&
           values_.stream_of[topology.topics[topic].first_place] != no_stream;
  };
  if (!ports.outputs.empty() && std::ranges::all_of(ports.outputs, here)) {
    const bool workload = info.role == Role::workload;
    const NatsProducer p = resolve_nats_producer(
        scenario, workload ? scenario.workloads[info.index].producer : scenario.stages[info.index].producer,
        spec_, (workload ? "workloads." : "stages.") + info.group + ".producer");
    client.message_id = p.msg_id;
    client.max_pending = p.max_pending;
    client.ack_timeout = p.ack_timeout;
    client.stall_wait = p.stall_wait;
    client.retry_attempts = p.retry_attempts;
    client.retry_wait = p.retry_wait;
    take(p.connection, client);
    for (const TopicId topic : ports.outputs)
      client.outputs.push_back({values_.stream_of[topology.topics[topic].first_place]});
    settle_beyond(p.ack_timeout + p.retry_wait * p.retry_attempts);
    settle_beyond(p.stall_wait);
  }
  if (!ports.inputs.empty() && std::ranges::all_of(ports.inputs, here)) {
    for (const TopicId topic : ports.inputs) read_input(scenario, topology, process, topic, client);
  }
  settle_beyond(client.reconnect_wait + client.reconnect_jitter + client.connect_timeout);
}

void NatsPlan::read_input(const Scenario& scenario, const Topology& topology, ProcessId process,
                          TopicId topic, ClientValues& client) {
  const ProcessInfo& info = topology.processes[process];
  const bool observer = info.role == Role::observer;
  Properties properties =
      observer ? scenario.observers[info.index].consumer : scenario.stages[info.index].consumer;
  // An observer disturbs nobody: it reads by an ordered consumer unless it says otherwise.
  if (observer && find(properties, "ordered") == nullptr) properties.push_back({"ordered", "true", 0});
  const std::string path = (observer ? "observers." : "stages.") + info.group + ".consumer";
  const NatsConsumer c = resolve_nats_consumer(scenario, properties, spec_, path);
  InputValues input = input_values(c, values_.stream_of[topology.topics[topic].first_place]);
  client.pull_expires = c.expires;
  settle_beyond(c.expires + Duration::seconds(1));
  take(c.connection, client);
  ConsumerValues wanted = consumer_values(c, values_.streams, input.stream);
  if (c.ordered) {
    input.consumer = static_cast<std::uint32_t>(values_.ordered.size());
    settle_beyond(wanted.heartbeat * 4 + Duration::seconds(6));
    values_.ordered.push_back(std::move(wanted));
  } else {
    wanted.name = c.durable.empty() ? info.group : c.durable;
    wanted.stage = observer ? static_cast<std::uint32_t>(scenario.stages.size()) : info.index;
    settle_beyond(c.ack_wait + Duration::seconds(2));
    for (const Duration wait : c.backoff) settle_beyond(wait + Duration::seconds(2));
    input.consumer =
        consumer(wanted, c, {scenario.file, path, observer ? 0 : scenario.stages[info.index].line});
  }
  client.inputs.push_back(input);
}

/// Processes that name the same durable share it; the first one's settings made it, and a later one's are
/// ignored unless it updates it. [nats.java#545; nats-server: errors.json 10012, 10148]
std::uint32_t NatsPlan::consumer(const ConsumerValues& wanted, const NatsConsumer& settings,
                                 const SettingPlace& place) {
  const auto at = std::ranges::find_if(values_.consumers, [&](const ConsumerValues& c) {
    return c.stream == wanted.stream && c.name == wanted.name;
  });
  if (at != values_.consumers.end()) {
    const auto index = static_cast<std::size_t>(at - values_.consumers.begin());
    using Action = NatsConsumer::Action;
    const auto refuse = [&](const std::string& problem) {
      throw ScenarioError(place.file, place.line, place.path, "durable " + wanted.name + ": " + problem);
    };
    if (settings.action == Action::create && !same_consumer(durables_[index], settings))
      refuse("consumer already exists, with other settings");
    if (settings.action == Action::update) {
      const std::string problem = not_updatable(durables_[index], settings);
      if (!problem.empty()) refuse(problem);
      const std::uint32_t stage = at->stage;
      *at = wanted;
      at->stage = stage;
      durables_[index] = settings;
    }
    return static_cast<std::uint32_t>(index);
  }
  values_.consumers.push_back(wanted);
  durables_.push_back(settings);
  return static_cast<std::uint32_t>(values_.consumers.size() - 1);
}

Capabilities NatsPlan::capabilities(ProcessId process) const {
  const ClientValues& client = values_.clients[process];
  Capabilities c;
  const bool acks = std::ranges::any_of(client.inputs, [&](const InputValues& input) {
    return !input.ordered && values_.consumers[input.consumer].ack != AckPolicy::none;
  });
  // Without acknowledgements an ack is taken and has no effect, so that any module can read so.
  c.queue = !client.inputs.empty();
  c.negative_ack = c.in_progress = c.terminate = acks;
  c.deduplicates = client.message_id && !client.outputs.empty() &&
                   std::ranges::all_of(client.outputs, [&](const OutputValues& output) {
                     return values_.streams[output.stream].duplicate_window.ns > 0;
                   });
  c.max_message_bytes = values_.server.max_payload;
  return c;
}

}  // namespace

std::unique_ptr<ClusterPlan> plan_nats(const Scenario& scenario, const Topology& topology,
                                       std::uint32_t broker) {
  return std::make_unique<NatsPlan>(scenario, topology, broker);
}

}  // namespace mqlab::sim::nats
