#include "sim/brokers/nats/plan.h"

#include <algorithm>

#include "core/modules/registry.h"
#include "core/scenario/error.h"
#include "core/scenario/nats_settings.h"
#include "core/scenario/subject.h"
#include "sim/brokers/nats/cluster.h"
#include "sim/world.h"

namespace mqlab::sim::nats {
namespace {

SubjectForm subject_form(const std::string& form) {
  SubjectForm values;
  values.form = form;
  values.keys = subject_bytes(form, 10) - subject_bytes(form, 1);
  values.fixed = subject_bytes(form, 0) - values.keys;
  return values;
}

class NatsPlan final : public ClusterPlan {
 public:
  NatsPlan(const Scenario& scenario, const Topology& topology, std::uint32_t broker);

  Cluster* make(World& world) const override { return world.arena().make<NatsCluster>(world, values_); }
  Capabilities capabilities(ProcessId process) const override;
  Duration settle() const override { return settle_ + Duration::seconds(1); }

 private:
  void read_streams(const Scenario& scenario, const Topology& topology, std::uint32_t broker);
  void check_work_queue(const Scenario& scenario, const TopicInfo& topic) const;
  void read_client(const Scenario& scenario, const Topology& topology, ProcessId process);
  void read_input(const Scenario& scenario, const Topology& topology, ProcessId process, TopicId topic,
                  ClientValues& client);
  std::uint32_t consumer(const ConsumerValues& wanted);
  void settle_beyond(Duration wait) { settle_ = std::max(settle_, wait); }

  const BrokerSpec& spec_;
  sim::nats::Values values_;
  Duration settle_ =
      Duration::seconds(10);  ///< elections take up to 9 s, a leader without followers 10 s to step down
};

NatsPlan::NatsPlan(const Scenario& scenario, const Topology& topology, std::uint32_t broker)
    : spec_(scenario.brokers[broker]) {
  const NatsServer server = resolve_nats_server(scenario, spec_);
  values_.server.nodes = spec_.nodes;
  values_.server.sync_always = server.sync_always;
  values_.server.sync_interval = server.sync_interval;
  values_.server.max_payload = server.max_payload;
  values_.server.max_pending = server.max_pending;
  values_.server.write_deadline = server.write_deadline;
  values_.server.peer_remove_after = server.peer_remove_after;
  values_.server.forgets_streams = server.forgets_streams;
  values_.server.removes_peers_alone = server.removes_peers_alone;
  values_.server.keeps_staged_ids = server.keeps_staged_ids;
  if (server.peer_remove_after != Duration::forever()) settle_beyond(server.peer_remove_after);
  if (spec_.nodes > 1) values_.server.boot = Duration::millis(600);
  values_.first_node = topology.first_of(Role::broker, broker);
  values_.ordered.ack = AckPolicy::none;
  values_.ordered.max_ack_pending = 0;
  values_.ordered.push = values_.ordered.flow_control = true;
  values_.ordered.heartbeat = Duration::seconds(5);  // nats.c: jsOrderedHBInterval
  read_streams(scenario, topology, broker);
  values_.clients.resize(topology.processes.size());
  for (std::size_t p = 0; p < topology.processes.size(); ++p) {
    read_client(scenario, topology, static_cast<ProcessId>(p));
  }
  for (const TopicInfo& topic : topology.topics) {
    if (topic.kind == TopicKind::stream && topic.broker == broker) check_work_queue(scenario, topic);
  }
}

/// [nats-server: consumer.go, JSConsumerWQRequiresExplicitAck, JSConsumerWQMultipleUnfiltered]
void NatsPlan::check_work_queue(const Scenario& scenario, const TopicInfo& topic) const {
  const std::uint32_t stream = values_.stream_of[topic.first_place];
  if (values_.streams[stream].retention != Retention::workqueue) return;
  const auto refuse = [&](const char* problem) {
    throw ScenarioError(scenario.file, scenario.topics[topic.index].line,
                        "streams." + topic.name + ".properties.retention", problem);
  };
  std::uint32_t consumers = 0;
  for (const ConsumerValues& c : values_.consumers) {
    if (c.stream != stream) continue;
    ++consumers;
    if (c.ack != AckPolicy::explicit_ack) refuse("a workqueue stream's consumer must acknowledge explicitly");
  }
  if (consumers > 1) refuse("a workqueue stream has one consumer; give the stages one durable name");
  for (const ClientValues& client : values_.clients) {
    for (const InputValues& input : client.inputs) {
      if (input.ordered && input.stream == stream)
        refuse("an ordered consumer (an observer's default) cannot read a workqueue stream");
    }
  }
}

void NatsPlan::read_streams(const Scenario& scenario, const Topology& topology, std::uint32_t broker) {
  values_.stream_of.assign(topology.places.size(), no_stream);
  for (const TopicInfo& topic : topology.topics) {
    if (topic.kind != TopicKind::stream || topic.broker != broker) continue;
    const TopicSpec& stream = scenario.topics[topic.index];
    const NatsStream read = resolve_nats_stream(scenario, stream, spec_);
    StreamValues values;
    values.place = topic.first_place;
    values.replicas = read.replicas;
    values.retention = read.retention == NatsStream::Retention::limits     ? Retention::limits
                       : read.retention == NatsStream::Retention::interest ? Retention::interest
                                                                           : Retention::workqueue;
    values.in_memory = read.in_memory;
    values.written_later = read.persist_async;
    values.max_msgs = read.max_msgs;
    values.max_bytes = read.max_bytes;
    values.max_msg_size = read.max_msg_size;
    values.max_age = read.max_age;
    values.discard_new = read.discard_new;
    values.duplicate_window = read.duplicate_window;
    values.discard_new_per_subject = read.discard_new_per_subject;
    values.max_msgs_per_subject = read.max_msgs_per_subject;
    values.forms.push_back(subject_form(form_of(stream.subjects)));
    values_.stream_of[topic.first_place] = static_cast<std::uint32_t>(values_.streams.size());
    values_.streams.push_back(values);
  }
}

void take(const NatsConnection& from, ClientValues& to) {
  to.ping_interval = from.ping_interval;
  to.max_pings_out = from.max_pings_out;
  to.reconnect_wait = from.reconnect_wait;
  to.reconnect_jitter = from.reconnect_jitter;
  to.connect_timeout = from.connect_timeout;
  if (from.send_asap) to.flush_delay = {};
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
  const NatsConsumer c = resolve_nats_consumer(
      scenario, properties, spec_, (observer ? "observers." : "stages.") + info.group + ".consumer");
  InputValues input;
  input.stream = values_.stream_of[topology.topics[topic].first_place];
  input.ordered = c.ordered;
  input.push = c.push;
  input.pending_msgs = c.pending_msgs_limit;
  input.pending_bytes = c.pending_bytes_limit;
  input.double_ack = c.ack_sync;
  input.deliver = c.deliver == NatsConsumer::Deliver::all    ? DeliverPolicy::all
                  : c.deliver == NatsConsumer::Deliver::last ? DeliverPolicy::last
                                                             : DeliverPolicy::new_only;
  client.pull_expires = c.expires;
  settle_beyond(c.expires + Duration::seconds(1));
  if (c.ordered) settle_beyond(values_.ordered.heartbeat * 4 + Duration::seconds(6));
  take(c.connection, client);
  if (!c.ordered) {
    ConsumerValues wanted;
    wanted.name = c.durable.empty() ? info.group : c.durable;
    wanted.stream = input.stream;
    wanted.stage = observer ? static_cast<std::uint32_t>(scenario.stages.size()) : info.index;
    wanted.ack = c.ack_policy == NatsConsumer::AckPolicy::explicit_ack ? AckPolicy::explicit_ack
                 : c.ack_policy == NatsConsumer::AckPolicy::all        ? AckPolicy::all
                                                                       : AckPolicy::none;
    wanted.deliver = input.deliver;
    wanted.ack_wait = c.ack_wait;
    wanted.backoff = c.backoff;
    wanted.max_deliver = c.max_deliver;
    wanted.max_ack_pending = c.max_ack_pending < 0 ? 0 : static_cast<std::uint32_t>(c.max_ack_pending);
    wanted.max_waiting = c.max_waiting;
    wanted.push = c.push;
    wanted.grouped = !c.deliver_group.empty();
    wanted.flow_control = c.flow_control;
    wanted.heartbeat = c.idle_heartbeat;
    input.consumer = consumer(wanted);
    settle_beyond(c.ack_wait + Duration::seconds(2));
    for (const Duration wait : c.backoff) settle_beyond(wait + Duration::seconds(2));
  }
  client.inputs.push_back(input);
}

/// Processes that name the same durable share it; the first one's settings made it. [nats.java#545: a later
/// one's are ignored by the server]
std::uint32_t NatsPlan::consumer(const ConsumerValues& wanted) {
  const auto at = std::ranges::find_if(values_.consumers, [&](const ConsumerValues& c) {
    return c.stream == wanted.stream && c.name == wanted.name;
  });
  if (at != values_.consumers.end()) return static_cast<std::uint32_t>(at - values_.consumers.begin());
  values_.consumers.push_back(wanted);
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
