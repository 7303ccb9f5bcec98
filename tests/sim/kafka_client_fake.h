// Broker nodes that answer as a test says, and keep what they were asked.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/scenario/topology.h"
#include "sim/brokers/kafka/protocol.h"
#include "sim/clients/kafka/client.h"
#include "sim/cluster.h"
#include "sim/world.h"
#include "tests/sim/kafka_client_got.h"

namespace mqlab::sim::kafka::client_test {

class FakeCluster;

class FakeNode final : public Component {
 public:
  explicit FakeNode(FakeCluster& cluster) : cluster_(cluster) {}
  void on(const SimEvent& event) override;

 private:
  FakeCluster& cluster_;
};

/// What the test decides for the nodes. Lists by kind are used up front to back; then there is no error.
struct Fakes {
  std::map<RequestKind, std::vector<Error>> errors;  ///< timed_out_local = never answer
  std::map<PlaceId, ProcessId> leaders;              ///< default: by place, in turn
  std::map<PlaceId, std::vector<MessageId>> log;     ///< what fetches return
  std::map<PlaceId, std::int64_t> committed;
  std::map<PlaceId, std::int64_t> committed_epoch;  ///< default: none
  std::int64_t epoch = 1;                           ///< of all leaders, and of what they give
  std::map<PlaceId, std::int64_t> log_start;
  std::map<RequestKind, std::vector<Duration>> throttles;  ///< as `errors`
  std::vector<PlaceId> assignment;                         ///< of any member that joins
  ProcessId coordinator = no_process;                      ///< of everything; default: the first node
  std::uint32_t fetch_batch = 100;                         ///< records an answer gives of a partition
  Duration service = Duration::micros(100);                ///< from request to answer
  std::map<RequestKind, Duration> slow;                    ///< those that take another time
  std::vector<Got> got;

  std::vector<Got> of(RequestKind kind) const {
    std::vector<Got> found;
    for (const Got& g : got) {
      if (g.kind == kind) found.push_back(g);
    }
    return found;
  }
};

class FakeCluster final : public Cluster {
 public:
  FakeCluster(World& world, Fakes& fakes, const client::ClientPlans& plans);
  Client* connect(Process& process) override {
    return client::make_client(world_, process, plans_, {nodes_.data(), nodes_.size()});
  }
  ProcessId leader(PlaceId place) const override { return leader_of(place); }
  void audit() override {}

  void request(ProcessId node, Request* request);
  void append(PlaceId place, MessageId first, std::uint32_t count);
  /// The coordinator tells a member what its heartbeat would bring.
  void heartbeat(Error error, std::uint32_t generation, std::uint32_t member = 7);
  void on_event(ProcessId node, const SimEvent& event);
  std::map<ProcessId, FetchRequest*> parked;  ///< by node
  Component* member_component = nullptr;

 private:
  ProcessId leader_of(PlaceId place) const;
  Error next_error(RequestKind kind);
  void record(ProcessId node, const Request& request);
  void send(ProcessId node, const Request& request, Answer* answer);
  void fetch(ProcessId node, FetchRequest* request);

  World& world_;
  Fakes& fakes_;
  const client::ClientPlans& plans_;
  std::vector<std::unique_ptr<FakeNode>> owned_;
  std::vector<Component*> nodes_;
  std::map<std::uint64_t, Component*> waiting_;  ///< answers that are being made, and for whom
  std::uint32_t generation_ = 0;
  std::map<PlaceId, std::int64_t> ends_;
  std::int16_t epoch_ = -1;
};

class FakePlan final : public ClusterPlan {
 public:
  FakePlan(Fakes& fakes, const Scenario& scenario, const Topology& topology) : fakes_(fakes) {
    client::plan_clients(scenario, topology, 0, plans_);
  }
  Cluster* make(World& world) const override;
  Capabilities capabilities(ProcessId) const override { return {}; }
  Duration settle() const override { return Duration::seconds(1000); }
  mutable std::unique_ptr<FakeCluster> cluster;

 private:
  Fakes& fakes_;
  client::ClientPlans plans_;
};

inline void FakeNode::on(const SimEvent& event) { cluster_.on_event(owner, event); }

inline FakeCluster::FakeCluster(World& world, Fakes& fakes, const client::ClientPlans& plans)
    : world_(world), fakes_(fakes), plans_(plans) {
  for (const ProcessId p : world.setup().topology.group("kafka")) {
    owned_.push_back(std::make_unique<FakeNode>(*this));
    world.add(*owned_.back(), p);
    nodes_.push_back(owned_.back().get());
  }
}

inline ProcessId FakeCluster::leader_of(PlaceId place) const {
  const auto set = fakes_.leaders.find(place);
  return set != fakes_.leaders.end() ? set->second : nodes_[place % nodes_.size()]->owner;
}

inline Error FakeCluster::next_error(RequestKind kind) {
  std::vector<Error>& list = fakes_.errors[kind];
  if (list.empty()) return Error::none;
  const Error first = list.front();
  list.erase(list.begin());
  return first;
}

inline void FakeCluster::record(ProcessId node, const Request& r) {
  Got got;
  got.ms = world_.now().ns / 1'000'000;
  got.kind = r.kind;
  got.node = node;
  const auto offsets = [&](const auto& list) {
    for (const CommittedOffset& o : list) {
      got.offsets.emplace_back(o.place, o.offset);
      got.epochs.push_back(o.epoch);
    }
  };
  switch (r.kind) {
    case RequestKind::produce:
      for (const ProducePart& part : static_cast<const ProduceRequest&>(r).parts) {
        SentBatch batch{part.place, part.batch->first_sequence, part.batch->epoch, {}};
        for (std::uint32_t i = 0; i < part.batch->count; ++i) batch.ids.push_back(part.batch->records[i].id);
        got.batches.push_back(batch);
      }
      break;
    case RequestKind::fetch:
      for (const FetchPart& p : static_cast<const FetchRequest&>(r).parts)
        got.offsets.emplace_back(p.place, p.offset), got.epochs.push_back(p.leader_epoch);
      break;
    case RequestKind::offset_for_leader_epoch:
      got.epochs.push_back(static_cast<const EpochEndRequest&>(r).epoch);
      break;
    case RequestKind::join_group: {
      const auto& join = static_cast<const JoinGroupRequest&>(r);
      got.places.assign(join.owned.begin(), join.owned.end());
      got.member = join.member;
      break;
    }
    case RequestKind::offset_commit: {
      const auto& commit = static_cast<const OffsetCommitRequest&>(r);
      offsets(commit.offsets);
      got.generation = commit.generation;
      break;
    }
    case RequestKind::txn_offset_commit: {
      const auto& commit = static_cast<const TxnOffsetCommitRequest&>(r);
      offsets(commit.offsets);
      got.generation = commit.generation;
      break;
    }
    case RequestKind::add_partitions_to_txn: {
      const auto& add = static_cast<const AddPartitionsToTxnRequest&>(r);
      got.places.assign(add.places.begin(), add.places.end());
      break;
    }
    case RequestKind::end_txn:
      got.commit = static_cast<const EndTxnRequest&>(r).commit;
      got.epoch = static_cast<const EndTxnRequest&>(r).epoch;
      break;
    case RequestKind::init_producer_id:
      got.epoch = static_cast<const InitProducerIdRequest&>(r).epoch;
      break;
    default:
      break;
  }
  fakes_.got.push_back(got);
}

inline void FakeCluster::on_event(ProcessId node, const SimEvent& event) {
  if (event.kind == request_event) return request(node, reinterpret_cast<Request*>(event.a));
  world_.network().send(node, *waiting_.at(event.a), 100, answer_event, event.a);
  waiting_.erase(event.a);
}

inline void FakeCluster::send(ProcessId node, const Request& request, Answer* answer) {
  answer->kind = request.kind;
  answer->from = node;
  answer->correlation = request.correlation;
  std::vector<Duration>& throttles = fakes_.throttles[request.kind];
  if (!throttles.empty()) {
    answer->throttle = throttles.front();
    throttles.erase(throttles.begin());
  }
  waiting_[reinterpret_cast<std::uint64_t>(answer)] = request.reply_to;
  for (Component* c : nodes_) {
    const auto slow = fakes_.slow.find(request.kind);
    const Duration service = slow == fakes_.slow.end() ? fakes_.service : slow->second;
    if (c->owner == node) world_.after(service, *c, 99, reinterpret_cast<std::uint64_t>(answer));
  }
}

inline void FakeCluster::fetch(ProcessId node, FetchRequest* request) {
  Arena& arena = world_.arena();
  auto* answer = arena.make<FetchAnswer>(arena);
  for (const FetchPart& part : request->parts) {
    const std::vector<MessageId>& log = fakes_.log[part.place];
    FetchedPart out;
    out.place = part.place;
    out.next_offset = part.offset;
    out.first_run = static_cast<std::uint32_t>(answer->runs.size());
    if (leader_of(part.place) != node) {
      out.error = Error::not_leader_or_follower;
    } else if (part.offset < fakes_.log_start[part.place] ||
               part.offset > static_cast<std::int64_t>(log.size())) {
      out.error = Error::offset_out_of_range;
    } else if (part.offset < static_cast<std::int64_t>(log.size())) {
      const auto left = static_cast<std::uint32_t>(log.size()) - static_cast<std::uint32_t>(part.offset);
      const std::uint32_t count = std::min(fakes_.fetch_batch, left);
      Batch* batch = arena.make<Batch>();
      batch->count = batch->capacity = count;
      batch->bytes = batch_overhead_bytes + 110 * count;
      batch->records = static_cast<Record*>(arena.allocate(count * sizeof(Record)));
      for (std::uint32_t i = 0; i < count; ++i) {
        batch->records[i] = {};
        batch->records[i].id = log[static_cast<std::size_t>(part.offset) + i];
        batch->records[i].size = 100;
      }
      answer->runs.push_back({batch, 0, count, part.offset, fakes_.epoch});
      out.runs = 1;
      out.next_offset = part.offset + count;
    } else {
      continue;
    }
    answer->parts.push_back(out);
  }
  if (answer->parts.empty()) {
    destroy(arena, answer);
    parked[node] = request;
    return;
  }
  send(node, *request, answer);
}

inline void FakeCluster::append(PlaceId place, MessageId first, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) fakes_.log[place].push_back(first + i);
  const auto at = parked.find(leader_of(place));
  if (at == parked.end()) return;
  FetchRequest* request = at->second;
  parked.erase(at);
  fetch(leader_of(place), request);
}

inline void FakeCluster::heartbeat(Error error, std::uint32_t generation, std::uint32_t member) {
  world_.network().send(nodes_[0]->owner, *member_component, 40, heartbeat_event, member,
                        static_cast<std::uint16_t>(error), generation);
}

inline void FakeCluster::request(ProcessId node, Request* request) {
  record(node, *request);
  const Error error = next_error(request->kind);
  if (error == Error::timed_out_local) return;  // never answered
  Arena& arena = world_.arena();
  switch (request->kind) {
    case RequestKind::metadata: {
      auto* answer = arena.make<MetadataAnswer>(arena);
      for (PlaceId p = 0; p < plans_.places; ++p) {
        answer->leaders.push_back(leader_of(p));
        answer->epochs.push_back(static_cast<std::uint32_t>(fakes_.epoch));
      }
      return send(node, *request, answer);
    }
    case RequestKind::find_coordinator: {
      auto* answer = arena.make<FindCoordinatorAnswer>();
      answer->error = error;
      answer->node = fakes_.coordinator == no_process ? nodes_[0]->owner : fakes_.coordinator;
      return send(node, *request, answer);
    }
    case RequestKind::init_producer_id: {
      auto* answer = arena.make<InitProducerIdAnswer>();
      answer->error = error;
      answer->producer = 1000;
      if (error == Error::none) answer->epoch = ++epoch_;
      return send(node, *request, answer);
    }
    case RequestKind::produce: {
      auto* answer = arena.make<ProduceAnswer>(arena);
      const auto& produce = static_cast<const ProduceRequest&>(*request);
      for (const ProducePart& part : produce.parts) {
        const Error of_part = leader_of(part.place) != node ? Error::not_leader_or_follower : error;
        ProducedPart out{part.place, of_part, -1, false};
        if (of_part == Error::none) {
          out.base_offset = ends_[part.place];
          ends_[part.place] += part.batch->count;
        }
        release(arena, part.batch);
        answer->parts.push_back(out);
      }
      if (produce.acks == 0) return;
      return send(node, *request, answer);
    }
    case RequestKind::join_group: {
      member_component = request->reply_to;
      auto* answer = arena.make<JoinGroupAnswer>();
      answer->error = error;
      answer->member = 7;
      if (error == Error::none) answer->generation = ++generation_;
      return send(node, *request, answer);
    }
    case RequestKind::sync_group: {
      auto* answer = arena.make<SyncGroupAnswer>(arena);
      answer->error = error;
      answer->generation = generation_;
      answer->places.assign(fakes_.assignment.begin(), fakes_.assignment.end());
      return send(node, *request, answer);
    }
    case RequestKind::offset_fetch: {
      auto* answer = arena.make<OffsetFetchAnswer>(arena);
      answer->error = error;
      for (const PlaceId p : static_cast<const OffsetFetchRequest&>(*request).places) {
        const auto at = fakes_.committed.find(p);
        const auto epoch = fakes_.committed_epoch.find(p);
        answer->offsets.push_back({p, at == fakes_.committed.end() ? -1 : at->second,
                                   epoch == fakes_.committed_epoch.end() ? no_epoch : epoch->second});
      }
      return send(node, *request, answer);
    }
    case RequestKind::list_offsets: {
      const auto& list = static_cast<const ListOffsetsRequest&>(*request);
      auto* answer = arena.make<ListOffsetsAnswer>();
      answer->error = error;
      answer->place = list.place;
      answer->offset = list.latest ? static_cast<std::int64_t>(fakes_.log[list.place].size())
                                   : fakes_.log_start[list.place];
      return send(node, *request, answer);
    }
    case RequestKind::offset_for_leader_epoch: {  // whichever it is, it goes to the end
      const auto& asked = static_cast<const EpochEndRequest&>(*request);
      auto* answer = arena.make<EpochEndAnswer>();
      answer->error = error;
      answer->epoch = asked.epoch;
      answer->end = static_cast<std::int64_t>(fakes_.log[asked.place].size());
      return send(node, *request, answer);
    }
    case RequestKind::fetch:
      return fetch(node, static_cast<FetchRequest*>(request));
    case RequestKind::heartbeat: {
      auto* answer = arena.make<HeartbeatAnswer>(arena);
      answer->error = error;
      return send(node, *request, answer);
    }
    case RequestKind::end_txn: {
      auto* answer = arena.make<EndTxnAnswer>();
      answer->error = error;
      if (static_cast<const EndTxnRequest&>(*request).second_protocol && error == Error::none) {
        answer->producer = 1000;
        answer->epoch = ++epoch_;
      }
      return send(node, *request, answer);
    }
    default: {
      Answer* answer = arena.make<Answer>();
      answer->error = error;
      return send(node, *request, answer);
    }
  }
}

inline Cluster* FakePlan::make(World& world) const {
  cluster = std::make_unique<FakeCluster>(world, fakes_, plans_);
  return cluster.get();
}

}  // namespace mqlab::sim::kafka::client_test
