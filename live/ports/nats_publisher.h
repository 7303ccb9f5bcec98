// Publishes to JetStream on a thread of its own, since nats.c blocks a caller when too much is unacknowledged.
#pragma once
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
  };

  /// Throws PortError. `events` must outlive it.
  Publisher(natsConnection* connection, const ProducerSettings& settings, EventQueue& events);
  ~Publisher();

  const ProducerSettings& settings() const { return settings_; }
  void publish(Job job);
  /// Settles `flush` once everything published before has been answered.
  void flush(OpId op);
  /// Waits until everything was answered, at most `grace`; then ends the thread.
  void close(Duration grace);

 private:
  struct Pending {
    OpId op;
    MessageId message;
    PlaceId place;
  };
  static void on_ack(jsCtx*, natsMsg* message, jsPubAck* ack, jsPubAckErr* error, void* self);
  void run();
  void send(Job& job);
  void settle_flushes();
  Pending take(natsMsg* message);

  ProducerSettings settings_;
  EventQueue& events_;
  ContextPtr context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::unordered_map<natsMsg*, Pending> pending_;
  std::deque<std::pair<OpId, std::uint64_t>> flushes_;  ///< op, how many publishes must have been answered
  std::uint64_t accepted_ = 0, answered_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace mqlab::live::nats
