#include "live/ports/kafka_producer.h"

#include <algorithm>
#include <chrono>

#include "core/scenario/subject.h"
#include "live/ports/kafka_consumer.h"

namespace mqlab::live::kafka {
namespace {

constexpr int poll_ms = 100;
constexpr Duration init_patience = Duration::seconds(60);
constexpr int warm_up_ms = 5000;

/// What a delivery report is told: the op and the message, in the place of a pointer.
void* as_opaque(OpId op, MessageId message) {
  return reinterpret_cast<void*>((std::uint64_t{op} << 32) | message);
}
static_assert(sizeof(void*) == 8);

}  // namespace

Producer::Producer(const PortContext& context, const Names& names, const Properties& properties,
                   std::vector<TopicId> outputs)
    : context_(context) {
  const ProcessInfo& info = context.topology.processes[context.process];
  conf_.set("client.id", info.name);
  // A key goes where the scenario's client would put it.
  if (context.scenario.flavour == Flavour::java) conf_.set("partitioner", "murmur2_random");
  Properties own = properties;
  for (Property& p : own) {
    p.value = with_instance(p.value, info.instance);
    if (p.key == "transactional.id") p.value = tagged(p.value, context.tag);
    transactional_ = transactional_ || p.key == "transactional.id";
  }
  conf_.apply(own, "producer of " + info.group);
  conf_.reach(context.address, context.scenario.live.properties);
  rd_kafka_conf_set_dr_msg_cb(conf_.get(), on_delivery);
  rd_kafka_conf_set_opaque(conf_.get(), this);
  report_requests(conf_, context_.on_request);
  client_ = conf_.create(RD_KAFKA_PRODUCER);
  for (const TopicId topic : outputs) {
    const TopicInfo& t = context.topology.topics[topic];
    rd_kafka_topic_t* handle = rd_kafka_topic_new(client_.get(), names.topic(topic).c_str(), nullptr);
    if (handle == nullptr)
      throw PortError("topic " + t.name + ": " + rd_kafka_err2str(rd_kafka_last_error()));
    outputs_.push_back({topic, t.first_place, t.partitions, TopicPtr(handle)});
  }
  if (context.incarnation == 0) warm_up();
  poller_ = std::thread([this] { poll(); });
  if (!transactional_) return;
  init_transactions();
  transactions_ = std::thread([this] { run_jobs(); });
}

Producer::~Producer() { close({}); }

/// The library connects to a leader when the first record for it waits, which takes some 100 ms and would be
/// measured as that record's latency: so it is asked something that only a leader answers. What cannot be
/// reached is left to the run itself, and a process that is started anew begins as cold as any.
void Producer::warm_up() {
  for (const Output& output : outputs_) {
    const rd_kafka_metadata_t* found = nullptr;
    if (rd_kafka_metadata(client_.get(), 0, output.handle.get(), &found, warm_up_ms) !=
        RD_KAFKA_RESP_ERR_NO_ERROR)
      continue;
    const std::unique_ptr<const rd_kafka_metadata_t, decltype(&rd_kafka_metadata_destroy)> metadata(
        found, rd_kafka_metadata_destroy);
    std::vector<std::int32_t> met;
    const rd_kafka_metadata_topic_t& topic = metadata->topics[0];
    for (int i = 0; i < topic.partition_cnt; ++i) {
      const rd_kafka_metadata_partition_t& partition = topic.partitions[i];
      if (partition.leader < 0 || std::find(met.begin(), met.end(), partition.leader) != met.end()) continue;
      met.push_back(partition.leader);
      std::int64_t low = 0, high = 0;
      rd_kafka_query_watermark_offsets(client_.get(), topic.topic, partition.id, &low, &high, warm_up_ms);
    }
  }
}

void Producer::init_transactions() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(init_patience.ns);
  while (true) {
    const ErrorPtr error(rd_kafka_init_transactions(client_.get(), 10'000));
    if (!error) return;
    const bool again =
        rd_kafka_error_is_retriable(error.get()) != 0 && std::chrono::steady_clock::now() < until;
    if (!again) {
      stopping_ = true;
      poller_.join();
      throw PortError(std::string("init_transactions: ") + rd_kafka_error_string(error.get()));
    }
  }
}

void Producer::poll() {
  while (!stopping_) {
    rd_kafka_poll(client_.get(), poll_ms);
    if (blocked_) room_again();
  }
}

void Producer::room_again() {
  if (rd_kafka_outq_len(client_.get()) > 0) return;
  blocked_ = false;
  OwnedEvent event;
  event.kind = EventKind::unblocked;
  context_.events.push(std::move(event));
}

void Producer::on_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void* self) {
  static_cast<Producer*>(self)->delivered(*message);
}

void Producer::delivered(const rd_kafka_message_t& message) {
  const auto bits = reinterpret_cast<std::uint64_t>(message._private);
  Settlement s;
  s.of = Kind::publish;
  s.op = static_cast<OpId>(bits >> 32);
  s.message = static_cast<MessageId>(bits);
  if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    for (const Output& output : outputs_) {
      if (output.handle.get() == message.rkt ||
          std::string_view(rd_kafka_topic_name(output.handle.get())) == rd_kafka_topic_name(message.rkt)) {
        s.place = output.first_place + static_cast<PlaceId>(message.partition);
      }
    }
    s.position = message.offset;
  } else {
    const Failure failure = failure_of(message.err);
    s.code = failure.code;
    s.error =
        transactional_ && failure.error == ErrorClass::retriable ? ErrorClass::abortable : failure.error;
    // A timeout is unknown unless the library knows that the message never left (rd_kafka_message_status).
    s.outcome = rd_kafka_message_status(&message) == RD_KAFKA_MSG_STATUS_NOT_PERSISTED ? Outcome::fail
                                                                                       : Outcome::unknown;
  }
  context_.events.settle(s);
}

void Producer::publish(const Effect& effect, std::uint32_t transaction) {
  const Message& m = effect.message;
  Output& output = outputs_.at(effect.port);
  encode(m, {context_.process, context_.incarnation, transaction}, buffer_);
  const std::string key = m.key == 0 ? "" : key_text(m.key);
  const void* key_data = m.key == 0 ? nullptr : key.data();
  if (m.tombstone()) {
    const auto error = rd_kafka_producev(
        client_.get(), RD_KAFKA_V_RKT(output.handle.get()), RD_KAFKA_V_PARTITION(RD_KAFKA_PARTITION_UA),
        RD_KAFKA_V_KEY(key_data, key.size()), RD_KAFKA_V_VALUE(nullptr, 0),
        RD_KAFKA_V_HEADER(wire_header_name, buffer_.data(), static_cast<ssize_t>(buffer_.size())),
        RD_KAFKA_V_OPAQUE(as_opaque(effect.op, m.id)), RD_KAFKA_V_END);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) refuse(effect, error);
    return;
  }
  const int refused =
      rd_kafka_produce(output.handle.get(), RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, buffer_.data(),
                       buffer_.size(), key_data, key.size(), as_opaque(effect.op, m.id));
  if (refused != 0) refuse(effect, rd_kafka_last_error());
}

void Producer::refuse(const Effect& effect, rd_kafka_resp_err_t error) {
  const bool full = error == RD_KAFKA_RESP_ERR__QUEUE_FULL;
  if (full && !blocked_.exchange(true)) {
    OwnedEvent event;
    event.kind = EventKind::blocked;
    context_.events.push(std::move(event));
  }
  const Failure failure = failure_of(error);
  Settlement s;
  s.op = effect.op;
  s.of = effect.kind;
  s.message = effect.message.id;
  s.outcome = Outcome::fail;
  s.code = failure.code;
  s.error = full                                                       ? ErrorClass::full
            : transactional_ && failure.error == ErrorClass::retriable ? ErrorClass::abortable
                                                                       : failure.error;
  context_.events.settle(s);
}

void Producer::carry_out(const Effect& effect, std::uint32_t transaction, Consumer* consumer) {
  if (effect.kind == Kind::publish) return publish(effect, transaction);
  if (effect.kind ==
      Kind::begin) {  // local to the library: publishes of the same step belong to the transaction
    const ErrorPtr error(rd_kafka_begin_transaction(client_.get()));
    return settle(effect.op, effect.kind, error.get());
  }
  Job job{effect.kind, effect.op, nullptr, nullptr};
  if (effect.kind == Kind::offsets_to_transaction && consumer != nullptr) {
    job.offsets = consumer->names().list(effect.places, true);
    job.group = consumer->group_of(effect.generation);
  }
  {
    const std::lock_guard lock(mutex_);
    if (!transactions_.joinable())
      transactions_ = std::thread([this] { run_jobs(); });  // flush blocks as well
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void Producer::run_jobs() {
  std::unique_lock lock(mutex_);
  while (true) {
    working_ = false;
    changed_.notify_all();
    changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    working_ = true;
    lock.unlock();
    const ErrorPtr error = call(job);
    settle(job.op, job.kind, error.get());
    lock.lock();
  }
}

ErrorPtr Producer::call(Job& job) {
  switch (job.kind) {
    case Kind::offsets_to_transaction:
      return ErrorPtr(
          rd_kafka_send_offsets_to_transaction(client_.get(), job.offsets.get(), job.group.get(), 10'000));
    // −1: for as long as the transaction may take.
    case Kind::commit_transaction:
      return ErrorPtr(rd_kafka_commit_transaction(client_.get(), -1));
    case Kind::abort_transaction:
      return ErrorPtr(rd_kafka_abort_transaction(client_.get(), -1));
    default: {
      const rd_kafka_resp_err_t error = rd_kafka_flush(client_.get(), 60'000);
      return ErrorPtr(error == RD_KAFKA_RESP_ERR_NO_ERROR ? nullptr : rd_kafka_error_new(error, "flush"));
    }
  }
}

void Producer::settle(OpId op, Kind kind, const rd_kafka_error_t* error) {
  Settlement s;
  s.op = op;
  s.of = kind;
  if (error != nullptr) {
    const Failure failure = failure_of(error);
    s.outcome = failure.outcome;
    s.error = failure.error;
    s.code = failure.code;
  }
  context_.events.settle(s);
}

void Producer::close(Duration grace) {
  if (!poller_.joinable()) return;
  const int grace_ms = static_cast<int>(grace.ns / 1'000'000);
  if (grace_ms > 0) {
    rd_kafka_flush(client_.get(), grace_ms);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(grace_ms), [&] { return jobs_.empty() && !working_; });
  }
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  poller_.join();
  if (transactions_.joinable()) transactions_.join();
}

}  // namespace mqlab::live::kafka
