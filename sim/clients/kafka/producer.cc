#include "sim/clients/kafka/producer.h"

#include <algorithm>
#include <cstring>

#include "core/scenario/partitioner.h"
#include "sim/clients/kafka/client.h"
#include "sim/clients/kafka/transactions.h"

namespace mqlab::sim::kafka::client {
namespace {

constexpr std::uint32_t java_record_overhead = 21;        // DefaultRecord.MAX_RECORD_OVERHEAD
constexpr std::uint32_t librdkafka_record_overhead = 36;  // RD_KAFKAP_MESSAGE_V2_MAX_OVERHEAD: 5+1+10+5+5+5+5

}  // namespace

Producer::Producer(KafkaClient& client)
    : client_(client),
      settings_(client.plan().producer),
      java_(client.plan().java()),
      hashes_keys_(hashes(settings_.partitioner, true)),
      hashes_none_(hashes(settings_.partitioner, false)),
      partitions_(client.arena()),
      lanes_(client.arena()),
      sticky_(client.arena()),
      settlements_(client.arena()),
      flushes_(client.arena()),
      flights_(client.arena()) {
  const ClientPlan& plan = client.plan();
  partitions_.reserve(plan.output_partitions);
  for (const OutputPlan& output : plan.outputs) {
    for (std::uint32_t p = 0; p < output.partitions; ++p) {
      partitions_.emplace_back(client.arena());
      partitions_.back().place = output.first_place + p;
    }
  }
  lanes_.reserve(client.wire().size());
  for (NodeIndex n = 0; n < client.wire().size(); ++n) lanes_.emplace_back(client.arena());
  sticky_.resize(plan.outputs.size());
  if (plan.transactional_id != 0) transactions_ = client.arena().make<Transactions>(client, *this);
}

void Producer::start() {
  if (transactions_ != nullptr) {
    transactions_->start();
  } else if (settings_.idempotence) {
    ask_identity();
  }
}

// ---- publish
// ---------------------------------------------------------------------------------------------------

void Producer::refuse(const Effect& effect, ErrorClass error, std::int16_t code) {
  Settlement s;
  s.op = effect.op;
  s.of = Kind::publish;
  s.outcome = Outcome::fail;
  s.error = error;
  s.code = static_cast<std::uint16_t>(code);
  s.message = effect.message.id;
  Event event;
  event.kind = EventKind::settled;
  event.settlements = {&s, 1};
  client_.process().post(event);
}

/// What the client library refuses at once. Sizes: java KafkaProducer.ensureValidRecordSize with the estimate
/// of DefaultRecordBatch.estimateBatchSizeUpperBound; librdkafka rd_kafka_msg_new00 with
/// rd_kafka_msg_max_wire_size.
bool Producer::admit(const Effect& effect, std::uint32_t bytes) {
  const std::uint32_t limit = settings_.request_bytes;
  if (bytes > limit || (java_ && bytes > settings_.buffer_bytes)) {
    refuse(effect, transactions_ != nullptr && java_ ? ErrorClass::abortable : ErrorClass::fatal,
           static_cast<std::int16_t>(Error::message_too_large));
    return false;
  }
  const bool too_many = !java_ && unsettled_ >= settings_.buffer_messages;
  const bool too_much = !java_ && buffered_bytes_ + bytes > settings_.buffer_bytes;
  if (too_many || too_much) {
    full_ = true;
    refuse(effect, ErrorClass::full, 0);
    Event blocked;
    blocked.kind = EventKind::blocked;
    client_.process().post(blocked);
    return false;
  }
  return true;
}

void Producer::publish(const Effect& effect) {
  const OutputPlan* output = client_.plan().output(effect.port);
  const Message& message = effect.message;
  if (dead_) return refuse(effect, ErrorClass::fatal, 0);
  if (transactions_ != nullptr && !transactions_->may_publish())
    return refuse(effect, transactions_->failure(), 0);
  const std::int32_t key = key_bytes(message.key);
  const std::uint32_t key_part = key > 0 ? static_cast<std::uint32_t>(key) : 0;
  const std::uint32_t bytes =
      java_ ? batch_overhead_bytes + java_record_overhead + record_body_bytes(key, message.size)
            : librdkafka_record_overhead + key_part + message.size;
  if (!admit(effect, bytes)) return;
  const std::uint32_t index = output->first_index + choose(*output, message);
  append(index, effect, key);
}

/// By the hash, or drawn and kept for a while: java BuiltInPartitioner (KIP-794) until batch.size bytes are
/// in it, librdkafka for sticky.partitioning.linger.ms; its "random" draws for each record that has a key.
/// [rdkafka_msg.c rd_kafka_msg_partitioner]
std::uint32_t Producer::choose(const OutputPlan& output, const Message& message) {
  const bool keyed = message.key != 0;
  const bool grown = output.at_first == output.partitions || client_.wire().grown(output.topic);
  if (keyed ? hashes_keys_ : hashes_none_) return client_.plan().partition_of(output, message.key, grown);
  const std::uint32_t partitions = grown ? output.partitions : output.at_first;
  if (partitions == 1) return 0;
  if (keyed && !java_) return partition_from(draw_partition(), partitions);
  Sticky& sticky = sticky_[static_cast<std::size_t>(&output - client_.plan().outputs.data())];
  const bool over = java_ ? sticky.bytes >= settings_.batch_bytes : client_.now() >= sticky.until;
  if (over || sticky.partition == none_yet) {
    sticky.partition = partition_from(draw_partition(), partitions);
    sticky.bytes = 0;
    sticky.until = client_.now() + settings_.sticky_linger;
  }
  sticky.bytes += message.size;
  return sticky.partition;
}

std::uint64_t Producer::draw_partition() {
  Process& p = client_.process();
  return client_.world().draw(Purpose::partitioner, p.self(), p.incarnation(), ++draws_);
}

// ---- accumulator
// -----------------------------------------------------------------------------------------------

Pack* Producer::open(OutPartition& partition, std::uint32_t index, std::uint32_t first_bytes) {
  Pack* pack = new_pack(client_.arena(), partition.hint);
  pack->partition = index;
  pack->number = ++appended_ << 16;  // room for the parts of a split
  pack->created = client_.now();
  // java BufferPool: a batch holds max(batch.size, its first record) from creation on.
  if (java_)
    pack->reserved =
        std::max(settings_.batch_bytes, batch_overhead_bytes + java_record_overhead + first_bytes);
  buffered_bytes_ += pack->reserved;
  partition.open = pack;
  partition.queue.push_back(pack);
  if (!partition.listed) list(index);
  delivery_.set_by(client_.world(), client_, due::delivery, pack->created + settings_.delivery_timeout);
  linger_.set_by(client_.world(), client_, due::linger, pack->created + settings_.linger);
  return pack;
}

void Producer::append(std::uint32_t index, const Effect& effect, std::int32_t key) {
  OutPartition& partition = partitions_[index];
  const Message& m = effect.message;
  const Instant now = client_.world().wall();
  Pack* pack = partition.open;
  std::uint32_t bytes = 0;
  if (pack != nullptr) {
    const Batch& batch = *pack->batch;
    const auto delta = static_cast<std::uint64_t>((now - batch.records[0].timestamp).ns / 1'000'000);
    bytes = record_bytes(key, m.size, batch.count, delta);
    // java MemoryRecordsBuilder.hasRoomFor; librdkafka rd_kafka_msgset_writer_write_msgq
    const std::uint32_t limit =
        java_ ? settings_.batch_bytes : std::min(settings_.batch_bytes, settings_.request_bytes);
    if (batch.bytes + bytes > limit || batch.count >= settings_.batch_messages) {
      pack->closed = true;
      partition.hint = std::max(batch.count, 4u);
      partition.open = pack = nullptr;
      kick();
    }
  }
  if (pack == nullptr) {
    bytes = record_bytes(key, m.size, 0, 0);
    const bool full =
        java_ && buffered_bytes_ + std::max(settings_.batch_bytes, bytes) > settings_.buffer_bytes;
    if (full) {  // Java's send() would block until there is room; here the module is told and waits by itself
      full_ = true;
      refuse(effect, ErrorClass::full, 0);
      Event blocked;
      blocked.kind = EventKind::blocked;
      client_.process().post(blocked);
      return kick();  // "exhausted": what there is goes out without lingering
    }
    pack = open(partition, index, bytes);
  }
  Batch& batch = *pack->batch;
  if (batch.count == batch.capacity) grow(client_.arena(), *pack);
  Record& record = batch.records[batch.count];
  record = {m.id, m.cause, m.key, m.size, m.digest, now, nullptr, 0};
  if (m.payload.size > 0) {
    auto* to = static_cast<std::byte*>(client_.arena().allocate(m.payload.size));
    std::memcpy(to, m.payload.data, m.payload.size);
    record.payload = to;
    record.payload_size = m.payload.size;
    batch.payloads = true;
  }
  pack->ops[batch.count++] = effect.op;
  batch.bytes += bytes;
  ++unsettled_;
  if (!java_) {
    pack->reserved += m.size;
    buffered_bytes_ += m.size;
    if (batch.count >= settings_.batch_messages) kick();
  }
  if (transactions_ != nullptr) transactions_->writes_to(index);
  if (settings_.linger.ns == 0) kick();
}

/// Puts a partition on the list of the node that leads it.
void Producer::list(std::uint32_t index) {
  OutPartition& partition = partitions_[index];
  const NodeIndex leader = client_.wire().leader(partition.place);
  // librdkafka waits for what is in flight to the old leader if it is idempotent (PARTITION_JOIN:
  // rd_kafka_idemp_drain_toppar). If not, PARTITION_LEAVE takes back only what is not on the wire yet: what
  // is queued goes to the new leader at once, and may be stored before what the old one has yet to refuse.
  const bool moved = leader != partition.lane && partition.packs_in_flight > 0;
  if (moved && !java_ && settings_.idempotence) partition.drain = true;
  partition.listed = true;
  partition.lane = leader;
  if (leader == no_node) {
    ++unrouted_;
    client_.wire().refresh();
  } else {
    lanes_[leader].active.push_back(index);
    if (!client_.wire().usable(leader)) client_.wire().refresh();
  }
}

void Producer::unlist(OutPartition& partition) {
  if (!partition.listed) return;
  partition.listed = false;
  if (partition.lane == no_node) {
    --unrouted_;
    return;
  }
  const auto index = static_cast<std::uint32_t>(&partition - partitions_.data());
  std::erase(lanes_[partition.lane].active, index);
}

/// java: retry back-off is waived when the leader changed since the last attempt
/// (RecordAccumulator.shouldBackoff, KIP-951).
void Producer::leaders_changed() {
  for (std::uint32_t i = 0; i < partitions_.size(); ++i) {
    OutPartition& partition = partitions_[i];
    if (!partition.listed) continue;
    const NodeIndex leader = client_.wire().leader(partition.place);
    if (leader == partition.lane) continue;
    unlist(partition);
    list(i);
    if (java_ && leader != no_node && !partition.queue.empty())
      partition.queue.front()->retry_at = client_.now();
  }
  kick();
}

bool Producer::unroutable() const {
  if (unrouted_ > 0) return true;
  for (NodeIndex n = 0; n < lanes_.size(); ++n) {
    if (!lanes_[n].active.empty() && !client_.wire().usable(n)) return true;
  }
  return false;
}

void Producer::node_usable(NodeIndex node) {
  if (settings_.idempotence && transactions_ == nullptr && producer_id_ < 0) ask_identity();
  if (transactions_ != nullptr) transactions_->node_usable();
  if (!lanes_[node].active.empty()) kick();
}

// ---- room, flush, close
// ----------------------------------------------------------------------------------------

void Producer::room_again() {
  if (!full_) return;
  const bool room = java_
                        ? buffered_bytes_ + settings_.batch_bytes <= settings_.buffer_bytes
                        : unsettled_ < settings_.buffer_messages && buffered_bytes_ < settings_.buffer_bytes;
  if (!room) return;
  full_ = false;
  Event unblocked;
  unblocked.kind = EventKind::unblocked;
  client_.process().post(unblocked);
}

void Producer::flush(const Effect& effect) {
  flushes_.push_back(effect.op);
  kick();
  check_flushed();
}

void Producer::check_flushed() {
  if (unsettled_ > 0) return;
  for (const OpId op : flushes_) client_.settle(op, Kind::flush, Outcome::ok);
  flushes_.clear();
  if (transactions_ != nullptr) transactions_->flushed();
}

void Producer::close() {
  closing_ = true;
  kick();
}

void Producer::kick() {
  if (kicked_) return;
  kicked_ = true;
  client_.world().soon(client_, due::kick);
}

}  // namespace mqlab::sim::kafka::client
