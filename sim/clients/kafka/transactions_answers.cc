// What the coordinators answered, and what follows.
#include <algorithm>

#include "sim/clients/kafka/client.h"
#include "sim/clients/kafka/producer.h"
#include "sim/clients/kafka/transactions.h"

namespace mqlab::sim::kafka::client {
namespace {
// Fixed waits of rdkafka_txnmgr.c and TransactionManager (ADD_PARTITIONS_RETRY_BACKOFF_MS).
constexpr Duration concurrent_backoff = Duration::millis(20);
constexpr Duration librdkafka_backoff = Duration::millis(500);
}  // namespace

Transactions::Act Transactions::act(Error error) {
  switch (error) {
    case Error::none:
      return Act::none;
    case Error::disconnected:
    case Error::timed_out_local:
    case Error::request_timed_out:
    case Error::not_coordinator:
    case Error::coordinator_not_available:
      return Act::elsewhere;
    case Error::coordinator_load_in_progress:
    case Error::concurrent_transactions:
    case Error::unknown_topic_or_partition:
    case Error::not_leader_or_follower:
    case Error::not_enough_replicas:
    case Error::not_enough_replicas_after_append:
      return Act::again;
    case Error::invalid_producer_epoch:
    case Error::producer_fenced:
      return Act::fenced;
    case Error::invalid_txn_state:
    case Error::invalid_transaction_timeout:
    case Error::transaction_coordinator_fenced:
      return Act::fatal;
    default:
      return Act::abort;
  }
}

void Transactions::coordinator_found(const FindCoordinatorAnswer& answer, bool of_transaction) {
  Coordinator& which = of_transaction ? coordinator_ : group_coordinator_;
  if (which.answered(client_, answer)) advance();
}

void Transactions::coordinator_failed(bool of_transaction) {
  (of_transaction ? coordinator_ : group_coordinator_).failed(client_);
}

void Transactions::coordinator_fired(const SimEvent& event) {
  Coordinator& which = event.kind == due::transaction_coordinator ? coordinator_ : group_coordinator_;
  which.timer_fired(client_, event);
}

void Transactions::initialised(const InitProducerIdAnswer& answer) {
  requested_ = false;
  if (state_ != State::initialising) return;
  switch (act(answer.error)) {
    case Act::none:
      break;
    case Act::fenced:
      return die(ErrorClass::fenced, answer.error);
    case Act::fatal:
      return die(ErrorClass::fatal, answer.error);
    case Act::elsewhere:
      coordinator_.lost();
      [[fallthrough]];
    default:
      // librdkafka asks again after 500 ms (rd_kafka_idemp_pid_timer_restart), Java after retry.backoff.ms.
      return later(init_at_, java_ ? client_.wire().backoff(++attempts_) : librdkafka_backoff);
  }
  attempts_ = 0;
  state_ = State::ready;
  producer_.identity(answer.producer, answer.epoch);
  if (end_op_ != 0) {
    limit_.cancel();
    settle(end_op_, Kind::abort_transaction, Outcome::ok);
  }
  if (begin_op_ == 0) return;
  Effect begin_again;
  begin_again.kind = Kind::begin;
  begin_again.op = begin_op_;
  begin_op_ = 0;
  begin(begin_again);
}

/// EndTxn of the second protocol says who the producer is from now on.
void Transactions::ended(const Pending& pending, const EndTxnAnswer& answer) {
  const bool current =
      pending.context == number_ && (state_ == State::committing || state_ == State::aborting);
  if (current && answer.error == Error::none && answer.producer >= 0) {
    producer_.identity(answer.producer, answer.epoch);
  }
  answered(pending, answer.error);
}

void Transactions::answered(const Pending& pending, Error error) {
  if (pending.kind == RequestKind::init_producer_id) {
    InitProducerIdAnswer failure;
    failure.error = error;
    return initialised(failure);
  }
  if (act(error) == Act::elsewhere) {
    (pending.kind == RequestKind::txn_offset_commit ? group_coordinator_ : coordinator_).lost();
  }
  const bool current = pending.context == number_;
  switch (pending.kind) {
    case RequestKind::add_partitions_to_txn:
      adding_ = false;
      if (current) partitions_added(error);
      asked_.clear();
      break;
    case RequestKind::add_offsets_to_txn:
    case RequestKind::txn_offset_commit:
      offering_ = false;
      if (current) offsets_answered(error, pending.kind == RequestKind::add_offsets_to_txn);
      break;
    default:
      ending_ = false;
      if (current) ended(error);
      break;
  }
  advance();
}

void Transactions::partitions_added(Error error) {
  if (state_ != State::open && state_ != State::committing)
    return;  // outdated: the transaction is being aborted
  switch (act(error)) {
    case Act::none:
      for (const std::uint32_t index : asked_) producer_.partition(index).transaction = number_;
      attempts_ = 0;
      producer_.kick();
      return;
    case Act::again:
    case Act::elsewhere: {
      waiting_.insert(waiting_.end(), asked_.begin(), asked_.end());
      const bool soon = error == Error::concurrent_transactions;
      const Duration wait = soon    ? concurrent_backoff
                            : java_ ? client_.wire().backoff(++attempts_)
                                    : librdkafka_backoff;
      return later(add_at_, wait);
    }
    case Act::fenced:
      return die(ErrorClass::fenced, error);
    case Act::fatal:
      return die(ErrorClass::fatal, error);
    case Act::abort:
      return fail(error);
  }
}

void Transactions::offsets_answered(Error error, bool added) {
  if (state_ != State::open && state_ != State::committing) return;
  switch (act(error)) {
    case Act::none:
      attempts_ = 0;
      step_ = added ? Step::commit : Step::idle;
      if (added) return;
      limit_.cancel();
      return settle(offsets_op_, Kind::offsets_to_transaction, Outcome::ok);
    case Act::again:
    case Act::elsewhere: {
      const bool backs_off = added || java_;
      return later(offsets_at_, backs_off ? client_.wire().backoff(++attempts_) : librdkafka_backoff);
    }
    case Act::fenced:
      return die(ErrorClass::fenced, error);
    case Act::fatal:
      return die(ErrorClass::fatal, error);
    case Act::abort:
      return fail(error);
  }
}

void Transactions::ended(Error error) {
  if (state_ != State::committing && state_ != State::aborting) return;
  const bool silent =
      error == Error::disconnected || error == Error::timed_out_local || error == Error::request_timed_out;
  if (silent) end_open_ = true;
  switch (act(error)) {
    case Act::none:
      return completed();
    case Act::again:
    case Act::elsewhere:
      return later(end_at_, client_.wire().backoff(++attempts_));
    case Act::fenced:
      return die(ErrorClass::fenced, error);
    case Act::fatal:
      return die(ErrorClass::fatal, error);
    case Act::abort:
      if (state_ == State::committing) return fail(error);
      return later(end_at_, client_.wire().backoff(++attempts_));
  }
}

/// The coordinator has the outcome, or there was none to have.
void Transactions::completed() {
  const bool committed = state_ == State::committing;
  attempts_ = 0;
  if (!committed && producer_.gap()) {  // a new epoch first (KIP-360): sequences start anew
    state_ = State::initialising;
    return initialise();
  }
  state_ = State::ready;
  limit_.cancel();
  unclaimed_ = end_op_ == 0;
  settle(end_op_, committed ? Kind::commit_transaction : Kind::abort_transaction, Outcome::ok);
}

// ---- errors
// ----------------------------------------------------------------------------------------------------

void Transactions::record_failed(ErrorClass error, Error code) {
  if (error == ErrorClass::fenced) return die(error, code);
  if (state_ == State::open || state_ == State::committing) fail(code);
}

/// Only an abort leads on.
void Transactions::fail(Error error) {
  const bool committing = state_ == State::committing;
  state_ = State::failed;
  code_ = error;
  limit_.cancel();
  step_ = Step::idle;
  settle(offsets_op_, Kind::offsets_to_transaction, Outcome::fail, ErrorClass::abortable, error);
  if (committing) {
    settle(end_op_, Kind::commit_transaction, end_open_ ? Outcome::unknown : Outcome::fail,
           ErrorClass::abortable, error);
  }
}

/// Another incarnation took over, or the client can do nothing more.
void Transactions::die(ErrorClass error, Error code) {
  if (state_ == State::dead) return;
  const Kind end = state_ == State::committing ? Kind::commit_transaction : Kind::abort_transaction;
  state_ = State::dead;
  why_ = error;
  code_ = code;
  limit_.cancel();
  settle(begin_op_, Kind::begin, Outcome::fail, error, code);
  settle(offsets_op_, Kind::offsets_to_transaction, Outcome::fail, error, code);
  settle(end_op_, end, end_open_ ? Outcome::unknown : Outcome::fail, error, code);
}

}  // namespace mqlab::sim::kafka::client
