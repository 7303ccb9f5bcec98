// Reads one stream for one input of a module, only as much as was asked for.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>

#include "live/event_queue.h"
#include "live/ports/nats_settings.h"
#include "platform/clock.h"

namespace mqlab::live::nats {

class Reader {
 public:
  struct Setup {
    natsConnection* connection;
    StreamNames names;
    ReaderSettings reader;
    PlaceId place;
    RunClock clock;
  };
  /// Throws PortError when the stream or its consumer is not there. `events` must outlive it.
  Reader(const Setup& setup, EventQueue& events);
  ~Reader();

  void fetch(OpId op, std::uint32_t max, Duration wait);

  enum class Answer : std::uint8_t { ack, nack, progress, terminate };
  /// True when this reader knows the receipt. Called on the loop's thread.
  bool holds(std::uint64_t receipt);
  natsStatus answer(std::uint64_t receipt, Answer answer, Duration delay);
  /// Ends the thread; a fetch under way stays without an answer. Close the connection first, or it waits for
  /// the library's current request to expire.
  void close();

 private:
  struct Job {
    OpId op;
    std::uint32_t max;
    Duration wait;
  };
  using Batch = std::vector<MessagePtr>;

  void run();
  Batch collect(const Job& job);
  Batch pull(int max, Duration wait);
  Batch next(int max, Duration wait);
  void rest(std::chrono::steady_clock::time_point since);
  void deliver(OpId op, Batch batch);
  bool stopping();

  Setup setup_;
  EventQueue& events_;
  ContextPtr context_;
  SubscriptionPtr subscription_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::unordered_map<std::uint64_t, MessagePtr> unacked_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace mqlab::live::nats
