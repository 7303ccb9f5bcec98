#include "sim/brokers/kafka/transactions.h"

#include <algorithm>
#include <cstring>

#include "core/base/check.h"
#include "core/base/plant.h"
#include "sim/brokers/kafka/groups.h"
#include "sim/world.h"

namespace mqlab::sim::kafka {
namespace {

/// What clients are told when the log could not be written (kafka
/// TransactionStateManager.appendTransactionToLog).
Error as_coordinator_error(Error error) {
  switch (error) {
    case Error::not_enough_replicas:
    case Error::not_enough_replicas_after_append:
    case Error::request_timed_out:
      return Error::coordinator_not_available;
    case Error::not_leader_or_follower:
    case Error::kafka_storage_error:
      return Error::not_coordinator;
    default:
      return error;
  }
}

}  // namespace

/// nullptr when this node does not coordinate the transactional id.
Transaction* TransactionCoordinator::find(std::uint32_t number) {
  const Partition& partition = node_.cluster().transactions_of(number);
  if (!node_.leads(partition)) return nullptr;
  if (transactions_.size() <= number || transactions_[number] == nullptr) load(partition);
  return transactions_[number];
}

void TransactionCoordinator::load(const Partition& partition) {
  if (transactions_.size() <= partition.number) transactions_.resize(partition.number + 1, nullptr);
  auto* t = node_.arena().make<Transaction>(node_.arena());
  transactions_[partition.number] = t;
  t->number = partition.number;
  const Log& log = partition.replica(node_.index())->log;
  if (log.empty()) return;
  const auto* word = reinterpret_cast<const std::uint64_t*>(log.entries().back().batch->records[0].payload);
  t->now.producer = static_cast<std::int64_t>(*word++);
  t->now.epoch = static_cast<std::int16_t>(*word++);
  t->now.last_epoch = static_cast<std::int16_t>(*word++);
  t->now.state = static_cast<TransactionState>(*word++);
  t->now.timeout.ns = static_cast<std::int64_t>(*word++);
  t->now.start.ns = static_cast<std::int64_t>(*word++);
  t->now.previous = static_cast<std::int64_t>(*word++);
  t->now.following = static_cast<std::int64_t>(*word++);
  for (std::uint64_t left = *word++; left > 0; --left) t->now.places.push_back(static_cast<PlaceId>(*word++));
  applied(*t);
}

void TransactionCoordinator::resign(std::uint32_t number) {
  if (number < transactions_.size()) transactions_[number] = nullptr;
}

// ---- InitProducerId
// ------------------------------------------------------------------------------------------------

void TransactionCoordinator::init(InitProducerIdRequest* r) {
  if (r->transactional_id == 0) {
    auto* answer = node_.new_answer<InitProducerIdAnswer>(*r);
    answer->producer = node_.cluster().new_producer_id();
    answer->epoch = 0;
    node_.send_answer(*r, answer);
    return node_.drop(r);
  }
  if (r->timeout.ns <= 0 || r->timeout > node_.cluster().values().transaction_max_timeout) {
    return node_.reply(r, Error::invalid_transaction_timeout);
  }
  Transaction* t = find(r->transactional_id);
  if (t == nullptr) return node_.reply(r, Error::not_coordinator);
  if (t->moving || preparing(t->now.state)) return node_.reply(r, Error::concurrent_transactions);
  if (r->producer >= 0 && r->producer != t->now.producer) return node_.reply(r, Error::producer_fenced);
  // An ongoing transaction is aborted under a raised epoch, which fences its producer; the client asks again.
  if (t->now.state == TransactionState::ongoing) return fence(*t, r, Error::concurrent_transactions);
  t->next = t->now;
  const Error error = raise(*t, *r);
  if (error != Error::none) return node_.reply(r, error);
  t->next.state = TransactionState::empty;
  t->next.timeout = r->timeout;
  t->next.places.clear();
  write(*t, r);
}

/// The identity that InitProducerId gives out (TransactionMetadata.prepareIncrementProducerEpoch).
Error TransactionCoordinator::raise(Transaction& t, const InitProducerIdRequest& r) {
  TransactionData& next = t.next;
  if (next.producer < 0 || next.epoch >= last_epoch_of_an_id) {
    next.producer = node_.cluster().new_producer_id();
    next.epoch = 0;
    next.last_epoch = -1;
  } else if (r.producer < 0) {
    if (!planted(Plant::kafka_init_does_not_fence)) ++next.epoch;
    next.last_epoch = -1;
  } else if (r.epoch == next.epoch) {
    next.last_epoch = next.epoch++;
  } else if (r.epoch != next.last_epoch) {  // else: its first request was carried out, its answer lost
    return Error::producer_fenced;
  }
  return Error::none;
}

/// Aborts what is ongoing under a raised epoch; the second protocol's end raises it once more.
void TransactionCoordinator::fence(Transaction& t, Request* request, Error answer) {
  t.next = t.now;
  const int raise = node_.cluster().values().transaction_version >= 2 ? 2 : 1;
  t.next.epoch = static_cast<std::int16_t>(std::min(t.next.epoch + raise, 32'767));
  t.next.last_epoch = -1;
  t.next.state = TransactionState::prepare_abort;
  write(t, request, answer);
}

// ---- partitions and groups come in
// -----------------------------------------------------------------------------------

Error TransactionCoordinator::check(const Transaction& t, std::int64_t producer, std::int16_t epoch) const {
  if (t.now.producer < 0 || t.now.producer != producer) return Error::invalid_producer_id_mapping;
  if (t.now.epoch != epoch && !planted(Plant::kafka_txn_epoch_unchecked)) return Error::producer_fenced;
  return Error::none;
}

void TransactionCoordinator::add(AddPartitionsToTxnRequest* r) {
  add_places(r, r->transactional_id, r->producer, r->epoch, r->places);
}

void TransactionCoordinator::add(AddOffsetsToTxnRequest* r) {
  Vec<PlaceId> places(node_.arena());
  places.push_back(node_.cluster().offsets_of(r->group).place);
  add_places(r, r->transactional_id, r->producer, r->epoch, places);
}

/// What adding comes to: an error, or whether t.next has to be written.
Error TransactionCoordinator::prepare_add(Transaction& t, std::int64_t producer, std::int16_t epoch,
                                          const Vec<PlaceId>& places, bool& changes) {
  const Error error = check(t, producer, epoch);
  if (error != Error::none) return error;
  if (t.moving || preparing(t.now.state)) return Error::concurrent_transactions;
  const bool ongoing = t.now.state == TransactionState::ongoing;
  t.next = t.now;
  if (!ongoing) {
    t.next.places.clear();
    t.next.start = node_.world().now();  // the timeout counts from here, not from the client's begin
  }
  t.next.state = TransactionState::ongoing;
  const std::size_t before = t.next.places.size();
  for (const PlaceId place : places) {
    const auto end = t.next.places.end();
    if (std::find(t.next.places.begin(), end, place) == end) t.next.places.push_back(place);
  }
  changes = !ongoing || t.next.places.size() != before;
  return Error::none;
}

void TransactionCoordinator::add_places(Request* r, std::uint32_t number, std::int64_t producer,
                                        std::int16_t epoch, const Vec<PlaceId>& places) {
  Transaction* t = find(number);
  if (t == nullptr) return node_.reply(r, Error::not_coordinator);
  bool changes = false;
  const Error error = prepare_add(*t, producer, epoch, places, changes);
  if (error != Error::none || !changes) return node_.reply(r, error);
  if (!node_.cluster().values().transactions_in_memory) return write(*t, r);
  keep_in_memory(*t);
  node_.reply(r, Error::none);
}

/// Nothing is written: the next coordinator knows nothing of it, and takes what comes next for another
/// transaction's beginning. As long as this one lives, it does not commit what another leader may have lost.
void TransactionCoordinator::keep_in_memory(Transaction& t) {
  if (t.now.state != TransactionState::ongoing) t.led.clear();
  for (std::size_t i = t.led.size(); i < t.next.places.size(); ++i) {
    const PlaceId place = t.next.places[i];
    t.led.push_back({place, node_.cluster().partition(place)->decided.leader_epoch});
  }
  std::swap(t.now, t.next);
}

bool TransactionCoordinator::led_by_others(const Transaction& t) const {
  return std::any_of(t.led.begin(), t.led.end(), [&](const Transaction::Led& l) {
    return node_.cluster().partition(l.place)->decided.leader_epoch != l.epoch;
  });
}

void TransactionCoordinator::verify(Verification* v) {
  if (v->adds) return add(v);
  const Transaction* t = find(v->transactional_id);
  if (t == nullptr || preparing(t->now.state)) {
    v->error = Error::not_enough_replicas;  // the leader has its producer try again
  } else {
    v->error = check(*t, v->producer, v->epoch);
    if (v->error == Error::producer_fenced) v->error = Error::invalid_producer_epoch;
    for (const PlaceId place : v->places) {
      const bool in = std::find(t->now.places.begin(), t->now.places.end(), place) != t->now.places.end();
      if (v->error == Error::none && !in) v->error = Error::invalid_txn_state;
    }
  }
  if (v->leader == node_.index()) return;
  node_.world().network().send(node_.owner, node_.cluster().at(v->leader), 80, on_verified, 0, v->token);
}

/// Second protocol: the leader of a partition adds it on behalf of the producer that writes to it.
void TransactionCoordinator::add(Verification* v) {
  Transaction* t = find(v->transactional_id);
  if (t == nullptr) return tell(v, Error::not_enough_replicas);
  bool changes = false;
  Error error = prepare_add(*t, v->producer, v->epoch, v->places, changes);
  if (error == Error::producer_fenced) error = Error::invalid_producer_epoch;
  if (error != Error::none || !changes) return tell(v, error);
  write(*t, nullptr, Error::none, v);
}

void TransactionCoordinator::tell(Verification* v, Error error) {
  v->error = error;
  if (v->leader == node_.index()) {
    node_.world().soon(node_, on_verified, 0, v->token);
  } else {
    node_.world().network().send(node_.owner, node_.cluster().at(v->leader), 80, on_verified, 0, v->token);
  }
}

// ---- the log
// ---------------------------------------------------------------------------------------------------------

Batch* TransactionCoordinator::image(const TransactionData& d) const {
  Arena& arena = node_.arena();
  auto* batch = arena.make<Batch>();
  batch->count = batch->capacity = 1;
  batch->payloads = true;
  batch->records = static_cast<Record*>(arena.allocate(sizeof(Record)));
  Record& record = batch->records[0] = Record{};
  record.payload_size = static_cast<std::uint32_t>((9 + d.places.size()) * sizeof(std::uint64_t));
  auto* word = static_cast<std::uint64_t*>(arena.allocate(record.payload_size));
  record.payload = reinterpret_cast<const std::byte*>(word);
  *word++ = static_cast<std::uint64_t>(d.producer);
  *word++ = static_cast<std::uint64_t>(d.epoch);
  *word++ = static_cast<std::uint64_t>(d.last_epoch);
  *word++ = static_cast<std::uint64_t>(d.state);
  *word++ = static_cast<std::uint64_t>(d.timeout.ns);
  *word++ = static_cast<std::uint64_t>(d.start.ns);
  *word++ = static_cast<std::uint64_t>(d.previous);
  *word++ = static_cast<std::uint64_t>(d.following);
  *word++ = d.places.size();
  for (const PlaceId place : d.places) *word++ = place;
  // About what a TransactionLogValue takes.
  batch->bytes = batch_overhead_bytes + static_cast<std::uint32_t>(56 + 8 * d.places.size());
  return batch;
}

/// Writes t.next; it holds once it is replicated. `answer` is what `request` is then told; a leader that
/// asked for `verification` hears that it is done.
void TransactionCoordinator::write(Transaction& t, Request* request, Error answer,
                                   Verification* verification) {
  t.moving = true;
  auto* pending = node_.arena().make<PendingTransaction>();
  pending->kind = PendingKind::transaction;
  pending->number = t.number;
  pending->request = request;
  pending->answer = answer;
  pending->verification = verification;
  pending->deadline = node_.world().now() + Duration::seconds(30);
  const Error error = node_.append(node_.cluster().transactions_of(t.number), image(t.next), pending);
  if (error != Error::none) written(pending, error);
}

void TransactionCoordinator::finished(Pending* pending, std::uint32_t part, Error error) {
  if (pending->kind == PendingKind::marker)
    return marker_written(static_cast<PendingMarkers*>(pending), part, error);
  written(static_cast<PendingTransaction*>(pending), error);
}

void TransactionCoordinator::written(PendingTransaction* pending, Error error) {
  Transaction* t = pending->number < transactions_.size() ? transactions_[pending->number] : nullptr;
  Request* r = pending->request;
  Verification* verification = pending->verification;
  const Error answer = error == Error::none ? pending->answer : as_coordinator_error(error);
  node_.arena().recycle(pending);
  if (t != nullptr) {
    t->moving = false;
    if (error == Error::none) {
      std::swap(t->now, t->next);
    } else if (preparing(t->now.state)) {
      retry_later(*t);  // the end of a transaction could not be noted
    }
  }
  if (verification != nullptr) tell(verification, error == Error::none ? error : Error::not_enough_replicas);
  const bool second =
      r != nullptr && r->kind == RequestKind::end_txn && static_cast<EndTxnRequest*>(r)->second_protocol;
  const bool identifies = second || (r != nullptr && r->kind == RequestKind::init_producer_id);
  if (identifies && answer == Error::none && t != nullptr) {
    reply_identity(r, t->now);
  } else if (r != nullptr) {
    node_.reply(r, answer);
  }
  if (t != nullptr && error == Error::none) applied(*t);
}

/// What follows from the state that now holds.
void TransactionCoordinator::applied(Transaction& t) {
  if (t.now.state == TransactionState::ongoing) watch(t);
  if (preparing(t.now.state)) begin_markers(t);
}

// ---- timeouts
// --------------------------------------------------------------------------------------------------------

/// Timed-out transactions are looked for every 10 s. The first look that can find this one is scheduled, and
/// only it.
void TransactionCoordinator::watch(Transaction& t) {
  if (t.watched) return;
  t.watched = true;
  const Duration scan = node_.cluster().values().transaction_scan;
  const Instant due = std::max(t.now.start + t.now.timeout, node_.world().now());
  const std::int64_t looks = (due - node_.booted()).ns / scan.ns + 1;
  node_.world().schedule(node_.booted() + scan * looks, node_, on_transaction_timer, 0, t.number, look);
}

void TransactionCoordinator::look_at(Transaction& t) {
  t.watched = false;
  if (t.now.state != TransactionState::ongoing) return;
  if (t.moving || node_.world().now() - t.now.start <= t.now.timeout) return watch(t);
  fence(t, nullptr, Error::none);
}

void TransactionCoordinator::timer(const SimEvent& event) {
  Transaction* t = event.x < transactions_.size() ? transactions_[event.x] : nullptr;
  if (t == nullptr) return;
  if (event.y == look) return look_at(*t);
  if (preparing(t->now.state) && !t->moving) send_markers(*t);
}

}  // namespace mqlab::sim::kafka
