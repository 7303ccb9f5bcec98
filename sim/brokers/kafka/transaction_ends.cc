// EndTxn: the first half of a transaction's end, in both protocols.
#include "sim/brokers/kafka/transactions.h"

namespace mqlab::sim::kafka {

void TransactionCoordinator::end(EndTxnRequest* r) {
  Transaction* t = find(r->transactional_id);
  if (t == nullptr) return node_.reply(r, Error::not_coordinator);
  if (r->second_protocol) {
    end_second(*t, r);
  } else {
    end_first(*t, r);
  }
}

/// The request names no transaction, only the producer and its epoch. One that was delayed until its producer
/// has begun the next transaction ends that one (the protocol's known flaw; KIP-890 raises the epoch each
/// time).
void TransactionCoordinator::end_first(Transaction& t, EndTxnRequest* r) {
  const Error error = check(t, r->producer, r->epoch);
  if (error != Error::none) return node_.reply(r, error);
  if (t.moving) return node_.reply(r, Error::concurrent_transactions);
  switch (t.now.state) {
    case TransactionState::ongoing:
      break;
    case TransactionState::complete_commit:
      return node_.reply(r, r->commit ? Error::none : Error::invalid_txn_state);
    case TransactionState::complete_abort:
      return node_.reply(r, r->commit ? Error::invalid_txn_state : Error::none);
    case TransactionState::prepare_commit:
      return node_.reply(r, r->commit ? Error::concurrent_transactions : Error::invalid_txn_state);
    case TransactionState::prepare_abort:
      return node_.reply(r, r->commit ? Error::invalid_txn_state : Error::concurrent_transactions);
    case TransactionState::empty:
      return node_.reply(r, Error::invalid_txn_state);
  }
  const bool lost = r->commit && led_by_others(t);
  t.led.clear();
  t.next = t.now;
  t.next.state = r->commit && !lost ? TransactionState::prepare_commit : TransactionState::prepare_abort;
  write(t, r, lost ? Error::invalid_txn_state : Error::none);
}

/// The epoch tells one transaction from the next: a request that comes late is fenced, one that is repeated
/// is known by the epoch that it raised (kafka TransactionCoordinator.endTransaction).
void TransactionCoordinator::end_second(Transaction& t, EndTxnRequest* r) {
  using State = TransactionState;
  const TransactionData& now = t.now;
  const bool overflown =
      now.previous == r->producer && r->epoch == last_epoch_of_an_id && now.epoch == 0 && now.producer >= 0;
  const bool repeated = overflown || (now.producer == r->producer && now.epoch == r->epoch + 1);
  if (now.producer < 0 || (now.producer != r->producer && !overflown))
    return node_.reply(r, Error::invalid_producer_id_mapping);
  const bool complete = now.state == State::complete_commit || now.state == State::complete_abort;
  const bool valid = preparing(now.state) ? repeated
                     : complete           ? repeated || now.epoch == r->epoch
                                          : now.epoch == r->epoch;
  if (!valid) return node_.reply(r, Error::producer_fenced);
  if (t.moving) return node_.reply(r, Error::concurrent_transactions);
  const State same = complete ? (r->commit ? State::complete_commit : State::complete_abort)
                              : (r->commit ? State::prepare_commit : State::prepare_abort);
  if (preparing(now.state))
    return node_.reply(r, now.state == same ? Error::concurrent_transactions : Error::invalid_txn_state);
  if (complete && repeated) {
    if (now.state != same) return node_.reply(r, Error::invalid_txn_state);
    return reply_identity(r, now);
  }
  // Only an abort may end a transaction that has no partition yet.
  if (now.state != State::ongoing && r->commit) return node_.reply(r, Error::invalid_txn_state);
  t.next = now;
  t.next.last_epoch = t.next.epoch++;
  if (t.next.last_epoch >= last_epoch_of_an_id) t.next.following = node_.cluster().new_producer_id();
  if (now.state != State::ongoing) t.next.start = node_.world().now();
  t.next.state = r->commit ? State::prepare_commit : State::prepare_abort;
  write(t, r);
}

/// Who the producer is from now on. While the markers go out under the last epoch of an id, that is already
/// the next id.
void TransactionCoordinator::reply_identity(Request* r, const TransactionData& data) {
  const bool rotates = data.following >= 0;
  const auto fill = [&](auto* answer) {
    answer->producer = rotates ? data.following : data.producer;
    answer->epoch = rotates ? std::int16_t{0} : data.epoch;
    node_.send_answer(*r, answer);
    node_.drop(r);
  };
  if (r->kind == RequestKind::end_txn) {
    fill(node_.new_answer<EndTxnAnswer>(*r));
  } else {
    fill(node_.new_answer<InitProducerIdAnswer>(*r));
  }
}

}  // namespace mqlab::sim::kafka
