#include "sim/brokers/kafka/node.h"

#include "core/base/check.h"
#include "sim/brokers/kafka/controller.h"
#include "sim/brokers/kafka/groups.h"
#include "sim/brokers/kafka/requests.h"
#include "sim/brokers/kafka/transactions.h"

namespace mqlab::sim::kafka {
namespace {
/// Header, correlation, throttle time and a topic's name: what an answer takes beyond what it carries.
constexpr std::uint32_t answer_bytes = 60;
}  // namespace

Node::Node(KafkaCluster& cluster, NodeIndex index)
    : cluster_(cluster),
      index_(index),
      fetching_(static_cast<NodeSet>((1u << cluster.size()) - 1)),
      views_(cluster.arena()),
      to_attach_(cluster.arena()),
      parked_(cluster.arena()),
      connections_(cluster.arena()),
      rates_(cluster.arena()),
      verifications_(cluster.arena()),
      held_(cluster.arena()),
      held_from_(cluster.arena()) {}

void Node::on(const SimEvent& event) {
  if ((arriving_ | returning_) != 0) settle();
  switch (event.kind) {
    case on_request:
      request(reinterpret_cast<Request*>(event.a));
      break;
    case on_replica_data: {
      Channel& channel = cluster_.channel(index_, static_cast<NodeIndex>(event.y));
      if (channel.generation == event.x && channel.ticket == event.a)
        replicate(channel, static_cast<NodeIndex>(event.y));
      break;
    }
    case on_replica_fetch: {
      Channel& channel = cluster_.channel(static_cast<NodeIndex>(event.y), index_);
      const bool current = channel.generation == event.x && channel.ticket == event.a && !channel.parked;
      if (current) fetched(channel, static_cast<NodeIndex>(event.y), world().now());
      break;
    }
    case on_attach:
      attach(reinterpret_cast<Attach*>(event.a));
      break;
    case on_metadata: {
      auto* update_to = reinterpret_cast<MetadataUpdate*>(event.a);
      update(*update_to);
      if (--update_to->references == 0) destroy(arena(), update_to);
      break;
    }
    case on_alter_isr:
      cluster_.controller().alter_isr(index_, event.a, event.x, event.y);
      break;
    case on_controller:
      controller_changed();
      break;
    case on_disk_failed:
      if (disk_fails()) return world().kill(owner, false);
      break;
    case on_unmute:
      unmute(event.x);
      break;
    case on_isr_check:
      check_isr();
      break;
    case on_expire:
      expire();
      break;
    case on_fetch_wait:
      fetch_waited(event.x);
      break;
    case on_verify:
      transactions().verify(reinterpret_cast<Verification*>(event.a));
      break;
    case on_verified:
      verified(event.x);
      break;
    case on_verify_again:
      verify_again(event.x);
      break;
    case on_retention:
      expire_logs();
      break;
    case on_cleaning:
      clean_logs();
      break;
    case on_group_timer:
      groups().timer(event);
      break;
    case on_transaction_timer:
      transactions().timer(event);
      break;
    case on_markers:
      transactions().write_markers(reinterpret_cast<MarkerRequest*>(event.a));
      break;
    case on_marked:
      transactions().marked(reinterpret_cast<MarkerRequest*>(event.a));
      break;
    default:
      MQLAB_CHECK(false && "unknown event at a Kafka node");
  }
  flush();
}

void Node::request(Request* r) {
  if (!ready_) return reply(r, Error::disconnected);
  if (!hold(r)) carry_out(r);
}

void Node::carry_out(Request* r) {
  switch (r->kind) {
    case RequestKind::produce:
      return produce(static_cast<ProduceRequest*>(r));
    case RequestKind::fetch:
      return fetch(static_cast<FetchRequest*>(r));
    case RequestKind::list_offsets:
      return list_offsets(static_cast<ListOffsetsRequest*>(r));
    case RequestKind::offset_for_leader_epoch:
      return epoch_end(static_cast<EpochEndRequest*>(r));
    case RequestKind::metadata:
      return metadata(static_cast<MetadataRequest*>(r));
    case RequestKind::find_coordinator:
      return find_coordinator(static_cast<FindCoordinatorRequest*>(r));
    case RequestKind::join_group:
      return groups().join(static_cast<JoinGroupRequest*>(r));
    case RequestKind::sync_group:
      return groups().sync(static_cast<SyncGroupRequest*>(r));
    case RequestKind::heartbeat:
      return groups().heartbeat(static_cast<HeartbeatRequest*>(r));
    case RequestKind::leave_group:
      return groups().leave(static_cast<LeaveGroupRequest*>(r));
    case RequestKind::offset_commit:
      return groups().commit(static_cast<OffsetCommitRequest*>(r));
    case RequestKind::txn_offset_commit:
      return groups().commit(static_cast<TxnOffsetCommitRequest*>(r));
    case RequestKind::offset_fetch:
      return groups().fetch(static_cast<OffsetFetchRequest*>(r));
    case RequestKind::init_producer_id:
      return transactions().init(static_cast<InitProducerIdRequest*>(r));
    case RequestKind::add_partitions_to_txn:
      return transactions().add(static_cast<AddPartitionsToTxnRequest*>(r));
    case RequestKind::add_offsets_to_txn:
      return transactions().add(static_cast<AddOffsetsToTxnRequest*>(r));
    case RequestKind::end_txn:
      return transactions().end(static_cast<EndTxnRequest*>(r));
    default:
      MQLAB_CHECK(false && "a request that Kafka does not have");
  }
}

bool Node::leads(const Partition& partition) const {
  const Replica* replica = partition.replica(index_);
  return replica != nullptr && replica->lead != nullptr;
}

void Node::introduce(const Partition& partition) {
  if (views_.size() <= partition.place) views_.resize(partition.place + 1);
  views_[partition.place] = partition.decided;
  if (partition.decided.leader != index_) return;
  Replica& replica = *partition.replica(index_);
  become_leader(const_cast<Partition&>(partition), replica);
  for (std::uint32_t s = 0; s < partition.replication; ++s) {
    const NodeIndex node = partition.node(s);
    if (node == index_ || !cluster_.channel(node, index_).up) continue;
    replica.lead->followers[s].end = 0;
    replica.lead->attached |= set_of(node);
  }
}

// ---- what others do
// ------------------------------------------------------------------------------------------

void Node::life_changed(ProcessId process, LifeChange change) {
  const bool gone = change == LifeChange::killed || change == LifeChange::power_lost;
  note_fetching();
  if (process == owner) {
    if (gone) crash(change == LifeChange::power_lost);
    if (change == LifeChange::disk_full) disk_is_full();
    if (change == LifeChange::syncs_fail) fail_syncs(true);
    if (change == LifeChange::disk_healed) {
      disk_full_ = giving_up_ = false;
      fail_syncs(false);
    }
    if (change == LifeChange::restarted) {
      booted_ = world().now();
      schedule_retention({});
      schedule_cleaning();
      if (disk_fails()) give_up();
    }
    if (change != LifeChange::cut && change != LifeChange::joined) return;
  }
  if (!world().alive(owner)) return;
  if (change == LifeChange::cut || change == LifeChange::paused || gone) {
    const NodeIndex other = cluster_.node_of(process);
    if (gone && other != no_node) break_channels(other);
    for (NodeIndex n = 0; n < cluster_.size(); ++n) {
      const ProcessId p = cluster_.process(n);
      const bool lost =
          n == other || !world().network().reachable(p, owner) || !world().network().reachable(owner, p);
      if (n != index_ && lost) trouble(n, gone && n == other);
    }
    if (gone && other == no_node) forget(process);
    if (gone && other != no_node) give_up_verifications(other);
  }
  if (groups_ != nullptr) groups_->life_changed(process, change);
  flush();
}

void Node::crash(bool power_loss) {
  ready_ = expiry_scheduled_ = check_scheduled_ = giving_up_ = false;
  retention_due_ = cleaning_due_ = Instant::never();
  for (PlaceId place = 0; place < cluster_.places(); ++place) {
    const Partition* partition = cluster_.partition(place);
    Replica* replica = partition == nullptr ? nullptr : partition->replica(index_);
    if (replica == nullptr) continue;
    if (replica->lead != nullptr) destroy(arena(), replica->lead);
    replica->lead = nullptr;
    if (!power_loss) continue;
    replica->log.lose_power(world().now(), partition->topic,
                            world().draw(Purpose::write_back, place, index_, world().incarnation(owner)));
    cluster_.measure(*partition);
    replica->high_watermark = std::min(replica->high_watermark, replica->log.end());
  }
  for (NodeIndex n = 0; n < cluster_.size(); ++n) {
    if (n != index_) break_channels(n);
  }
  for (Decision& view : views_) view = {};
  parked_.clear();
  connections_.clear();
  rates_.clear();
  verifications_.clear();
  held_.clear();
  held_from_.clear();
  to_attach_.clear();
  pending_flush_ = attach_wanted_ = arriving_ = returning_ = 0;
  groups_ = nullptr;
  transactions_ = nullptr;
}

void Node::forget(ProcessId process) {
  for (std::size_t i = parked_.size(); i-- > 0;) {
    if (parked_[i]->request->from != process) continue;
    FetchRequest* gone = parked_[i]->request;
    unpark(parked_[i]);
    drop(gone);
  }
  close_connections(process);
}

// ---- answers
// -------------------------------------------------------------------------------------------------

void Node::send_answer(const Request& request, Answer* answer, std::uint32_t bytes) {
  if (request.answer_lost) return destroy_answer(arena(), answer);
  world().network().send(owner, *request.reply_to, answer_bytes + bytes, answer_event,
                         reinterpret_cast<std::uint64_t>(answer));
}

void Node::reply(Request* request, Error error) {
  Answer* answer = make_answer(arena(), request->kind);
  answer->kind = request->kind;
  answer->from = owner;
  answer->correlation = request->correlation;
  answer->error = error;
  send_answer(*request, answer);
  drop(request);
}

void Node::drop(Request* request) { destroy_request(arena(), request); }

GroupCoordinator& Node::groups() {
  if (groups_ == nullptr) groups_ = arena().make<GroupCoordinator>(*this);
  return *groups_;
}

TransactionCoordinator& Node::transactions() {
  if (transactions_ == nullptr) transactions_ = arena().make<TransactionCoordinator>(*this);
  return *transactions_;
}

// ---- small requests
// --------------------------------------------------------------------------------------------

void Node::find_coordinator(FindCoordinatorRequest* r) {
  auto* answer = new_answer<FindCoordinatorAnswer>(*r);
  const Partition& p = r->transaction ? cluster_.transactions_of(r->key) : cluster_.offsets_of(r->key);
  const NodeIndex leader = view(p.place).leader;
  if (leader == no_node) {
    answer->error = Error::coordinator_not_available;
  } else {
    answer->node = cluster_.process(leader);
  }
  send_answer(*r, answer);
  drop(r);
}

void Node::metadata(MetadataRequest* r) {
  auto* answer = new_answer<MetadataAnswer>(*r);
  const std::size_t places = world().setup().topology.places.size();
  answer->leaders.reserve(places);
  answer->epochs.reserve(places);
  for (PlaceId place = 0; place < places; ++place) {
    const bool there = cluster_.partition(place) != nullptr;  // and not of another broker, or made later
    const Decision d = there ? views_[place] : Decision{};
    const bool led = there && d.leader != no_node;
    answer->leaders.push_back(led ? cluster_.process(d.leader) : no_process);
    answer->epochs.push_back(d.leader_epoch);
  }
  note_grown(*answer);
  send_answer(*r, answer, static_cast<std::uint32_t>(40 * places));
  drop(r);
}

void Node::note_grown(MetadataAnswer& answer) {
  const auto& topics = world().setup().topology.topics;
  for (TopicId t = 0; t < topics.size(); ++t) {
    if (topics[t].grows() && topics[t].broker == cluster_.broker() && cluster_.grown(t))
      answer.grown.push_back(t);
  }
}

void Node::grown(TopicId topic) {
  if (groups_ != nullptr) groups_->grown(topic);
}

void Node::list_offsets(ListOffsetsRequest* r) {
  auto* answer = new_answer<ListOffsetsAnswer>(*r);
  answer->place = r->place;
  const Partition* p = cluster_.partition(r->place);
  const Replica* replica = p == nullptr ? nullptr : p->replica(index_);
  if (replica == nullptr || replica->lead == nullptr) {
    answer->error = p == nullptr ? Error::unknown_topic_or_partition : Error::not_leader_or_follower;
  } else {
    answer->offset = r->latest ? fetch_bound(*replica, r->read_committed) : replica->log.start();
  }
  send_answer(*r, answer);
  drop(r);
}

/// kafka Partition.lastOffsetForLeaderEpoch, LeaderEpochFileCache.endOffsetFor.
void Node::epoch_end(EpochEndRequest* r) {
  auto* answer = new_answer<EpochEndAnswer>(*r);
  const Partition* p = cluster_.partition(r->place);
  const Replica* replica = p == nullptr ? nullptr : p->replica(index_);
  answer->error = led(replica, r->leader_epoch);
  if (p == nullptr) answer->error = Error::unknown_topic_or_partition;
  if (answer->error == Error::none && r->epoch <= replica->lead->epoch) {
    const EpochEnd found = replica->log.epoch_end(r->epoch);
    answer->epoch = found.epoch >= 0 ? found.epoch : r->epoch;  // older than all that is left
    answer->end = found.end;
  }
  send_answer(*r, answer);
  drop(r);
}

}  // namespace mqlab::sim::kafka
