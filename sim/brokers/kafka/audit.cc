// The auditor's own reading of a cluster: every record up to the end of each partition, every committed
// offset.
#include "core/history/audit_bounds.h"
#include "sim/brokers/kafka/cluster.h"
#include "sim/brokers/kafka/groups.h"
#include "sim/brokers/kafka/node.h"
#include "sim/brokers/kafka/plan.h"

namespace mqlab::sim::kafka {

void KafkaCluster::measure(const Partition& partition) {
  if (!world_.setup().watch_disk || partition.use != Use::records) return;
  std::uint64_t most = 0;
  for (std::uint32_t s = 0; s < partition.replication; ++s)
    most = std::max(most, partition.replicas[s].log.bytes());
  if (partition.place >= measured_.size()) measured_.resize(partition.place + 1, 0);
  if (measured_[partition.place] == most) return;
  measured_[partition.place] = most;
  Row& row = world_.row(world_.setup().topology.lab, Kind::usage, Phase::ok);
  row.place = partition.place;
  row.aux = static_cast<std::int64_t>(most);
}

void KafkaCluster::audit() {
  settle();
  for (PlaceId place = 0; place < world_.setup().topology.places.size(); ++place) {
    const TopicInfo& topic = world_.setup().topology.topics[world_.setup().topology.places[place].topic];
    if (partitions_[place] != nullptr) {
      audit_records(*partitions_[place]);
    } else if (topic.broker == broker_ && topic.kind == TopicKind::topic) {
      audit_nothing(place);
    }
  }
  for (const Partition* p : offsets_) {
    if (p != nullptr) audit_offsets(*p);
  }
}

/// A partition that was never added.
void KafkaCluster::audit_nothing(PlaceId place) {
  Row& row = world_.row(world_.setup().topology.auditor, Kind::audit_end, Phase::ok);
  row.place = place;
  row.position = 0;
  row.digest = audited_from(0);
}

void KafkaCluster::audit_records(const Partition& partition) {
  const ProcessId auditor = world_.setup().topology.auditor;
  const NodeIndex leader = partition.decided.leader;
  const bool readable =
      leader != no_node && world_.running(processes_[leader]) && nodes_[leader]->leads(partition);
  std::int64_t found = 0;
  std::int64_t start = -1, end = -1;
  if (readable) {
    const Replica& replica = *partition.replica(leader);
    start = replica.log.start();
    end = replica.high_watermark;
    for (const LogEntry& e : replica.log.entries()) {
      if (e.base >= end) break;
      if (e.batch->control != Control::none) continue;
      const ProducerLedger& ledger = replica.lead->ledger;
      const std::uint16_t flags =
          static_cast<std::uint16_t>((ledger.aborted(*e.batch, e.base) ? flag::aborted : 0) |
                                     (ledger.open(*e.batch, e.base) ? flag::open : 0));
      for (std::uint32_t i = 0; i < e.count; ++i) {
        const Record& record = e.record(i);
        Row& row = world_.row(auditor, Kind::audit, Phase::ok);
        row.place = partition.place;
        row.position = e.base + i;
        row.aux = e.appended.ns;
        row.message = record.id;
        row.cause = record.cause;
        row.key = record.key;
        row.size = record.size;
        row.digest = record.digest;
        row.flags = static_cast<std::uint16_t>(flags | (record.tombstone() ? flag::tombstone : 0));
        ++found;
      }
    }
  }
  Row& row = world_.row(auditor, Kind::audit_end, readable ? Phase::ok : Phase::fail);
  row.place = partition.place;
  row.position = end;
  row.digest = audited_from(start);
  row.aux = found;
}

namespace {

/// The first stage whose consumers are in the group.
std::uint32_t stage_of(const Topology& topology, const KafkaPlan& plan, std::uint32_t group) {
  const std::vector<ProcessInfo>& processes = topology.processes;
  for (std::size_t p = 0; p < processes.size(); ++p) {
    if (processes[p].role == Role::stage && plan.clients().plans[p].group == group) return processes[p].index;
  }
  return 0;
}

}  // namespace

/// One row for each committed offset: op = 1, key = the stage's index in the scenario.
void KafkaCluster::audit_offsets(const Partition& partition) {
  const NodeIndex leader = partition.decided.leader;
  if (leader == no_node || !world_.running(processes_[leader]) || !nodes_[leader]->leads(partition)) return;
  for (const CommittedOffset& offset : nodes_[leader]->groups().committed(partition.number)) {
    Row& row = world_.row(world_.setup().topology.auditor, Kind::audit, Phase::ok);
    row.op = 1;
    row.place = offset.place;
    row.position = offset.offset;
    row.key = stage_of(world_.setup().topology, plan_, partition.number);
  }
}

}  // namespace mqlab::sim::kafka
