// The producer of a Kafka client: accumulator, sender, idempotence. Transactions are on top (transactions.h).
#pragma once
#include <cstdint>

#include "core/base/ring.h"
#include "core/seam/effect.h"
#include "core/seam/event.h"
#include "sim/clients/kafka/pack.h"
#include "sim/clients/kafka/plan.h"
#include "sim/clients/kafka/timer.h"

namespace mqlab::sim::kafka::client {

class KafkaClient;
class Transactions;

class Producer {
 public:
  explicit Producer(KafkaClient& client);

  // ---- effects (producer.cc) ----
  void start();
  void publish(const Effect& effect);
  void flush(const Effect& effect);
  void close();

  // ---- what happens (sender.cc, producer_answers.cc) ----
  void kicked();
  void linger_fired(const SimEvent& event);
  void delivery_fired(const SimEvent& event);
  void producer_id_fired(const SimEvent& event);
  void answered(const Pending& pending, ProduceAnswer* answer);
  void failed(const Pending& pending, Error error);
  void initialised(const InitProducerIdAnswer& answer);
  void initialisation_failed();
  void leaders_changed();
  void node_usable(NodeIndex node);
  bool unroutable() const;
  Transactions* transactions() { return transactions_; }

  // ---- for transactions ----
  /// Sends what may be sent, at this instant but after the event being processed.
  void kick();
  bool idle() const { return unsettled_ == 0; }
  OutPartition& partition(std::uint32_t index) { return partitions_[index]; }
  std::int64_t producer_id() const { return producer_id_; }
  std::int16_t epoch() const { return epoch_; }
  /// A new identity: all partitions start at sequence 0. Nothing may be in flight.
  void identity(std::int64_t producer, std::int16_t epoch);
  /// Gives up all that is not in flight.
  void purge();
  /// A numbered batch was given up since the last identity(): the sequence has a gap.
  bool gap() const { return gap_; }

 private:
  struct Flight {  ///< the batches of one produce request
    explicit Flight(Arena& arena) : packs(arena) {}
    NodeIndex node = no_node;
    Vec<Pack*> packs;
  };
  struct Lane {  ///< one node: the partitions it leads that have something to send
    explicit Lane(Arena& arena) : active(arena) {}
    Vec<std::uint32_t> active;
    std::uint32_t in_flight = 0;  ///< produce requests
  };
  static constexpr std::uint32_t none_yet = ~std::uint32_t{0};
  struct Sticky {  ///< of one output, for records whose partition is drawn
    std::uint32_t partition = none_yet;
    std::uint32_t bytes = 0;
    Instant until = {};
  };

  // producer.cc
  bool admit(const Effect& effect, std::uint32_t bytes);
  void refuse(const Effect& effect, ErrorClass error, std::int16_t code);
  std::uint64_t draw_partition();
  std::uint32_t choose(const OutputPlan& output, const Message& message);
  void append(std::uint32_t index, const Effect& effect, std::int32_t key_bytes);
  Pack* open(OutPartition& partition, std::uint32_t index, std::uint32_t first_bytes);
  void list(std::uint32_t index);
  void unlist(OutPartition& partition);
  void room_again();
  void check_flushed();

  // sender.cc
  void send_from(NodeIndex node);
  /// When its head may go: now or earlier = now; never() while something else holds it.
  Instant ready_at(OutPartition& partition);
  bool held(OutPartition& partition, const Pack& head) const;
  bool send_ready(NodeIndex node);
  bool joins(const Pack& head, const Pack& next) const;
  void take(OutPartition& partition, Flight& flight, ProduceRequest& request);
  void number(OutPartition& partition, Pack& pack);
  std::uint32_t counted_bytes(const ProduceRequest& request) const;
  void send(Flight* flight, ProduceRequest* request);

  // producer_answers.cc
  void land(Flight* flight);
  void ended(Pack* pack, Error error, std::int64_t base_offset);
  void retry(Pack* pack, bool counts);
  void split(Pack* pack);
  void done(Pack* pack);
  void tell(const Pack& pack, Outcome outcome, ErrorClass error, Error code, std::int64_t base_offset);
  void give_up(Pack* pack, ErrorClass error, Error code);
  void post_settlements();
  ErrorClass class_of(Error error) const;

  // idempotence.cc
  bool out_of_order(OutPartition& partition, Pack& pack);
  void bump(OutPartition& partition);
  void renumber(OutPartition& partition);
  void resolve(OutPartition& partition);
  void drained();
  void ask_identity();

  KafkaClient& client_;
  const KafkaProducer& settings_;
  const bool java_, hashes_keys_, hashes_none_;
  Transactions* transactions_ = nullptr;
  Vec<OutPartition> partitions_;
  Vec<Lane> lanes_;
  Vec<Sticky> sticky_;
  Vec<Settlement> settlements_;  ///< collected while one answer is gone through
  std::uint64_t appended_ = 0;   ///< packs, for their order
  std::uint32_t unsettled_ = 0;  ///< records
  std::uint64_t buffered_bytes_ = 0;
  std::uint32_t draws_ = 0;
  std::uint32_t unrouted_ = 0;  ///< partitions with something to send and no leader
  std::uint32_t packs_in_flight_ = 0;
  bool full_ = false;
  bool kicked_ = false;
  bool closing_ = false;
  Vec<OpId> flushes_;
  Vec<Flight*> flights_;  ///< java: all that are in flight, for their delivery time-out
  Timer linger_, delivery_, producer_id_timer_;
  // idempotence
  std::int64_t producer_id_ = -1;
  std::int16_t epoch_ = -1;
  bool asking_identity_ = false;
  std::uint32_t identity_attempts_ = 0;
  bool draining_ = false;  ///< librdkafka: nothing is sent until all is back, then the epoch rises
  bool dead_ = false;      ///< librdkafka: a fatal error was raised
  bool gap_ = false;
};

}  // namespace mqlab::sim::kafka::client
