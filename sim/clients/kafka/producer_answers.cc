// What becomes of a batch that was sent: acknowledged, sent again, split, given up.
#include <algorithm>

#include "core/base/plant.h"
#include "sim/clients/kafka/client.h"
#include "sim/clients/kafka/producer.h"
#include "sim/clients/kafka/transactions.h"

namespace mqlab::sim::kafka::client {
namespace {

struct Reaction {
  bool again = false;     ///< send it again
  bool metadata = false;  ///< the leader may be another
  bool stored = false;    ///< it may be in the log
  bool counts = true;     ///< librdkafka: counts against message.send.max.retries
};

/// java: RetriableException and InvalidMetadataException; librdkafka: rd_kafka_handle_Produce_error.
Reaction reaction(Error error) {
  switch (error) {
    case Error::disconnected:
      return {true, true, true, true};
    case Error::timed_out_local:
      return {true, false, true, true};
    case Error::request_timed_out:
      return {true, false, true, true};
    case Error::not_enough_replicas:
      return {true, false, false, true};
    case Error::not_enough_replicas_after_append:
      return {true, false, true, true};
    case Error::unknown_topic_or_partition:
    case Error::leader_not_available:
    case Error::not_leader_or_follower:
    case Error::fenced_leader_epoch:
    case Error::unknown_leader_epoch:
      return {true, true, false, false};
    case Error::kafka_storage_error:
      return {true, true, false, true};
    case Error::coordinator_load_in_progress:
    case Error::coordinator_not_available:
    case Error::not_coordinator:
    case Error::concurrent_transactions:
      return {true, false, false, true};
    default:
      return {};
  }
}

}  // namespace

ErrorClass Producer::class_of(Error error) const {
  switch (error) {
    case Error::producer_fenced:
      return ErrorClass::fenced;
    case Error::invalid_producer_epoch:
      // librdkafka raises a fatal _FENCED; Java fails the transaction first (InvalidProducerEpochException).
      return java_ && transactions_ != nullptr ? ErrorClass::abortable : ErrorClass::fenced;
    default:
      break;
  }
  if (transactions_ != nullptr) return ErrorClass::abortable;
  return reaction(error).again ? ErrorClass::retriable : ErrorClass::fatal;
}

void Producer::answered(const Pending& pending, ProduceAnswer* answer) {
  auto* flight = reinterpret_cast<Flight*>(pending.context);
  for (std::size_t i = 0; i < flight->packs.size(); ++i) {
    Pack* pack = flight->packs[i];
    const PlaceId place = partitions_[pack->partition].place;
    std::size_t at = i;
    if (at >= answer->parts.size() || answer->parts[at].place != place) {
      at = static_cast<std::size_t>(std::find_if(answer->parts.begin(), answer->parts.end(),
                                                 [&](const ProducedPart& p) { return p.place == place; }) -
                                    answer->parts.begin());
    }
    if (at == answer->parts.size()) {
      ended(pack, answer->error == Error::none ? Error::request_timed_out : answer->error, -1);
    } else {
      ended(pack, answer->parts[at].error, answer->parts[at].base_offset);
    }
  }
  destroy(client_.arena(), answer);
  land(flight);
}

void Producer::failed(const Pending& pending, Error error) {
  auto* flight = reinterpret_cast<Flight*>(pending.context);
  for (Pack* pack : flight->packs) ended(pack, error, -1);
  land(flight);
}

/// The request is through.
void Producer::land(Flight* flight) {
  --lanes_[flight->node].in_flight;
  std::erase(flights_, flight);
  destroy(client_.arena(), flight);
  post_settlements();
  if (draining_ && packs_in_flight_ == 0) drained();
  room_again();
  kick();
}

/// One batch of a request came to an end.
void Producer::ended(Pack* pack, Error error, std::int64_t base_offset) {
  OutPartition& partition = partitions_[pack->partition];
  pack->in_flight = false;
  --partition.packs_in_flight;
  partition.records_in_flight -= pack->batch->count;
  --packs_in_flight_;
  if (partition.packs_in_flight == 0) partition.drain = false;
  if (error == Error::duplicate_sequence) {  // known to be stored, nobody says where
    error = Error::none;
    base_offset = -1;
  }
  if (error == Error::none && pack->has_sequence) {
    const Batch& batch = *pack->batch;
    const std::int32_t last = batch.first_sequence + static_cast<std::int32_t>(batch.count) - 1;
    const bool current = batch.producer == partition.producer && batch.epoch == partition.epoch;
    if (current) partition.acked_sequence = std::max(partition.acked_sequence, last);
  }
  if (pack->settled) return done(pack);  // it timed out while it was in flight
  if (error == Error::none) {
    tell(*pack, Outcome::ok, ErrorClass::none, Error::none, base_offset);
    return done(pack);
  }
  if (error == Error::message_too_large && java_ && pack->batch->count > 1) return split(pack);
  const Reaction how = reaction(error);
  if (how.stored) pack->possibly_stored = true;
  if (how.metadata) client_.wire().refresh();
  bool again = how.again;
  if (error == Error::out_of_order_sequence && pack->has_sequence) again = out_of_order(partition, *pack);
  if (dead_) again = false;
  const Instant limit = pack->created + settings_.delivery_timeout;
  if (java_ && (limit <= client_.now() || pack->attempts > settings_.retries)) again = false;
  const bool counts = how.counts && again;
  if (!java_ && counts && pack->retries >= settings_.retries) again = false;
  if (transactions_ != nullptr && transactions_->gives_up()) again = false;
  if (!again) return give_up(pack, class_of(error), error);
  retry(pack, counts);
}

/// Back into the queue. Java without idempotence puts each failed batch in front of the queue, one by one: of
/// several in flight the last to fail goes out first (RecordAccumulator.reenqueue: deque.addFirst). With
/// idempotence by sequence (insertInSequenceOrder). librdkafka inserts messages by their number
/// (rd_kafka_retry_msgq, msg_order_cmp), and with idempotence lets the partition drain first
/// (rd_kafka_idemp_drain_toppar).
void Producer::retry(Pack* pack, bool counts) {
  OutPartition& partition = partitions_[pack->partition];
  if (counts) ++pack->retries;
  pack->retried = true;
  if (pack->has_sequence && planted(Plant::kafka_client_renumbers_retries)) {
    remove(partition.numbered, pack);
    pack->has_sequence = false;
  }
  const std::uint32_t attempt = java_ ? pack->attempts : std::max(pack->retries, 1u);
  pack->retry_at = client_.now() + client_.wire().backoff(attempt);
  if (java_ && !settings_.idempotence) {
    partition.queue.push_front(pack);
  } else {
    insert_sorted(partition.queue, pack);
  }
  if (!java_ && settings_.idempotence) partition.drain = partition.packs_in_flight > 0;
  if (!partition.listed) list(pack->partition);
  // In the queue again it can time out there; its time has not been looked at while it was in flight.
  delivery_.set_by(client_.world(), client_, due::delivery, pack->created + settings_.delivery_timeout);
}

/// java Sender.completeBatch → RecordAccumulator.splitAndReenqueue: halves by batch.size, no retry is used
/// up.
void Producer::split(Pack* pack) {
  OutPartition& partition = partitions_[pack->partition];
  Arena& arena = client_.arena();
  Batch& batch = *pack->batch;
  std::uint32_t next = 0;
  std::uint64_t parts = 0;
  while (next < batch.count) {
    Pack* part = new_pack(arena, batch.count - next);
    part->partition = pack->partition;
    part->number = pack->number + parts++;
    part->created = pack->created;
    part->attempts = pack->attempts;
    part->retried = pack->retried;
    part->closed = true;
    part->reserved = parts == 1 ? pack->reserved : 0;
    while (next < batch.count) {
      Record record = batch.records[next];
      const std::uint32_t bytes = record_bytes(key_bytes(record.key), record.size, part->batch->count, 0);
      if (part->batch->count > 0 && part->batch->bytes + bytes > settings_.batch_bytes) break;
      if (record.payload_size > 0) {
        auto* to = static_cast<std::byte*>(arena.allocate(record.payload_size));
        std::copy(record.payload, record.payload + record.payload_size, to);
        record.payload = to;
        part->batch->payloads = true;
      }
      part->batch->records[part->batch->count] = record;
      part->ops[part->batch->count++] = pack->ops[next++];
      part->batch->bytes += bytes;
    }
    insert_sorted(partition.queue, part);
    if (!pack->has_sequence) continue;  // the parts share the whole's sequence numbers
    part->has_sequence = true;
    part->batch->producer = batch.producer;
    part->batch->epoch = batch.epoch;
    part->batch->transactional = batch.transactional;
    part->batch->first_sequence = batch.first_sequence + static_cast<std::int32_t>(next - part->batch->count);
    insert_sorted(partition.numbered, part);
  }
  remove(partition.numbered, pack);
  free_pack(arena, pack);
  if (!partition.listed) list(static_cast<std::uint32_t>(&partition - partitions_.data()));
}

/// Nothing more comes of it.
void Producer::done(Pack* pack) {
  OutPartition& partition = partitions_[pack->partition];
  if (pack->has_sequence) remove(partition.numbered, pack);
  if (partition.unresolved) resolve(partition);
  buffered_bytes_ -= pack->reserved;
  free_pack(client_.arena(), pack);
}

void Producer::give_up(Pack* pack, ErrorClass error, Error code) {
  OutPartition& partition = partitions_[pack->partition];
  const bool timed_out = code == Error::timed_out_local;
  // Java's TimeoutException says nothing of what happened to the attempts; librdkafka:
  // rd_kafka_message_status.
  const bool open = pack->possibly_stored || (java_ && timed_out && pack->attempts > 0);
  const Outcome failed = open ? Outcome::unknown : Outcome::fail;
  tell(*pack, planted(Plant::kafka_client_gives_up_as_stored) ? Outcome::ok : failed, error, code, -1);
  if (transactions_ != nullptr) transactions_->record_failed(error, code);
  if (pack->has_sequence) {
    gap_ = true;
    if (java_) remove(partition.numbered, pack);  // handleFailedBatch: no longer tracked as in flight
    if (transactions_ == nullptr && java_) {
      if (timed_out) {  // Sender.sendProducerData: markSequenceUnresolved when inRetry
        partition.unresolved = partition.unresolved || pack->retried;
      } else {
        bump(partition);
      }
    } else if (transactions_ == nullptr && !dead_) {
      dead_ = settings_.gapless;       // ERR__GAPLESS_GUARANTEE
      draining_ = !settings_.gapless;  // "message sequence gap": rd_kafka_idemp_drain_epoch_bump
    }
  }
  if (pack->in_flight) {
    pack->settled = true;
  } else {
    done(pack);
  }
}

// ---- telling the module
// ----------------------------------------------------------------------------------------

void Producer::tell(const Pack& pack, Outcome outcome, ErrorClass error, Error code,
                    std::int64_t base_offset) {
  const Batch& batch = *pack.batch;
  const PlaceId place = partitions_[pack.partition].place;
  for (std::uint32_t i = 0; i < batch.count; ++i) {
    Settlement& s = settlements_.emplace_back();
    s.op = pack.ops[i];
    s.of = Kind::publish;
    s.outcome = outcome;
    s.error = error;
    s.code = static_cast<std::uint16_t>(code);
    s.message = batch.records[i].id;
    s.place = place;
    s.position = base_offset < 0 ? -1 : base_offset + i;
  }
  unsettled_ -= batch.count;
}

void Producer::post_settlements() {
  if (settlements_.empty()) return;
  Event event;
  event.kind = EventKind::settled;
  event.settlements = {settlements_.data(), settlements_.size()};
  client_.process().post(event);
  settlements_.clear();
  check_flushed();
}

// ---- delivery time-out
// -----------------------------------------------------------------------------------------

/// Counted from the creation of the batch. java: also for what is in flight
/// (Sender.getExpiredInflightBatches); librdkafka: for what is queued, looked at once a second
/// (rd_kafka_broker_toppar_msgq_scan), while what is in flight is limited by its request's own time.
void Producer::delivery_fired(const SimEvent& event) {
  if (!delivery_.fired(client_.world(), client_, event)) return;
  const Instant now = client_.now();
  const Duration limit = settings_.delivery_timeout;
  constexpr std::int64_t second = 1'000'000'000;
  if (!java_ && now.ns % second != 0) {
    delivery_.set(client_.world(), client_, due::delivery, {(now.ns / second + 1) * second});
    return;
  }
  Instant next = Instant::never();
  for (OutPartition& partition : partitions_) {
    Vec<Pack*> expired(client_.arena());
    const auto look = [&](Pack* pack) {
      if (pack->settled) return;
      if (pack->created + limit <= now) {
        expired.push_back(pack);
      } else {
        next = std::min(next, pack->created + limit);
      }
    };
    for (std::uint32_t i = 0; i < partition.queue.size(); ++i) look(partition.queue[i]);
    for (Pack* pack : expired) {
      remove(partition.queue, pack);
      if (pack == partition.open) partition.open = nullptr;
      if (partition.queue.empty()) unlist(partition);
      give_up(pack, class_of(Error::timed_out_local), Error::timed_out_local);
    }
    expired.clear();
  }
  if (java_) {
    for (Flight* flight : flights_) {
      for (Pack* pack : flight->packs) {
        if (pack->settled) continue;
        if (pack->created + limit <= now) {
          give_up(pack, class_of(Error::timed_out_local), Error::timed_out_local);
        } else {
          next = std::min(next, pack->created + limit);
        }
      }
    }
  }
  post_settlements();
  if (draining_ && packs_in_flight_ == 0) drained();
  delivery_.set_by(client_.world(), client_, due::delivery, next);
  room_again();
  kick();
}

}  // namespace mqlab::sim::kafka::client
