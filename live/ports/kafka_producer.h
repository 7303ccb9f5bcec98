// The producing half of the port to Kafka: asynchronous publishes, and transactions whose blocking calls have
// a thread of their own.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "live/ports/kafka_client.h"

namespace mqlab::live::kafka {

class Consumer;

class Producer {
 public:
  /// Connects; with a transactional.id also initialises transactions, which fences earlier incarnations.
  /// Throws PortError. `context.events` must outlive it.
  Producer(const PortContext& context, const Names& names, const Properties& properties,
           std::vector<TopicId> outputs);
  ~Producer();

  bool transactional() const { return transactional_; }
  /// publish, flush, begin, offsets_to_transaction, commit_transaction or abort_transaction. `consumer` gives
  /// the group's metadata; may be null where no offsets are sent.
  void carry_out(const Effect& effect, std::uint32_t transaction, Consumer* consumer);
  /// Waits for what is under way, at most `grace`, then ends the threads.
  void close(Duration grace);

 private:
  struct Output {
    TopicId topic;
    PlaceId first_place;
    std::uint32_t partitions;
    TopicPtr handle;
  };
  struct Job {
    Kind kind;
    OpId op;
    ListPtr offsets;
    GroupPtr group;
  };
  static void on_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void* self);
  void delivered(const rd_kafka_message_t& message);
  void publish(const Effect& effect, std::uint32_t transaction);
  void refuse(const Effect& effect, rd_kafka_resp_err_t error);
  void poll();
  void run_jobs();
  ErrorPtr call(Job& job);
  void settle(OpId op, Kind kind, const rd_kafka_error_t* error);
  void warm_up();
  void init_transactions();
  void room_again();

  const PortContext& context_;
  Conf conf_;
  bool transactional_ = false;
  ClientPtr client_;
  std::vector<Output> outputs_;
  std::vector<std::byte> buffer_;
  std::atomic<bool> blocked_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool working_ = false;
  std::atomic<bool> stopping_ = false;
  std::thread poller_, transactions_;
};

}  // namespace mqlab::live::kafka
