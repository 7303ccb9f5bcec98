#include "live/ports/nats_publisher.h"

#include <chrono>

namespace mqlab::live::nats {
namespace {

/// A refusal excludes the effect; when nothing was heard the message may be stored.
Settlement refused(natsStatus status, jsErrCode code) {
  Settlement s;
  s.of = Kind::publish;
  s.code = static_cast<std::uint16_t>(code != 0 ? static_cast<int>(code) : static_cast<int>(status));
  const bool answered = code != 0 || status == NATS_NO_RESPONDERS || status == NATS_MAX_PAYLOAD;
  s.outcome = answered ? Outcome::fail : Outcome::unknown;
  s.error = code != 0 || status == NATS_MAX_PAYLOAD ? ErrorClass::fatal : ErrorClass::retriable;
  // 10077, 10054, 10047 …: limits of the stream; 10023, 10008: resources: trying later may help (jetstream_errors).
  if (code == 10008 || code == 10023 || code == 10047 || code == 10077) s.error = ErrorClass::retriable;
  return s;
}

jsOptions options_of(const ProducerSettings& settings, jsPubAckHandler handler, void* self) {
  jsOptions options;
  jsOptions_Init(&options);
  options.PublishAsync.MaxPending = settings.max_pending;
  options.PublishAsync.StallWait = settings.stall_wait.ns / 1'000'000;
  options.PublishAsync.AckHandler = handler;
  options.PublishAsync.AckHandlerClosure = self;
  return options;
}

}  // namespace

Publisher::Publisher(natsConnection* connection, const ProducerSettings& settings, EventQueue& events)
    : settings_(settings), events_(events) {
  jsOptions options = options_of(settings, on_ack, this);
  context_ = jetstream(connection, &options);
  thread_ = std::thread([this] { run(); });
}

Publisher::~Publisher() { close({}); }

void Publisher::publish(Job job) {
  {
    const std::lock_guard lock(mutex_);
    ++accepted_;
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void Publisher::flush(OpId op) {
  const std::lock_guard lock(mutex_);
  flushes_.emplace_back(op, accepted_);
  settle_flushes();
}

void Publisher::close(Duration grace) {
  if (!thread_.joinable()) return;
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::nanoseconds(grace.ns), [&] { return answered_ == accepted_; });
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Publisher::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    std::deque<Job> batch;
    batch.swap(jobs_);
    for (const Job& job : batch) pending_.emplace(job.wire.get(), Pending{job.op, job.message, job.place});
    lock.unlock();
    for (Job& job : batch) send(job);
    lock.lock();
  }
}

void Publisher::send(Job& job) {
  jsPubOptions options;
  jsPubOptions_Init(&options);
  options.MaxWait = settings_.ack_timeout.ns / 1'000'000;
  if (!job.message_id.empty()) options.MsgId = job.message_id.c_str();
  natsMsg* message = job.wire.release();
  natsMsg* const key = message;
  const natsStatus status = js_PublishMsgAsync(context_.get(), &message, &options);
  if (status == NATS_OK) return;
  const MessagePtr owned(message);
  const std::lock_guard lock(mutex_);
  const Pending pending = take(key);
  Settlement settlement = refused(status, static_cast<jsErrCode>(0));
  // The library gives a stalled message back before it is sent.
  if (status == NATS_TIMEOUT) {
    settlement.outcome = Outcome::fail;
    settlement.error = ErrorClass::full;
  }
  settlement.op = pending.op;
  settlement.message = pending.message;
  events_.settle(settlement);
  settle_flushes();
}

void Publisher::on_ack(jsCtx*, natsMsg* raw, jsPubAck* ack, jsPubAckErr* error, void* closure) {
  auto& self = *static_cast<Publisher*>(closure);
  const MessagePtr message(raw);
  const std::lock_guard lock(self.mutex_);
  const Pending pending = self.take(raw);
  Settlement s;
  if (error != nullptr) {
    s = refused(error->Err, error->ErrCode);
  } else {
    s.of = Kind::publish;
    s.place = pending.place;
    s.position = static_cast<std::int64_t>(ack->Sequence);
    s.duplicate = ack->Duplicate;
  }
  s.op = pending.op;
  s.message = pending.message;
  self.events_.settle(s);
  self.settle_flushes();
}

Publisher::Pending Publisher::take(natsMsg* message) {
  const auto found = pending_.find(message);
  const Pending pending = found->second;
  pending_.erase(found);
  ++answered_;
  if (answered_ == accepted_) changed_.notify_all();
  return pending;
}

void Publisher::settle_flushes() {
  while (!flushes_.empty() && answered_ >= flushes_.front().second) {
    Settlement s;
    s.op = flushes_.front().first;
    s.of = Kind::flush;
    events_.settle(s);
    flushes_.pop_front();
  }
}

}  // namespace mqlab::live::nats
