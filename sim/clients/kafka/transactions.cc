#include "sim/clients/kafka/transactions.h"

#include <algorithm>

#include "core/base/plant.h"
#include "sim/clients/kafka/client.h"
#include "sim/clients/kafka/consumer.h"
#include "sim/clients/kafka/producer.h"

namespace mqlab::sim::kafka::client {

Transactions::Transactions(KafkaClient& client, Producer& producer)
    : client_(client),
      producer_(producer),
      java_(client.plan().java()),
      second_(client.plan().producer.second_protocol),
      coordinator_(true, client.plan().transactional_id, due::transaction_coordinator, asks::transaction),
      group_coordinator_(false, client.plan().group, due::offsets_coordinator, asks::offsets),
      waiting_(client.arena()),
      asked_(client.arena()),
      offsets_(client.arena()) {}

void Transactions::start() { advance(); }

void Transactions::node_usable() {
  coordinator_.find(client_);
  group_coordinator_.find(client_);
  advance();
}

void Transactions::settle(OpId& op, Kind of, Outcome outcome, ErrorClass error, Error code) {
  if (op == 0) return;
  client_.settle(op, of, outcome, error, static_cast<std::int16_t>(code));
  op = 0;
}

ErrorClass Transactions::failure() const {
  return state_ == State::failed || state_ == State::aborting ? ErrorClass::abortable
         : state_ == State::dead                              ? why_
                                                              : ErrorClass::fatal;
}

// ---- effects
// ---------------------------------------------------------------------------------------------------

/// Local in both clients; here it also waits until init_transactions is through.
void Transactions::begin(const Effect& effect) {
  if (state_ == State::dead) return client_.settle(effect, Outcome::fail, why_, code_);
  if (state_ == State::initialising && end_op_ == 0) {
    begin_op_ = effect.op;
    return;
  }
  if (state_ != State::ready)
    return client_.settle(effect, Outcome::fail, failure(), Error::invalid_txn_state);
  state_ = State::open;
  ++number_;
  touched_ = end_open_ = unclaimed_ = false;
  code_ = Error::none;
  client_.settle(effect, Outcome::ok);
}

void Transactions::writes_to(std::uint32_t index) {
  if (producer_.partition(index).transaction == number_) return;
  if (second_) {  // the leader sees to the rest
    producer_.partition(index).transaction = number_;
    touched_ = true;
    return;
  }
  if (std::find(waiting_.begin(), waiting_.end(), index) != waiting_.end()) return;
  if (std::find(asked_.begin(), asked_.end(), index) != asked_.end()) return;
  waiting_.push_back(index);
  // At this instant, but once the module is through: the partitions of one step go into one request.
  again_.set_by(client_.world(), client_, due::transaction, std::max(add_at_, client_.now()));
}

void Transactions::offsets(const Effect& effect) {
  if (state_ != State::open || offsets_op_ != 0) {
    return client_.settle(effect, Outcome::fail, failure(), Error::invalid_txn_state);
  }
  offsets_op_ = effect.op;
  generation_ = effect.generation;
  offsets_.clear();
  for (const PlacePosition& p : effect.places) offsets_.push_back({p.place, p.position});
  if (step_ == Step::idle) step_ = second_ ? Step::commit : Step::add;
  touched_ = touched_ || second_;
  limit();
  advance();
}

void Transactions::commit(const Effect& effect) {
  if (state_ == State::ready && unclaimed_) {  // librdkafka COMMIT_NOT_ACKED: done meanwhile
    unclaimed_ = false;
    return client_.settle(effect, Outcome::ok);
  }
  if (state_ == State::committing && end_op_ == 0) {  // the call is resumed
    end_op_ = effect.op;
    limit();
    return advance();
  }
  if (state_ == State::dead)
    return client_.settle(effect, end_open_ ? Outcome::unknown : Outcome::fail, why_, code_);
  if (state_ != State::open) {
    const ErrorClass error = state_ == State::failed ? ErrorClass::abortable : ErrorClass::fatal;
    return client_.settle(effect, Outcome::fail, error,
                          code_ == Error::none ? Error::invalid_txn_state : code_);
  }
  state_ = State::committing;
  end_op_ = effect.op;
  attempts_ = 0;
  limit();
  producer_.kick();  // what is queued goes out without lingering
  advance();
}

void Transactions::abort(const Effect& effect) {
  if (state_ == State::dead) return client_.settle(effect, Outcome::fail, why_, code_);
  if (state_ == State::ready && unclaimed_) {
    unclaimed_ = false;
    return client_.settle(effect, Outcome::ok);
  }
  if ((state_ == State::aborting || state_ == State::initialising) && end_op_ == 0) {
    end_op_ = effect.op;
    limit();
    return advance();
  }
  if (state_ != State::open && state_ != State::failed) {
    return client_.settle(effect, Outcome::fail, ErrorClass::retriable, Error::invalid_txn_state);
  }
  state_ = State::aborting;
  end_op_ = effect.op;
  attempts_ = 0;
  settle(offsets_op_, Kind::offsets_to_transaction, Outcome::fail, ErrorClass::abortable);
  step_ = Step::idle;
  waiting_.clear();
  limit();
  producer_.purge();
  advance();
}

/// An API call lasts no longer than the transaction may (librdkafka's timeout −1; java max.block.ms).
void Transactions::limit() {
  const KafkaProducer& s = client_.plan().producer;
  limit_.set(client_.world(), client_, due::transaction_limit,
             client_.now() + (java_ ? s.max_block : s.transaction_timeout));
}

/// The calls time out, what they began goes on: the module calls again.
void Transactions::limit_fired(const SimEvent& event) {
  if (!limit_.fired(client_.world(), client_, event)) return;
  settle(offsets_op_, Kind::offsets_to_transaction, Outcome::unknown, ErrorClass::retriable,
         Error::request_timed_out);
  const Kind of = state_ == State::committing ? Kind::commit_transaction : Kind::abort_transaction;
  settle(end_op_, of, Outcome::unknown, ErrorClass::retriable, Error::request_timed_out);
}

// ---- requests
// --------------------------------------------------------------------------------------------------

void Transactions::later(Instant& at, Duration delay) {
  at = client_.now() + delay;
  again_.set_by(client_.world(), client_, due::transaction, at);
}

void Transactions::again_fired(const SimEvent& event) {
  if (again_.fired(client_.world(), client_, event)) advance();
}

/// Sends whatever is due and not under way.
void Transactions::advance() {
  switch (state_) {
    case State::initialising:
      return initialise();
    case State::open:
      add_partitions();
      return send_offsets();
    case State::committing:
      add_partitions();
      send_offsets();
      if ((producer_.idle() || planted(Plant::kafka_client_ends_before_data)) && waiting_.empty() &&
          !adding_ && step_ == Step::idle)
        end();
      return;
    case State::aborting:
      if (producer_.idle()) end();
      return;
    default:
      return;
  }
}

void Transactions::initialise() {
  if (requested_) return;
  if (client_.now() < init_at_) return later(init_at_, init_at_ - client_.now());
  const NodeIndex node = coordinator_.node(client_);
  if (node == no_node) return;
  auto* request = client_.arena().make<InitProducerIdRequest>();
  request->transactional_id = client_.plan().transactional_id;
  request->timeout = client_.plan().producer.transaction_timeout;
  request->producer = producer_.producer_id();
  request->epoch = producer_.epoch();
  requested_ = true;
  client_.wire().send(node, RequestKind::init_producer_id, request, 60,
                      client_.wire().settings().request_timeout, 1);
}

void Transactions::add_partitions() {
  if (waiting_.empty() || adding_) return;
  if (client_.now() < add_at_) return later(add_at_, add_at_ - client_.now());
  const NodeIndex node = coordinator_.node(client_);
  if (node == no_node) return;
  auto* request = client_.arena().make<AddPartitionsToTxnRequest>(client_.arena());
  request->transactional_id = client_.plan().transactional_id;
  request->producer = producer_.producer_id();
  request->epoch = producer_.epoch();
  for (const std::uint32_t index : waiting_) request->places.push_back(producer_.partition(index).place);
  asked_.swap(waiting_);
  waiting_.clear();
  adding_ = touched_ = true;
  const auto bytes = static_cast<std::uint32_t>(60 + 20 * asked_.size());
  client_.wire().send(node, RequestKind::add_partitions_to_txn, request, bytes,
                      client_.wire().settings().request_timeout, number_);
}

/// AddOffsetsToTxn to the transaction's coordinator, then TxnOffsetCommit to the group's.
void Transactions::send_offsets() {
  if (step_ == Step::idle || offering_) return;
  if (client_.now() < offsets_at_) return later(offsets_at_, offsets_at_ - client_.now());
  Arena& arena = client_.arena();
  const Duration timeout = client_.wire().settings().request_timeout;
  if (step_ == Step::add) {
    const NodeIndex node = coordinator_.node(client_);
    if (node == no_node) return;
    auto* request = arena.make<AddOffsetsToTxnRequest>();
    request->transactional_id = client_.plan().transactional_id;
    request->producer = producer_.producer_id();
    request->epoch = producer_.epoch();
    request->group = client_.plan().group;
    offering_ = touched_ = true;
    client_.wire().send(node, RequestKind::add_offsets_to_txn, request, 60, timeout, number_);
    return;
  }
  const NodeIndex node = group_coordinator_.node(client_);
  if (node == no_node) return;
  auto* request = arena.make<TxnOffsetCommitRequest>(arena);
  request->transactional_id = client_.plan().transactional_id;
  request->producer = producer_.producer_id();
  request->epoch = producer_.epoch();
  request->group = client_.plan().group;
  if (const Consumer* consumer = client_.consumer()) {
    request->member = consumer->member_of(generation_);
    request->generation = generation_;
  }
  request->offsets.assign(offsets_.begin(), offsets_.end());
  request->second_protocol = second_;
  offering_ = true;
  const auto bytes = static_cast<std::uint32_t>(80 + 20 * offsets_.size());
  client_.wire().send(node, RequestKind::txn_offset_commit, request, bytes, timeout, number_);
}

void Transactions::end() {
  const bool commit = state_ == State::committing;
  if (ending_) return;
  if (!touched_) return completed();  // the coordinator has never heard of it
  // librdkafka: an abort that needs a new epoch is left to InitProducerId, which aborts what is open.
  if (!commit && producer_.gap() && !java_) return completed();
  if (client_.now() < end_at_) return later(end_at_, end_at_ - client_.now());
  const NodeIndex node = coordinator_.node(client_);
  if (node == no_node) return;
  auto* request = client_.arena().make<EndTxnRequest>();
  request->transactional_id = client_.plan().transactional_id;
  request->producer = producer_.producer_id();
  request->epoch = producer_.epoch();
  request->commit = commit;
  request->second_protocol = second_;
  ending_ = true;
  client_.wire().send(node, RequestKind::end_txn, request, 60, client_.wire().settings().request_timeout,
                      number_);
}

}  // namespace mqlab::sim::kafka::client
