// Produce: validation, append, the wait for the in-sync replicas.
// Rules: kafka ReplicaManager.appendRecords, Partition.appendRecordsToLeader, DelayedProduce.
#include <algorithm>

#include "core/base/check.h"
#include "core/base/plant.h"
#include "sim/brokers/kafka/groups.h"
#include "sim/brokers/kafka/node.h"
#include "sim/brokers/kafka/requests.h"
#include "sim/brokers/kafka/transactions.h"

namespace mqlab::sim::kafka {

void Node::produce(ProduceRequest* r) {
  connection(*r).busy = true;
  if (!verify(r)) produce_now(r);
}

/// `confirmed`: what the coordinator was asked first, if anything.
void Node::produce_now(ProduceRequest* r, const Verification* confirmed) {
  auto* pending = arena().make<PendingProduce>();
  pending->request = r;
  pending->answer = new_answer<ProduceAnswer>(*r);
  pending->deadline = world().now() + r->timeout;
  pending->open = 1;  // this function itself: a part that ends at once must not send the answer yet
  Vec<ProducedPart>& parts = pending->answer->parts;
  parts.reserve(r->parts.size());
  for (std::uint32_t i = 0; i < r->parts.size(); ++i) {
    parts.push_back(produce_part(*r, r->parts[i], confirmed));
    const bool early = cluster_.values().transactions_in_memory && r->parts[i].batch->transactional;
    if (r->acks != -1 || early || parts[i].error != Error::none) continue;
    Replica& replica = *cluster_.partition(r->parts[i].place)->replica(index_);
    const std::int64_t end = parts[i].base_offset + r->parts[i].batch->count;
    if (replica.high_watermark < end && !planted(Plant::kafka_acks_before_replicas)) {
      ++pending->open;
      wait(replica, end, pending, i);
    }
  }
  for (const ProducePart& part : r->parts) {
    Partition* partition = cluster_.partition(part.place);
    if (partition != nullptr && leads(*partition)) advance(*partition, *partition->replica(index_));
  }
  if (--pending->open == 0) answer_produce(pending);
}

namespace {

bool keyless(const Batch& batch) {
  return std::any_of(batch.records, batch.records + batch.count, [](const Record& r) { return r.key == 0; });
}

}  // namespace

ProducedPart Node::produce_part(const ProduceRequest& r, const ProducePart& part,
                                const Verification* confirmed) {
  ProducedPart out;
  out.place = part.place;
  const auto refuse = [&](Error error) {
    out.error = error;
    return out;
  };
  Partition* partition = cluster_.partition(part.place);
  if (partition == nullptr) return refuse(Error::unknown_topic_or_partition);
  if (!leads(*partition)) return refuse(Error::not_leader_or_follower);
  Replica& replica = *partition->replica(index_);
  if (part.batch->bytes > partition->topic.max_message_bytes) return refuse(Error::message_too_large);
  // kafka LogValidator.validateKey
  if (partition->topic.compacts && keyless(*part.batch)) return refuse(Error::invalid_record);
  if (r.acks == -1 && size_of(replica.lead->isr) < partition->topic.min_insync_replicas)
    return refuse(Error::not_enough_replicas);
  const bool asked = cluster_.values().partition_verification || r.second_protocol;
  if (asked && !may_open(replica.lead->ledger, part, confirmed)) {
    return refuse(Error::invalid_txn_state);
  }
  const ProducerLedger::Check check = replica.lead->ledger.check(*part.batch, r.second_protocol);
  if (check.error != Error::none) return refuse(check.error);
  if (check.duplicate_of >= 0 && cluster_.values().refuses_repeats)
    return refuse(Error::out_of_order_sequence);
  if (check.duplicate_of >= 0) {
    out.duplicate = true;
    out.base_offset = check.duplicate_of;
    return out;
  }
  if (no_room(replica, *part.batch)) return refuse(Error::kafka_storage_error);
  out.base_offset = replica.log.end();
  ++part.batch->references;
  write(*partition, replica, part.batch);
  if (giving_up_) out.error = Error::kafka_storage_error;  // it is in the log, and could not be synced
  return out;
}

/// The first append of a transaction needs the coordinator's word, given for this very transaction.
bool Node::may_open(const ProducerLedger& ledger, const ProducePart& part,
                    const Verification* confirmed) const {
  if (!ledger.opens_transaction(*part.batch)) return true;
  return confirmed != nullptr && ledger.guarded(part.batch->producer, confirmed->token);
}

/// Into the leader's log, and to the followers that wait for data.
void Node::write(Partition& partition, Replica& replica, Batch* batch) {
  Leadership& lead = *replica.lead;
  const LogEntry entry = {replica.log.end(), batch, world().now(), batch->count, lead.epoch, batch->bytes};
  lead.ledger.appended(*batch, entry.base);
  if (!replica.log.append(world().now(), entry, partition.topic)) give_up();
  cluster_.measure(partition);
  appended(partition);
  for (std::uint32_t s = 0; s < partition.replication; ++s) {
    const NodeIndex node = partition.node(s);
    if (has(lead.attached, node)) mark_dirty(partition, lead.followers[s], node);
  }
  if (troubled(lead)) schedule_check();
}

void Node::wait(Replica& replica, std::int64_t offset, Pending* pending, std::uint32_t part) {
  Ring<Waiter>& waiters = replica.lead->waiters;
  waiters.push_back({offset, pending, part});
  for (std::uint32_t i = waiters.size() - 1; i > 0 && waiters[i - 1].offset > offset; --i) {
    std::swap(waiters[i], waiters[i - 1]);  // a repeat waits for less than what came before it
  }
  if (check_scheduled_) schedule_expiry();
}

Error Node::append(Partition& partition, Batch* batch, Pending* pending, std::uint32_t part) {
  const auto refuse = [&](Error error) {
    release(arena(), batch);
    return error;
  };
  if (!leads(partition)) return refuse(Error::not_leader_or_follower);
  Replica& replica = *partition.replica(index_);
  if (size_of(replica.lead->isr) < partition.topic.min_insync_replicas)
    return refuse(Error::not_enough_replicas);
  if (no_room(replica, *batch)) return refuse(Error::kafka_storage_error);
  write(partition, replica, batch);
  if (giving_up_) return Error::kafka_storage_error;
  wait(replica, replica.log.end(), pending, part);
  advance(partition, replica);
  return Error::none;
}

void Node::answer_produce(PendingProduce* pending) {
  end_produce(pending->request, pending->answer);
  arena().recycle(pending);
}

/// The answer goes out at once also when the client is above its quota; its connection waits. (KIP-219; kafka
/// KafkaApis.handleProduceRequest)
void Node::end_produce(ProduceRequest* r, ProduceAnswer* answer) {
  Connection* c = find_connection(*r);
  answer->throttle = charge_produce(*r);
  if (c != nullptr) {
    c->busy = false;
    mute(*c, answer->throttle);
  }
  if (r->acks == 0) {
    destroy_answer(arena(), answer);
  } else {
    send_answer(*r, answer, static_cast<std::uint32_t>(30 * answer->parts.size()));
  }
  drop(r);
  if (c != nullptr) go_on(*c);
}

void Node::finished(Pending* pending, std::uint32_t part, Error error) {
  switch (pending->kind) {
    case PendingKind::produce: {
      auto* produce = static_cast<PendingProduce*>(pending);
      if (error != Error::none) {
        ProducedPart& out = produce->answer->parts[part];
        out.error = error;
      }
      if (--produce->open == 0) answer_produce(produce);
      return;
    }
    case PendingKind::marker:
    case PendingKind::transaction:
      return transactions().finished(pending, part, error);
    default:
      return groups().finished(pending, error);
  }
}

// ---- verification of transactions (KIP-890; kafka AddPartitionsToTxnManager,
// ReplicaManager.handleProduceAppend)
// ----------------------------------

/// True when the request is held until the transaction's coordinator has confirmed, or added, its partitions.
bool Node::verify(ProduceRequest* r) {
  const bool asks = cluster_.values().partition_verification || r->second_protocol;
  if (r->transactional_id == 0 || !asks) return false;
  Verification* v = nullptr;
  for (const ProducePart& part : r->parts) {
    const Partition* partition = cluster_.partition(part.place);
    if (partition == nullptr || !leads(*partition)) continue;
    if (!partition->replica(index_)->lead->ledger.opens_transaction(*part.batch)) continue;
    if (v == nullptr) v = new_verification();
    partition->replica(index_)->lead->ledger.guard(part.batch->producer, v->token);
    v->places.push_back(part.place);
    v->producer = part.batch->producer;
    v->epoch = part.batch->epoch;
  }
  if (v == nullptr) return false;
  v->transactional_id = r->transactional_id;
  v->adds = r->second_protocol;
  v->until = world().now() + cluster_.values().add_partitions_patience;
  v->request = r;
  ask_verification(v);
  return true;
}

Verification* Node::new_verification() {
  auto* v = arena().make<Verification>(arena());
  v->token = next_token_++;
  return v;
}

void Node::ask_verification(Verification* v) {
  v->from = owner;
  v->leader = index_;
  const NodeIndex coordinator = view(cluster_.transactions_of(v->transactional_id).place).leader;
  v->coordinator = coordinator;
  if (coordinator == index_ && !v->adds) {
    transactions().verify(v);
    verified(v);
  } else if (coordinator == index_) {
    verifications_.push_back(v);
    transactions().verify(v);
  } else if (coordinator == no_node || !world().alive(cluster_.process(coordinator))) {
    v->error =
        Error::not_enough_replicas;  // what produce answers when the coordinator cannot be asked: retriable
    verified(v);
  } else {
    verifications_.push_back(v);
    world().network().send(owner, cluster_.at(coordinator), 80, on_verify,
                           reinterpret_cast<std::uint64_t>(v));
  }
}

/// nullptr when it has been given up meanwhile.
Verification* Node::take_verification(std::uint32_t token) {
  const auto at =
      std::find_if(verifications_.begin(), verifications_.end(), [&](auto* v) { return v->token == token; });
  if (at == verifications_.end()) return nullptr;
  Verification* v = *at;
  verifications_.erase(at);
  return v;
}

void Node::verified(std::uint32_t token) {
  Verification* v = take_verification(token);
  if (v == nullptr) return;
  // The producer's last transaction has yet to get its markers: its next one waits for them here.
  const bool waits = v->error == Error::concurrent_transactions && v->request->kind == RequestKind::produce;
  if (!waits || world().now() >= v->until) {
    if (waits) v->error = Error::not_enough_replicas;
    return verified(v);
  }
  verifications_.push_back(v);
  world().after(cluster_.values().add_partitions_backoff, *this, on_verify_again, 0, token);
}

/// A marker that came meanwhile has voided the guards.
void Node::verify_again(std::uint32_t token) {
  Verification* v = take_verification(token);
  if (v == nullptr) return;
  v->error = Error::none;
  for (const PlaceId place : v->places) {
    const Partition& partition = *cluster_.partition(place);
    if (!leads(partition)) continue;
    ProducerLedger& ledger = partition.replica(index_)->lead->ledger;
    ledger.unguard(v->token);
    ledger.guard(v->producer, v->token);
  }
  ask_verification(v);
}

/// Connections to a node broke: what it was asked is not answered.
void Node::give_up_verifications(NodeIndex coordinator) {
  for (std::size_t i = 0; i < verifications_.size();) {
    Verification* v = verifications_[i];
    if (v->coordinator != coordinator) {
      ++i;
      continue;
    }
    verifications_.erase(verifications_.begin() + static_cast<std::ptrdiff_t>(i));
    v->error = Error::not_enough_replicas;
    verified(v);
  }
}

void Node::verified(Verification* v) {
  Request* held = v->request;
  const Error error = v->error;
  for (const PlaceId place : v->places) {
    const Partition& partition = *cluster_.partition(place);
    if (error != Error::none && leads(partition)) partition.replica(index_)->lead->ledger.unguard(v->token);
  }
  if (held->kind == RequestKind::txn_offset_commit) {
    groups().verified(static_cast<TxnOffsetCommitRequest*>(held), error, v->token);
    return destroy(arena(), v);
  }
  auto* produce = static_cast<ProduceRequest*>(held);
  if (error == Error::none) {
    produce_now(produce, v);
    return destroy(arena(), v);
  }
  destroy(arena(), v);
  auto* answer = new_answer<ProduceAnswer>(*produce);
  for (const ProducePart& part : produce->parts) {
    answer->parts.push_back({});
    answer->parts.back().place = part.place;
    answer->parts.back().error = error;
  }
  end_produce(produce, answer);
}

}  // namespace mqlab::sim::kafka
