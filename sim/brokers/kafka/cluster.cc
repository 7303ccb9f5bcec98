#include "sim/brokers/kafka/cluster.h"

#include "core/base/check.h"
#include "sim/brokers/kafka/controller.h"
#include "sim/brokers/kafka/node.h"
#include "sim/brokers/kafka/plan.h"
#include "sim/clients/kafka/client.h"
#include "sim/process.h"

namespace mqlab::sim::kafka {
namespace {

/// What internal topics take over from the broker's settings.
KafkaTopic internal_topic(const KafkaBroker& values) {
  KafkaTopic topic;
  topic.max_message_bytes = values.message_max_bytes;
  topic.flush_messages = values.flush_messages;
  topic.flush_interval = values.flush_interval;
  topic.segment_bytes = values.segment_bytes;
  return topic;
}

}  // namespace

KafkaCluster::KafkaCluster(World& world, const KafkaPlan& plan, std::uint32_t broker)
    : world_(world),
      plan_(plan),
      broker_(broker),
      processes_(world.arena()),
      nodes_(world.arena()),
      components_(world.arena()),
      partitions_(world.arena()),
      measured_(world.arena()),
      channels_(world.arena()),
      offsets_(world.arena()),
      transactions_(world.arena()) {
  processes_.assign(plan.processes().begin(), plan.processes().end());
  const Topology& t = world.setup().topology;
  controller_ = world.arena().make<Controller>(*this);
  world.add(*controller_, t.lab);
  nodes_.reserve(size());
  channels_.reserve(std::size_t{size()} * size());
  for (NodeIndex n = 0; n < size(); ++n) {
    nodes_.push_back(world.arena().make<Node>(*this, n));
    components_.push_back(nodes_[n]);
    world.add(*nodes_[n], processes_[n]);
    for (NodeIndex m = 0; m < size(); ++m) channels_.emplace_back(world.arena());
  }
  partitions_.resize(t.places.size(), nullptr);
  for (PlaceId place = 0; place < t.places.size(); ++place) {
    const TopicInfo& topic = t.topics[t.places[place].topic];
    if (topic.broker != broker || topic.kind != TopicKind::topic) continue;
    if (t.places[place].partition < topic.at_first) make_partition(place);
  }
}

void KafkaCluster::make_partition(PlaceId place) {
  const PlaceInfo& info = world_.setup().topology.places[place];
  add(place, Use::records, 0, info.topic + info.partition, plan_.topics()[info.topic]);
}

bool KafkaCluster::grown(TopicId topic) const {
  const TopicInfo& info = world_.setup().topology.topics[topic];
  return partitions_[info.first_place + info.partitions - 1] != nullptr;
}

std::uint32_t KafkaCluster::partitions_of(TopicId topic) const {
  const TopicInfo& info = world_.setup().topology.topics[topic];
  return grown(topic) ? info.partitions : info.at_first;
}

/// The brokers learn it with the metadata at once, clients when they ask next.
void KafkaCluster::grow(TopicId topic) {
  const TopicInfo& info = world_.setup().topology.topics[topic];
  for (std::uint32_t p = info.at_first; p < info.partitions; ++p) make_partition(info.first_place + p);
  for (Node* node : nodes_) node->grown(topic);
}

const KafkaBroker& KafkaCluster::values() const { return plan_.values(); }

Component& KafkaCluster::node(ProcessId process) {
  const NodeIndex n = node_of(process);
  MQLAB_CHECK(n != no_node);
  return *nodes_[n];
}

NodeIndex KafkaCluster::node_of(ProcessId process) const {
  for (NodeIndex n = 0; n < size(); ++n) {
    if (processes_[n] == process) return n;
  }
  return no_node;
}

/// Replicas go round the nodes, partition by partition, as a balanced assignment does.
Partition& KafkaCluster::add(PlaceId place, Use use, std::uint32_t number, std::uint32_t first,
                             const KafkaTopic& topic) {
  auto* p = arena().make<Partition>();
  p->place = place;
  p->use = use;
  p->number = number;
  p->topic = topic;
  p->topic.replication = std::min<std::uint32_t>(topic.replication, size());
  p->topic.min_insync_replicas = std::min(topic.min_insync_replicas, p->topic.replication);
  p->replication = static_cast<std::uint8_t>(p->topic.replication);
  for (std::uint32_t i = 0; i < size(); ++i) {
    const auto node = static_cast<NodeIndex>((first + i) % size());
    p->slot_of_node[node] = static_cast<std::uint8_t>(std::min<std::uint32_t>(i, p->replication));
    if (i < p->replication) p->node_of_slot[i] = node;
  }
  p->replicas = static_cast<Replica*>(arena().allocate(sizeof(Replica) * p->replication));
  for (std::uint32_t s = 0; s < p->replication; ++s) new (&p->replicas[s]) Replica(arena());
  p->decided = controller_->first_decision(*p);
  if (partitions_.size() <= place) partitions_.resize(place + 1, nullptr);
  partitions_[place] = p;
  for (Node* node : nodes_) node->introduce(*p);
  return *p;
}

Partition& KafkaCluster::internal(Vec<Partition*>& by_number, std::uint32_t number, Use use,
                                  const KafkaTopic& topic) {
  MQLAB_CHECK(number < limits::processes * 16);  // groups and transactional ids are few and numbered densely
  if (by_number.size() <= number) by_number.resize(number + 1, nullptr);
  if (by_number[number] == nullptr) by_number[number] = &add(places(), use, number, number, topic);
  return *by_number[number];
}

// Each group and transactional id has a partition of its own here. (Real ones share 50 by hash, which no rule
// depends on.) They are made when first asked for, so an unused one costs nothing.
Partition& KafkaCluster::offsets_of(std::uint32_t group) {
  KafkaTopic topic = internal_topic(values());
  topic.replication = values().offsets_replication;
  topic.min_insync_replicas = values().min_insync_replicas;
  return internal(offsets_, group, Use::offsets, topic);
}

Partition& KafkaCluster::transactions_of(std::uint32_t transactional_id) {
  KafkaTopic topic = internal_topic(values());
  topic.replication = values().transaction_replication;
  topic.min_insync_replicas = values().transaction_min_isr;
  return internal(transactions_, transactional_id, Use::transactions, topic);
}

Client* KafkaCluster::connect(Process& process) {
  return client::make_client(world_, process, plan_.clients(), {components_.data(), components_.size()});
}

ProcessId KafkaCluster::leader(PlaceId place) const {
  const Partition* p = partition(place);
  if (p == nullptr || p->decided.leader == no_node) return no_process;
  const ProcessId process = processes_[p->decided.leader];
  return world_.alive(process) ? process : no_process;
}

void KafkaCluster::settle() {
  for (Node* node : nodes_) node->settle_for_good();
}

bool KafkaCluster::stop(ProcessId process) {
  controller_->shut_down(node_of(process));
  return true;
}

}  // namespace mqlab::sim::kafka
