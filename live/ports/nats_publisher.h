// Publishes to JetStream on a thread of its own, since nats.c blocks a caller when too much is
// unacknowledged.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "live/event_queue.h"
#include "live/ports/nats_settings.h"

namespace mqlab::live::nats {

class Publisher {
 public:
  struct Job {
    OpId op = 0;
    MessageId message = 0;
    PlaceId place = no_place;
    MessagePtr wire;
    std::string message_id;  ///< Nats-Msg-Id; empty = none
    std::uint32_t tries = 0;
    std::chrono::steady_clock::time_point until = {};  ///< its ack_timeout ends
  };

  /// Throws PortError. `events` must outlive it.
  Publisher(natsConnection* connection, const NatsProducer& settings, EventQueue& events);
  ~Publisher();

  const NatsProducer& settings() const { return settings_; }
  void publish(Job job);
  /// Settles `flush` once everything published before has been answered.
  void flush(OpId op);
  /// Waits until everything was answered, at most `grace`; then ends the thread.
  void close(Duration grace);

 private:
  struct Retry {
    std::chrono::steady_clock::time_point due;
    Job job;
  };
  static void on_ack(jsCtx*, natsMsg* message, jsPubAck* ack, jsPubAckErr* error, void* self);
  void run();
  void send(natsMsg* message);
  void settle(const Job& job, Settlement s);
  void settle_flushes();
  Job take(natsMsg* message);
  bool next_batch(std::unique_lock<std::mutex>& lock, std::deque<Job>& batch);

  NatsProducer settings_;
  EventQueue& events_;
  ContextPtr context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::unordered_map<natsMsg*, Job> pending_;  ///< without an answer; the library owns the message
  std::deque<Retry> retries_;                  ///< nobody responded: tried again; all wait equally long
  std::deque<std::pair<OpId, std::uint64_t>> flushes_;  ///< op, how many publishes must have been answered
  std::uint64_t accepted_ = 0, answered_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace mqlab::live::nats
