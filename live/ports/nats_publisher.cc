#include "live/ports/nats_publisher.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace mqlab::live::nats {
namespace {

using Clock = std::chrono::steady_clock;

// Error codes of the JetStream API (server/errors.json).
constexpr int exceeds_maximum = 10054;  // message size exceeds maximum allowed
constexpr int in_process = 10158;       // the id is of a publish still under way

/// A refusal excludes the effect, except that an id in process may yet be stored by its first publish; when
/// nothing was heard the message may be stored.
Settlement refused(natsStatus status, jsErrCode code) {
  const auto number = static_cast<int>(code);
  Settlement s;
  s.of = Kind::publish;
  s.code = static_cast<std::uint16_t>(number != 0 ? number : static_cast<int>(status));
  const bool answered = number != 0 || status == NATS_NO_RESPONDERS || status == NATS_MAX_PAYLOAD;
  s.outcome = answered && number != in_process ? Outcome::fail : Outcome::unknown;
  s.error =
      number == exceeds_maximum || status == NATS_MAX_PAYLOAD ? ErrorClass::fatal : ErrorClass::retriable;
  return s;
}

jsOptions options_of(const NatsProducer& settings, jsPubAckHandler handler, void* self) {
  jsOptions options;
  jsOptions_Init(&options);
  options.PublishAsync.MaxPending = settings.max_pending;
  options.PublishAsync.StallWait = settings.stall_wait.ns / 1'000'000;
  options.PublishAsync.AckHandler = handler;
  options.PublishAsync.AckHandlerClosure = self;
  return options;
}

}  // namespace

Publisher::Publisher(natsConnection* connection, const NatsProducer& settings, EventQueue& events)
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
    job.until = Clock::now() + std::chrono::nanoseconds(settings_.ack_timeout.ns);
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

/// Waits for something to send; false when it is time to end.
bool Publisher::next_batch(std::unique_lock<std::mutex>& lock, std::deque<Job>& batch) {
  const auto ready = [&] { return stopping_ || !jobs_.empty(); };
  if (retries_.empty())
    changed_.wait(lock, [&] { return ready() || !retries_.empty(); });
  else
    changed_.wait_until(lock, retries_.front().due, ready);
  batch.swap(jobs_);
  while (!retries_.empty() && retries_.front().due <= Clock::now()) {
    batch.push_back(std::move(retries_.front().job));
    retries_.pop_front();
  }
  return !stopping_;
}

void Publisher::run() {
  std::unique_lock lock(mutex_);
  std::deque<Job> batch;
  while (next_batch(lock, batch)) {
    std::vector<natsMsg*> messages;
    for (Job& job : batch) {
      messages.push_back(job.wire.release());
      pending_.emplace(messages.back(), std::move(job));
    }
    batch.clear();
    lock.unlock();
    for (natsMsg* message : messages) send(message);
    lock.lock();
  }
}

void Publisher::send(natsMsg* message) {
  std::string id;
  std::chrono::milliseconds rest;
  {
    const std::lock_guard lock(mutex_);
    const Job& job = pending_.at(message);
    id = job.message_id;
    rest = std::chrono::duration_cast<std::chrono::milliseconds>(job.until - Clock::now());
  }
  jsPubOptions options;
  jsPubOptions_Init(&options);
  options.MaxWait = std::max<std::int64_t>(rest.count(), 1);
  if (!id.empty()) options.MsgId = id.c_str();
  natsMsg* given = message;
  const natsStatus status = js_PublishMsgAsync(context_.get(), &given, &options);
  if (status == NATS_OK) return;
  const MessagePtr owned(given);
  const std::lock_guard lock(mutex_);
  Settlement settlement = refused(status, static_cast<jsErrCode>(0));
  // The library gives a stalled message back before it is sent.
  if (status == NATS_TIMEOUT) {
    settlement.outcome = Outcome::fail;
    settlement.error = ErrorClass::full;
  }
  settle(take(message), settlement);
}

void Publisher::on_ack(jsCtx*, natsMsg* raw, jsPubAck* ack, jsPubAckErr* error, void* closure) {
  auto& self = *static_cast<Publisher*>(closure);
  MessagePtr message(raw);
  const std::lock_guard lock(self.mutex_);
  Job job = self.take(raw);
  if (error != nullptr && error->Err == NATS_NO_RESPONDERS && job.tries < self.settings_.retry_attempts) {
    ++job.tries;
    job.wire = std::move(message);
    self.retries_.push_back(
        {Clock::now() + std::chrono::nanoseconds(self.settings_.retry_wait.ns), std::move(job)});
    self.changed_.notify_all();
    return;
  }
  Settlement s;
  if (error != nullptr) {
    s = refused(error->Err, error->ErrCode);
  } else {
    s.of = Kind::publish;
    s.place = job.place;
    s.position = static_cast<std::int64_t>(ack->Sequence);
    s.duplicate = ack->Duplicate;
  }
  self.settle(job, s);
}

Publisher::Job Publisher::take(natsMsg* message) {
  const auto found = pending_.find(message);
  Job job = std::move(found->second);
  pending_.erase(found);
  return job;
}

void Publisher::settle(const Job& job, Settlement s) {
  s.op = job.op;
  s.message = job.message;
  ++answered_;
  events_.settle(s);
  if (answered_ == accepted_) changed_.notify_all();
  settle_flushes();
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
