// Effects of the module and the hand-over of records.
#include "sim/clients/kafka/consumer.h"

#include <algorithm>

#include "sim/clients/kafka/client.h"

namespace mqlab::sim::kafka::client {

Consumer::Consumer(KafkaClient& client)
    : client_(client),
      settings_(client.plan().consumer),
      java_(client.plan().java()),
      observer_(client.plan().observer),
      partitions_(client.arena()),
      parked_(client.arena()),
      ready_(client.arena()),
      handed_(client.arena()),
      messages_(client.arena()),
      lanes_(client.arena()),
      commits_(client.arena()),
      coordinator_(false, client.plan().group, due::group_coordinator, asks::consumer) {
  const ClientPlan& plan = client.plan();
  partitions_.resize(plan.input_partitions);
  for (const InputPlan& input : plan.inputs) {
    for (std::uint32_t p = 0; p < input.partitions; ++p)
      partitions_[input.first_index + p].place = input.first_place + p;
  }
  lanes_.resize(client.wire().size());
}

void Consumer::start() {
  started_ = client_.now();
  next_auto_commit_ = started_ + settings_.auto_commit_interval;
  if (observer_) {  // assign() of all partitions
    for (const InputPlan& input : client_.plan().inputs) {
      const bool grown = client_.wire().grown(input.topic);
      for (std::uint32_t p = 0; p < (grown ? input.partitions : input.at_first); ++p)
        partitions_[input.first_index + p].target = true;
    }
    generation_ = 1;
    assign_new();
  } else {
    state_ = State::joining;
    advance();
  }
}

InPartition* Consumer::find(PlaceId place) {
  for (const InputPlan& input : client_.plan().inputs) {
    if (place >= input.first_place && place - input.first_place < input.partitions) {
      return &partitions_[input.first_index + (place - input.first_place)];
    }
  }
  return nullptr;
}

bool Consumer::holds_any() const {
  return std::any_of(partitions_.begin(), partitions_.end(),
                     [](const InPartition& p) { return p.state != InPartition::State::none; });
}

// ---- poll
// ------------------------------------------------------------------------------------------------------

void Consumer::fetch(const Effect& effect) {
  drop_handed();
  ever_polled_ = true;
  parked_.push_back({effect.op, effect.port, effect.max, client_.now() + effect.wait});
  poll_limit_.cancel();
  if (state_ == State::gone) return fail_parked(ErrorClass::fatal, Error::unknown_member_id);
  if (no_position_) return fail_parked(ErrorClass::fatal, Error::offset_out_of_range);
  polled();
  advance();
  deliver();
  if (java_ && polling()) fetch_all();
  for (const Parked& parked : parked_) {
    if (parked.until != Instant::never())
      poll_wait_.set_by(client_.world(), client_, due::poll_wait, parked.until);
  }
}

void Consumer::poll_wait_fired(const SimEvent& event) {
  if (!poll_wait_.fired(client_.world(), client_, event)) return;
  for (std::size_t i = 0; i < parked_.size();) {
    if (parked_[i].until > client_.now()) {
      ++i;
      continue;
    }
    Event nothing;
    nothing.kind = EventKind::delivered;
    nothing.op = parked_[i].op;
    client_.process().post(nothing);
    end_poll(i);
  }
  for (const Parked& parked : parked_)
    poll_wait_.set_by(client_.world(), client_, due::poll_wait, parked.until);
}

/// The application is back from poll: from now on it has max.poll.interval.ms
/// to come again.
void Consumer::end_poll(std::size_t parked) {
  parked_.erase(parked_.begin() + static_cast<std::ptrdiff_t>(parked));
  if (!parked_.empty() || observer_) return;
  poll_limit_.set(client_.world(), client_, due::poll_limit, client_.now() + settings_.max_poll_interval);
}

void Consumer::fail_parked(ErrorClass error, Error code) {
  while (!parked_.empty()) {
    client_.settle(parked_.front().op, Kind::fetch, Outcome::fail, error, static_cast<std::int16_t>(code));
    end_poll(0);
  }
}

/// Answers outstanding fetches with what is there. Nothing is handed over
/// between revoking and release: the application is inside its callback then.
void Consumer::deliver() {
  bool any = false;
  for (std::size_t i = 0; i < parked_.size() && !revoke_.posted;) {
    const bool answered = hand_over(i);
    any = any || answered;
    if (!answered) ++i;
  }
  if (revoke_.pending && polling()) serve_rebalance();
  if (!any) return;
  // java: the next fetches are sent before poll returns (KafkaConsumer.poll);
  // librdkafka goes on as long as its queue is below its limits.
  fetch_all();
}

bool Consumer::hand_over(std::size_t at) {
  const Parked parked = parked_[at];
  if (ready_.empty()) return false;
  const std::uint32_t most = java_ ? std::min(parked.max, settings_.max_poll_records) : parked.max;
  messages_.clear();
  while (!ready_.empty() && messages_.size() < most) {
    Chunk& chunk = ready_.front();
    InPartition& p = partitions_[chunk.partition];
    if (chunk.version != p.version) {  // voided since
      if (chunk.batch != nullptr) {
        buffered_bytes_ -= chunk.batch->bytes;
        mqlab::sim::kafka::release(client_.arena(), chunk.batch);
      }
      ready_.pop_front();
      continue;
    }
    if (chunk.batch == nullptr) {
      p.position = chunk.offset;
      p.epoch = chunk.epoch;
      ready_.pop_front();
      continue;
    }
    const auto room = static_cast<std::uint32_t>(most - messages_.size());
    const std::uint32_t n = std::min(room, chunk.count);
    const std::size_t old = messages_.size();
    messages_.resize(old + n);
    const Record* record = chunk.batch->records + chunk.first;
    for (std::uint32_t i = 0; i < n; ++i, ++record) {
      Message& m = messages_[old + i];
      m.id = record->id;
      m.cause = record->cause;
      m.key = record->key;
      m.size = record->size;
      m.digest = record->digest;
      m.payload = {record->payload, record->payload_size};
      m.place = p.place;
      m.position = chunk.offset + i;
      m.timestamp = record->timestamp;
    }
    p.position = chunk.offset + n;
    p.epoch = chunk.epoch;
    // librdkafka stores the offset when it hands the record over
    // (rd_kafka_op_handle_std → rd_kafka_fetch_op_app_ prepare): auto-commit
    // may commit what the application has only just got.
    if (!java_ && settings_.auto_store) p.stored = p.position;
    p.buffered -= n;
    if (chunk.batch->payloads) {
      ++chunk.batch->references;
      handed_.push_back(chunk.batch);
    }
    chunk.first += n;
    chunk.count -= n;
    chunk.offset += n;
    if (chunk.count > 0) break;
    buffered_bytes_ -= chunk.batch->bytes;
    mqlab::sim::kafka::release(client_.arena(), chunk.batch);
    ready_.pop_front();
  }
  if (messages_.empty()) return false;
  Event delivered;
  delivered.kind = EventKind::delivered;
  delivered.op = parked.op;
  delivered.messages = {messages_.data(), messages_.size()};
  client_.process().post(delivered);
  if (!java_) stored_something();
  end_poll(at);
  return true;
}

/// Payloads handed over stay until the module asks for more.
void Consumer::drop_handed() {
  for (Batch* batch : handed_) mqlab::sim::kafka::release(client_.arena(), batch);
  handed_.clear();
}

/// What was fetched of this partition must not be handed over any more.
void Consumer::voided(InPartition& partition) {
  ++partition.version;
  partition.asking = false;
  partition.buffered = 0;
  if (partition.state == InPartition::State::none) return;
  partition.fetched = partition.position;
}

void Consumer::forget(InPartition& partition) {
  const PlaceId place = partition.place;
  const std::uint32_t version = partition.version + 1;
  const bool target = partition.target;
  partition = {};
  partition.place = place;
  partition.version = version;
  partition.target = target;
}

// ---- the handshake of a rebalance, positions
// -------------------------------------------------------------------

void Consumer::accept(const Effect& effect) {
  for (const PlacePosition& start : effect.places) {
    InPartition* p = find(start.place);
    if (p == nullptr || p->state == InPartition::State::none || p->leaving) continue;
    const std::int64_t from = start.position >= 0 ? start.position : p->committed;
    if (from < 0) {
      voided(*p);
      reset(*p);
      continue;
    }
    p->stored = p->auto_committed = from;
    read_from(*p, from, from == p->committed ? p->committed_epoch : no_epoch);
  }
  client_.settle(effect, Outcome::ok);
}

void Consumer::release(const Effect& effect) {
  client_.settle(effect, Outcome::ok);
  if (revoke_.posted) released();
}

void Consumer::seek(const Effect& effect) {
  bool all = true;
  for (const PlacePosition& to : effect.places) {
    InPartition* p = find(to.place);
    if (p == nullptr || p->state == InPartition::State::none || p->state == InPartition::State::assigned) {
      all = false;  // java: IllegalStateException "No current assignment for
                    // partition"
      continue;
    }
    read_from(*p, to.position, no_epoch);
  }
  client_.settle(effect, all ? Outcome::ok : Outcome::fail, all ? ErrorClass::none : ErrorClass::retriable);
}

void Consumer::pause(const Effect& effect, bool paused) {
  for (const PlacePosition& place : effect.places) {
    InPartition* p = find(place.place);
    if (p == nullptr || p->paused == paused) continue;
    p->paused = paused;
    if (p->state != InPartition::State::reading) continue;
    if (paused) {
      voided(*p);
    } else {
      changed(*p);
    }
  }
  client_.settle(effect, Outcome::ok);
}

void Consumer::leave(const Effect& effect) {
  if (observer_ || member_ == 0 || state_ == State::gone) return client_.settle(effect, Outcome::ok);
  leave_op_ = effect.op;
  close();
}

/// java close(): auto-commit, then LeaveGroup of a dynamic member; librdkafka
/// rd_kafka_consumer_close likewise.
void Consumer::close() {
  if (observer_ || state_ == State::gone) return;
  commit_automatically(false);
  if (member_ != 0) send_leave();
  state_ = State::gone;
  for (InPartition& partition : partitions_) {
    partition.target = false;
    forget(partition);
  }
}

// ---- answers
// ---------------------------------------------------------------------------------------------------

void Consumer::answered(const Pending& pending, Answer* answer) {
  Arena& arena = client_.arena();
  const Error error = answer->error;
  switch (pending.kind) {
    case RequestKind::fetch:
      return fetched(pending, static_cast<FetchAnswer*>(answer));
    case RequestKind::join_group:
      requested_ = false;
      joined(*static_cast<JoinGroupAnswer*>(answer));
      return destroy(arena, static_cast<JoinGroupAnswer*>(answer));
    case RequestKind::sync_group:
      requested_ = false;
      return synced(static_cast<SyncGroupAnswer*>(answer));
    case RequestKind::heartbeat:
      if (pending.context == reports) {
        requested_ = false;
        return reported(static_cast<HeartbeatAnswer*>(answer));
      }
      destroy(arena, static_cast<HeartbeatAnswer*>(answer));
      return ended(pending, error);
    case RequestKind::offset_fetch:
      requested_ = false;
      return offsets_fetched(static_cast<OffsetFetchAnswer*>(answer));
    case RequestKind::list_offsets: {
      const std::int64_t offset = static_cast<ListOffsetsAnswer*>(answer)->offset;
      destroy(arena, static_cast<ListOffsetsAnswer*>(answer));
      return offset_known(pending, error, offset);
    }
    case RequestKind::offset_for_leader_epoch: {
      const EpochEndAnswer typed = *static_cast<EpochEndAnswer*>(answer);
      destroy(arena, static_cast<EpochEndAnswer*>(answer));
      return epoch_end_known(pending, error, typed);
    }
    default:
      break;
  }
  destroy(arena, answer);
  ended(pending, error);
}

/// Answers that are an error code only.
void Consumer::ended(const Pending& pending, Error error) {
  switch (pending.kind) {
    case RequestKind::offset_commit:
      return committed(reinterpret_cast<Commit*>(pending.context), error);
    case RequestKind::heartbeat:
      beating_ = false;
      if (error == Error::none) return session_.cancel();
      return group_error(error);
    case RequestKind::leave_group:
      if (leave_op_ != 0) client_.settle(leave_op_, Kind::leave, Outcome::ok);
      leave_op_ = 0;
      return;
    default:
      return;
  }
}

void Consumer::failed(const Pending& pending, Error error) {
  switch (pending.kind) {
    case RequestKind::fetch:
      lanes_[pending.node].correlation = 0;
      return;  // asked again when the node or another leader is there
    case RequestKind::join_group:
    case RequestKind::sync_group:
    case RequestKind::offset_fetch:
      requested_ = false;
      return group_error(error);
    case RequestKind::heartbeat:
      if (pending.context != reports) return ended(pending, error);
      requested_ = false;
      return group_error(error);
    case RequestKind::list_offsets:
      return offset_known(pending, error, -1);
    case RequestKind::offset_for_leader_epoch:
      return epoch_end_known(pending, error, {});
    default:
      return ended(pending, error);
  }
}

}  // namespace mqlab::sim::kafka::client
