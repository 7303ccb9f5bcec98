// The second half of a transaction's end: its outcome is written into every partition that has a part in it.
// Rules: kafka TransactionMarkerChannelManager, KafkaApis.handleWriteTxnMarkersRequest.
#include <algorithm>

#include "core/base/plant.h"
#include "sim/brokers/kafka/groups.h"
#include "sim/brokers/kafka/transactions.h"
#include "sim/world.h"

namespace mqlab::sim::kafka {
namespace {

constexpr std::uint32_t marker_bytes = 78;  // batch header and the control record

Batch* marker_batch(Arena& arena, const MarkerRequest& r) {
  auto* batch = arena.make<Batch>();
  batch->count = 1;
  batch->bytes = marker_bytes;
  batch->producer = r.producer;
  batch->epoch = r.epoch;
  batch->first_sequence =
      r.coordinator_epoch;  // control batches have no sequence; the ledger wants the epoch back
  batch->transactional = true;
  batch->control = r.commit || planted(Plant::kafka_abort_marker_commits) ? Control::commit : Control::abort;
  return batch;
}

}  // namespace

void TransactionCoordinator::begin_markers(Transaction& t) {
  t.markers.clear();
  ++t.round;
  for (const PlaceId place : t.now.places) t.markers.push_back({place});
  send_markers(t);
}

/// One request to each node that leads partitions whose marker is missing; when none is, the transaction is
/// complete.
void TransactionCoordinator::send_markers(Transaction& t) {
  bool missing = false;
  KafkaCluster& cluster = node_.cluster();
  for (NodeIndex leader = 0; leader < cluster.size(); ++leader) {
    MarkerRequest* request = nullptr;
    for (Transaction::Marker& m : t.markers) {
      missing = missing || !m.done;
      const Decision& view = node_.view(m.place);
      if (m.done || m.under_way || view.leader != leader) continue;
      if (request == nullptr) request = node_.arena().make<MarkerRequest>(node_.arena());
      request->places.push_back(m.place);
      m.under_way = true;
      m.sent_epoch = view.leader_epoch;
    }
    if (request == nullptr) continue;
    request->transactional_id = t.number;
    request->producer = t.now.producer;
    request->epoch = t.now.epoch;
    request->coordinator_epoch =
        static_cast<std::int32_t>(node_.view(cluster.transactions_of(t.number).place).leader_epoch);
    request->commit = t.now.state == TransactionState::prepare_commit;
    request->from = node_.index();
    request->attempt = t.round;
    const auto a = reinterpret_cast<std::uint64_t>(request);
    if (leader == node_.index()) {
      node_.world().soon(node_, on_markers, a);
    } else {
      const auto bytes = static_cast<std::uint32_t>(80 + 20 * request->places.size());
      node_.world().network().send(node_.owner, cluster.at(leader), bytes, on_markers, a);
    }
  }
  if (missing || t.moving) return;
  t.next = t.now;
  t.next.state = t.now.state == TransactionState::prepare_commit ? TransactionState::complete_commit
                                                                 : TransactionState::complete_abort;
  t.next.places.clear();
  if (t.next.following >= 0) {
    t.next.previous = t.next.producer;
    t.next.producer = t.next.following;
    t.next.following = -1;
    t.next.epoch = 0;
    t.next.last_epoch = -1;
  }
  write(t, nullptr);
}

/// At the leader of the partitions.
void TransactionCoordinator::write_markers(MarkerRequest* r) {
  auto* pending = node_.arena().make<PendingMarkers>();
  pending->kind = PendingKind::marker;
  pending->request = r;
  pending->deadline = node_.world().now() + Duration::seconds(30);
  pending->open = static_cast<std::uint32_t>(r->places.size());
  r->errors.assign(r->places.size(), Error::none);
  for (std::uint32_t i = 0; i < r->errors.size(); ++i) {
    Partition& partition = *node_.cluster().partition(r->places[i]);
    Error error = Error::not_leader_or_follower;
    if (node_.leads(partition)) {
      error = partition.replica(node_.index())
                  ->lead->ledger.check_marker(r->producer, r->epoch, r->coordinator_epoch);
    }
    if (error == Error::none) error = node_.append(partition, marker_batch(node_.arena(), *r), pending, i);
    if (error != Error::none) marker_written(pending, i, error);
  }
}

void TransactionCoordinator::marker_written(PendingMarkers* pending, std::uint32_t part, Error error) {
  MarkerRequest* r = pending->request;
  r->errors[part] = error;
  const Partition& partition = *node_.cluster().partition(r->places[part]);
  if (error == Error::none && partition.use == Use::offsets)
    node_.groups().ended(partition.number, r->producer, r->commit);
  if (--pending->open > 0) return;
  node_.arena().recycle(pending);
  const auto a = reinterpret_cast<std::uint64_t>(r);
  if (r->from == node_.index()) {
    node_.world().soon(node_, on_marked, a);
  } else {
    node_.world().network().send(node_.owner, node_.cluster().at(r->from), 80, on_marked, a);
  }
}

void TransactionCoordinator::marked(MarkerRequest* r) {
  Transaction* t = r->transactional_id < transactions_.size() ? transactions_[r->transactional_id] : nullptr;
  const bool current =
      t != nullptr && t->round == r->attempt && t->now.producer == r->producer && t->now.epoch == r->epoch;
  if (current &&
      (t->now.state == TransactionState::prepare_commit || t->now.state == TransactionState::prepare_abort)) {
    bool again = false;
    for (std::size_t i = 0; i < r->places.size(); ++i) {
      for (Transaction::Marker& m : t->markers) {
        if (m.place != r->places[i]) continue;
        m.under_way = false;
        m.done = m.done || r->errors[i] == Error::none;
        // A newer coordinator or epoch has taken over: this one has no more to say.
        const bool fenced = r->errors[i] == Error::invalid_producer_epoch ||
                            r->errors[i] == Error::transaction_coordinator_fenced;
        again = again || (!m.done && !fenced);
      }
    }
    if (again) {
      retry_later(*t);
    } else {
      send_markers(*t);
    }
  }
  destroy(node_.arena(), r);
}

void TransactionCoordinator::retry_later(const Transaction& t) {
  node_.world().after(Duration::millis(100), node_, on_transaction_timer, 0, t.number, retry);
}

void TransactionCoordinator::leader_changed(PlaceId place) {
  for (Transaction* t : transactions_) {
    if (t == nullptr) continue;
    for (Transaction::Marker& m : t->markers) {
      if (m.place != place || m.done || m.sent_epoch == node_.view(place).leader_epoch) continue;
      m.under_way = false;  // an answer to what was sent before does no harm
      if (!t->moving) send_markers(*t);
      break;
    }
  }
}

}  // namespace mqlab::sim::kafka
