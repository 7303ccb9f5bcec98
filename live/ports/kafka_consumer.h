// The consuming half of the port to Kafka. The library is polled only while the module waits for a fetch, on
// a thread of its own; a rebalance waits inside that poll until the module accepts or releases, as in any
// application. An observer is in no group: it is assigned all partitions at its first fetch.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "live/ports/kafka_client.h"

namespace mqlab::live::kafka {

class Consumer {
 public:
  /// Subscribes (not an observer): the group is joined in the background. Throws PortError. `context.events`
  /// must outlive it.
  Consumer(const PortContext& context, const Names& names, const Properties& properties,
           const std::vector<TopicId>& inputs);
  ~Consumer();

  const Names& names() const { return names_; }
  /// fetch, accept, release, commit, seek, pause, resume or leave.
  void carry_out(const Effect& effect);
  /// It has partitions, or knows that there is none for it, and reads at the end of each or has a record of
  /// it.
  bool reading() const { return reading_; }
  /// The group's metadata as it was in that generation, for fencing; the latest for a generation not known.
  GroupPtr group_of(std::uint32_t generation);
  /// Leaves the group if the module has not, and ends the threads.
  void close();

 private:
  struct Job {
    Kind kind;
    OpId op;
    std::uint32_t max;
    Duration wait;
    std::vector<PlacePosition> places;
  };
  struct Answer {  ///< of the module to a rebalance
    Kind kind;
    OpId op;
    std::vector<PlacePosition> places;
  };

  static void on_rebalance(rd_kafka_t*, rd_kafka_resp_err_t error,
                           rd_kafka_topic_partition_list_t* partitions, void* self);
  void rebalance(bool assign, rd_kafka_topic_partition_list_t* partitions);
  std::optional<Answer> ask_module(bool assign, const rd_kafka_topic_partition_list_t* partitions);
  void fill_committed(rd_kafka_topic_partition_list_t* partitions);
  rd_kafka_resp_err_t apply(bool assign, const rd_kafka_topic_partition_list_t* partitions);
  std::uint32_t remember_group();
  void assign_observer();
  void wait_to_hear_of(bool assigned, const rd_kafka_topic_partition_list_t* partitions);
  void heard_of(const rd_kafka_message_t& message);
  void subscribe(const std::vector<TopicId>& inputs);

  void run();
  void fetch(const Job& job);
  void do_job(const Job& job);
  bool urgent(Job& job);
  void leave();
  void deliver_collected(bool answers_fetch);
  void commit(const Effect& effect);
  void settle(OpId op, Kind kind, rd_kafka_resp_err_t error);

  const PortContext& context_;
  const Names& names_;
  Conf conf_;
  std::uint32_t max_records_;
  ClientPtr client_;
  QueuePtr commits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::optional<Answer> answer_;
  std::map<std::uint32_t, std::vector<char>> groups_;  ///< generation → serialised metadata
  std::vector<MessagePtr> collected_;                  ///< of the fetch under way; consumer thread only
  OpId fetch_op_ = 0;
  std::atomic<bool> stopping_ = false;
  bool leaving_ = false;  ///< consumer thread, or after it has ended
  bool left_ = false;
  bool observes_ = false;                ///< all partitions, without a group
  std::vector<PlacePosition> observed_;  ///< an observer's places, until they have been assigned
  std::vector<PlaceId> silent_;          ///< assigned, and nothing was heard of it yet; consumer thread only
  std::atomic<bool> reading_ = false;
  std::int64_t first_offset_ = RD_KAFKA_OFFSET_BEGINNING;
  std::thread reader_, committer_;
};

}  // namespace mqlab::live::kafka
