#include "live/ports/nats_reader.h"

#include <algorithm>
#include <chrono>

#include "live/port.h"
#include "live/wire.h"

namespace mqlab::live::nats {
namespace {

using Clock = std::chrono::steady_clock;

jsDeliverPolicy deliver_policy(NatsConsumer::Deliver policy) {
  switch (policy) {
    case NatsConsumer::Deliver::last:
      return js_DeliverLast;
    case NatsConsumer::Deliver::new_only:
      return js_DeliverNew;
    default:
      return js_DeliverAll;
  }
}

Duration left(Clock::time_point begin, Duration wait) {
  if (wait == Duration::forever()) return wait;
  return {wait.ns - std::chrono::nanoseconds(Clock::now() - begin).count()};
}

SubscriptionPtr bind_pull(jsCtx* context, const Reader::Setup& setup) {
  jsSubOptions options;
  jsSubOptions_Init(&options);
  options.Stream = setup.names.stream.c_str();
  options.Consumer = setup.reader.name.c_str();
  natsSubscription* subscription = nullptr;
  require(js_PullSubscribe(&subscription, context, nullptr, setup.reader.name.c_str(), nullptr, &options,
                           nullptr),
          "consumer " + setup.reader.name + " of stream " + setup.names.stream);
  return SubscriptionPtr(subscription);
}

SubscriptionPtr subscribe_ordered(jsCtx* context, const Reader::Setup& setup) {
  const std::vector<std::string>& filters = setup.reader.values.filters;
  const std::string filter = filters.empty() ? ">" : setup.names.tagged(filters.front());
  jsSubOptions options;
  jsSubOptions_Init(&options);
  options.Stream = setup.names.stream.c_str();
  options.Ordered = true;
  options.Config.DeliverPolicy = deliver_policy(setup.reader.values.deliver);
  natsSubscription* subscription = nullptr;
  require(js_SubscribeSync(&subscription, context, filter.c_str(), nullptr, &options, nullptr),
          "ordered consumer of stream " + setup.names.stream);
  natsSubscription_SetPendingLimits(subscription, -1, -1);
  return SubscriptionPtr(subscription);
}

SubscriptionPtr bind_push(jsCtx* context, const Reader::Setup& setup) {
  const NatsConsumer& values = setup.reader.values;
  jsSubOptions options;
  jsSubOptions_Init(&options);
  options.Stream = setup.names.stream.c_str();
  options.Consumer = setup.reader.name.c_str();
  options.ManualAck = true;
  if (!values.deliver_group.empty()) options.Queue = values.deliver_group.c_str();
  natsSubscription* subscription = nullptr;
  require(js_SubscribeSync(&subscription, context, nullptr, nullptr, &options, nullptr),
          "push consumer " + setup.reader.name + " of stream " + setup.names.stream);
  const auto limit = [](auto value) { return value == 0 ? -1 : static_cast<int>(value); };
  natsSubscription_SetPendingLimits(subscription, limit(values.pending_msgs_limit),
                                    limit(values.pending_bytes_limit));
  return SubscriptionPtr(subscription);
}

SubscriptionPtr subscribe_once(jsCtx* context, const Reader::Setup& setup) {
  if (setup.reader.values.ordered) return subscribe_ordered(context, setup);
  return setup.reader.values.push ? bind_push(context, setup) : bind_pull(context, setup);
}

/// A stream between two leaders does not answer: asked again until it does, or patience is over.
SubscriptionPtr subscribe(jsCtx* context, const Reader::Setup& setup) {
  const auto until = Clock::now() + std::chrono::seconds(30);
  while (true) {
    try {
      return subscribe_once(context, setup);
    } catch (const PortError&) {
      if (Clock::now() >= until) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace

Reader::Reader(const Setup& setup, EventQueue& events)
    : setup_(setup),
      events_(events),
      context_(jetstream(setup.connection, nullptr)),
      subscription_(subscribe(context_.get(), setup)),
      thread_([this] { run(); }) {}

Reader::~Reader() { close(); }

void Reader::close() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool Reader::stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void Reader::fetch(OpId op, std::uint32_t max, Duration wait) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({op, std::max(max, 1u), wait});
  }
  changed_.notify_all();
}

void Reader::run() {
  while (true) {
    Job job{};
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
      if (stopping_) return;
      job = jobs_.front();
      jobs_.pop_front();
    }
    Batch batch = collect(job);
    if (stopping()) return;
    deliver(job.op, std::move(batch));
  }
}

Reader::Batch Reader::collect(const Job& job) {
  const auto begin = Clock::now();
  while (!stopping()) {
    const Duration rest =
        std::max(std::min(left(begin, job.wait), setup_.reader.values.expires), Duration::millis(1));
    Batch batch = setup_.reader.values.push ? next(static_cast<int>(job.max), rest)
                                            : pull(static_cast<int>(job.max), rest);
    if (!batch.empty() || left(begin, job.wait).ns <= 0) return batch;
  }
  return {};
}

/// With more than one message asked for the library takes what is there, and waits for the first.
Reader::Batch Reader::pull(int max, Duration wait) {
  Batch batch;
  natsMsgList list{};
  const auto begin = Clock::now();
  const natsStatus status = natsSubscription_Fetch(&list, subscription_.get(), max,
                                                   std::max<std::int64_t>(wait.ns / 1'000'000, 1), nullptr);
  for (int i = 0; i < list.Count; ++i) {
    batch.emplace_back(list.Msgs[i]);
    list.Msgs[i] = nullptr;
  }
  natsMsgList_Destroy(&list);
  if (batch.empty() && status != NATS_OK && status != NATS_TIMEOUT && status != NATS_NOT_FOUND) rest(begin);
  return batch;
}

/// No leader, no connection: try again, but not in a tight loop.
void Reader::rest(Clock::time_point since) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, since + std::chrono::milliseconds(20), [&] { return stopping_; });
}

Reader::Batch Reader::next(int max, Duration wait) {
  Batch batch;
  const auto begin = Clock::now();
  for (std::int64_t ms = std::max<std::int64_t>(wait.ns / 1'000'000, 1); static_cast<int>(batch.size()) < max;
       ms = 0) {
    natsMsg* message = nullptr;
    const natsStatus status = natsSubscription_NextMsg(&message, subscription_.get(), ms);
    if (status != NATS_OK && status != NATS_TIMEOUT && batch.empty()) rest(begin);
    if (status != NATS_OK) break;
    batch.emplace_back(message);
  }
  return batch;
}

void Reader::deliver(OpId op, Batch batch) {
  OwnedEvent event;
  event.kind = EventKind::delivered;
  event.op = op;
  for (MessagePtr& raw : batch) {
    const auto* data = reinterpret_cast<const std::byte*>(natsMsg_GetData(raw.get()));
    const auto wire = decode({data, static_cast<std::size_t>(natsMsg_GetDataLength(raw.get()))});
    jsMsgMetaData* meta = nullptr;
    if (!wire || natsMsg_GetMetaData(&meta, raw.get()) != NATS_OK) continue;
    const MetaPtr owned(meta);
    Message& m = event.messages.emplace_back(wire->message);
    m.payload = event.keep(m.payload);
    m.place = setup_.place;
    m.attempt = static_cast<std::uint32_t>(meta->NumDelivered);
    m.position = static_cast<std::int64_t>(meta->Sequence.Stream);
    m.timestamp = setup_.clock.from_wall(meta->Timestamp);
    if (setup_.reader.values.ack_policy == NatsConsumer::AckPolicy::none) continue;  // nobody takes its acks
    m.receipt = meta->Sequence.Stream;
    const std::lock_guard lock(mutex_);
    unacked_[m.receipt] = std::move(raw);
  }
  events_.push(std::move(event));
}

bool Reader::holds(std::uint64_t receipt) {
  const std::lock_guard lock(mutex_);
  return unacked_.contains(receipt);
}

/// What was answered already is fine with the library. [nats.c: src/js.c _ackMsg]
natsStatus Reader::answer(std::uint64_t receipt, Answer answer, Duration delay) {
  MessagePtr message;
  {
    const std::lock_guard lock(mutex_);
    const auto found = unacked_.find(receipt);
    if (found == unacked_.end()) return NATS_OK;
    if (answer == Answer::progress) return natsMsg_InProgress(found->second.get(), nullptr);
    message = std::move(found->second);
    unacked_.erase(found);
  }
  switch (answer) {
    case Answer::nack:
      return delay.ns > 0 ? natsMsg_NakWithDelay(message.get(), delay.ns / 1'000'000, nullptr)
                          : natsMsg_Nak(message.get(), nullptr);
    case Answer::terminate:
      return natsMsg_Term(message.get(), nullptr);
    default:
      return setup_.reader.values.ack_sync ? natsMsg_AckSync(message.get(), nullptr, nullptr)
                                           : natsMsg_Ack(message.get(), nullptr);
  }
}

}  // namespace mqlab::live::nats
