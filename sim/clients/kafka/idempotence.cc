// Producer ids, epochs and sequences, and what each flavour does about a sequence that broke.
#include "sim/clients/kafka/client.h"
#include "sim/clients/kafka/producer.h"
#include "sim/clients/kafka/transactions.h"

namespace mqlab::sim::kafka::client {

// ---- who am I
// --------------------------------------------------------------------------------------------------

/// Any node gives an id to a producer that is only idempotent.
void Producer::ask_identity() {
  if (asking_identity_ || producer_id_timer_.due() != Instant::never()) return;
  const NodeIndex node = client_.wire().any();
  if (node == no_node) return;  // asked again when a node is usable
  asking_identity_ = true;
  client_.wire().send(node, RequestKind::init_producer_id, client_.arena().make<InitProducerIdRequest>(), 40,
                      settings_.connection.request_timeout);
}

void Producer::initialised(const InitProducerIdAnswer& answer) {
  asking_identity_ = false;
  if (answer.error != Error::none) return initialisation_failed();
  identity_attempts_ = 0;
  identity(answer.producer, answer.epoch);
}

void Producer::initialisation_failed() {
  asking_identity_ = false;
  const Instant at = client_.now() + client_.wire().backoff(++identity_attempts_);
  producer_id_timer_.set(client_.world(), client_, due::producer_id, at);
}

void Producer::producer_id_fired(const SimEvent& event) {
  if (producer_id_timer_.fired(client_.world(), client_, event)) ask_identity();
}

void Producer::identity(std::int64_t producer, std::int16_t epoch) {
  producer_id_ = producer;
  epoch_ = epoch;
  gap_ = false;
  for (OutPartition& partition : partitions_) {
    partition.unresolved = false;
    for (std::uint32_t i = 0; i < partition.queue.size(); ++i) partition.queue[i]->has_sequence = false;
    partition.numbered.clear();
  }
  kick();
}

// ---- broken sequences
// ------------------------------------------------------------------------------------------

/// OUT_OF_ORDER_SEQUENCE_NUMBER: whether the batch is sent again.
bool Producer::out_of_order(OutPartition& partition, Pack& pack) {
  const std::int32_t ahead = pack.batch->first_sequence - (partition.acked_sequence + 1);
  if (java_) {  // TransactionManager.canRetry
    if (!partition.unresolved && (pack.renumbered || ahead != 0)) return true;
    if (transactions_ != nullptr) return false;
    if (!partition.unresolved || ahead == 0) bump(partition);
    return true;
  }
  // rd_kafka_handle_idempotent_Produce_error
  if (ahead > 0) {
    draining_ = true;  // caused by the failure of a batch before it; not at the risk of being stored twice
    return true;
  }
  dead_ = true;  // the head of the line: producer and broker disagree, which librdkafka holds to be fatal
  pack.possibly_stored = true;
  return false;
}

/// java: the idempotent producer raises its epoch by itself (TransactionManager.bumpIdempotentProducerEpoch);
/// the partition that called for it starts anew, others follow when they have nothing in flight.
void Producer::bump(OutPartition& partition) {
  ++epoch_;
  partition.unresolved = false;
  renumber(partition);
}

/// All numbered batches of the partition from sequence 0 on, those in flight too.
void Producer::renumber(OutPartition& partition) {
  partition.producer = producer_id_;
  partition.epoch = epoch_;
  partition.next_sequence = 0;
  partition.acked_sequence = -1;
  for (std::uint32_t i = 0; i < partition.numbered.size(); ++i) {
    Pack& pack = *partition.numbered[i];
    detach(client_.arena(), pack);
    pack.batch->producer = producer_id_;
    pack.batch->epoch = epoch_;
    pack.batch->first_sequence = partition.next_sequence;
    pack.renumbered = true;
    partition.next_sequence += static_cast<std::int32_t>(pack.batch->count);
  }
}

/// java TransactionManager.maybeResolveSequences: once nothing numbered is left, either all is acknowledged
/// or there is a gap.
void Producer::resolve(OutPartition& partition) {
  if (!partition.numbered.empty()) return;
  partition.unresolved = false;
  if (partition.acked_sequence + 1 == partition.next_sequence) return;
  if (transactions_ == nullptr) bump(partition);
}

/// librdkafka: all requests are back, the epoch rises, and what is queued is numbered anew from 0
/// (rd_kafka_idemp_ drain_done, rd_kafka_toppar_pid_change). A transactional producer's epoch is raised by
/// its coordinator.
void Producer::drained() {
  draining_ = false;
  if (transactions_ != nullptr) return;
  identity(producer_id_, static_cast<std::int16_t>(epoch_ + 1));
}

void Producer::purge() {
  for (OutPartition& partition : partitions_) {
    while (!partition.queue.empty()) {
      Pack* pack = partition.queue.front();
      partition.queue.pop_front();
      gap_ = gap_ || pack->has_sequence;
      tell(*pack, pack->possibly_stored ? Outcome::unknown : Outcome::fail, ErrorClass::abortable,
           Error::none, -1);
      done(pack);
    }
    partition.open = nullptr;
    unlist(partition);
  }
  post_settlements();
  room_again();
}

}  // namespace mqlab::sim::kafka::client
