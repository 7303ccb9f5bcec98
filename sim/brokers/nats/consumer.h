// A consumer: who has been given what, what is to be given again, who waits for messages or has subscribed.
//
// One class for durable consumers and for the ephemeral one of an ordered consumer, which has no
// acknowledgements and lives as long as its server. Behaviour by nats-server: server/consumer.go; functions
// are named at each rule.
#pragma once
#include <cstdint>

#include "core/base/arena.h"
#include "core/base/ring.h"
#include "sim/brokers/nats/protocol.h"
#include "sim/brokers/nats/settings.h"

namespace mqlab::sim::nats {

class NatsCluster;
class Stream;

class Consumer {
 public:
  /// `index` names it in operations; `durable` is false for an ordered consumer's.
  Consumer(NatsCluster& cluster, Stream& stream, const ConsumerValues& values, std::uint32_t index,
           bool durable);

  std::uint32_t index() const { return index_; }
  Stream& stream() { return stream_; }

  /// At the leader. Each takes the operation over.
  void pull(Op* op, const Packet& packet);
  /// Ordered: created anew. True when `op` holds the answer.
  bool create(Op* op);
  /// ack, nack, progress, terminate. True when `op` is a reply to be sent.
  bool answer(Op* op);
  /// As many messages as there are and as are asked for.
  void deliver();
  void timer(std::uint32_t generation);
  void wake();
  void client_gone(const Connection* connection, std::uint32_t epoch);

  // ---- push (consumer_push.cc) ----
  void subscribe(Connection* connection, std::uint32_t epoch, std::uint32_t port);
  /// The client has kept up to a mark.
  void flow_confirmed(std::uint32_t mark);
  /// Nothing was sent for the time of a heartbeat.
  void idle(std::uint32_t mark);
  /// Its messages and heartbeats go to this connection.
  bool sends_to(const Connection& connection) const;

  void server_died(bool power_lost);  ///< R1: the only server it was on
  void recovered();                   ///< … which is back, with what had been written of it
  void led_anew();                    ///< replicated: another server leads now
  void quorum_back();
  /// Something is about to change: a write of the state that was due before now found it as it is.
  void before_update();
  void audit(ProcessId auditor) const;

  /// It is still to be acknowledged here.
  bool wants(std::int64_t sequence) const;
  /// All messages up to it are acknowledged.
  std::int64_t ack_floor() const { return window_base_ - 1; }
  std::uint32_t pending() const { return pending_; }

 private:
  /// A message that was delivered, by sequence within the window.
  struct Pending {
    Instant since = {};  ///< its time to be acknowledged runs from here
    std::uint32_t attempts = 0;
    bool open = false;    ///< not acknowledged
    bool queued = false;  ///< to be delivered again
  };
  struct Request {
    Connection* connection;
    std::uint32_t epoch;
    std::uint32_t port;
    std::uint32_t generation;
    std::uint32_t left;
    bool no_wait;
    bool answer_lost;
    bool served;  ///< got at least one message
    Instant received;
    Duration lifetime;  ///< of one request: the client sends them one after the other until `expires`
    Instant expires;
    Instant queued;      ///< got to the end of the queue
    std::uint32_t turn;  ///< among those of one instant
    Delivery* delivery;  ///< being filled
  };
  /// What a kill of its server leaves of it.
  struct Stored {
    explicit Stored(Arena& arena) : window(arena) {}
    std::int64_t next = 1;
    std::uint32_t sequence = 1;
    std::int64_t base = 1;
    Ring<Pending> window;
  };
  struct Floor {
    Instant at;
    std::int64_t floor;
  };

  struct Subscriber {
    Connection* connection;
    std::uint32_t epoch;
    std::uint32_t port;
    Delivery* delivery;  ///< being filled
  };
  /// Push: how much may be on its way. [processFlowControl, setMaxPendingBytes, needFlowControl]
  struct Flow {
    std::int64_t window;         ///< bytes
    std::int64_t under_way = 0;  ///< bytes
    std::int64_t marked = 0;     ///< of them, before the mark that is to be confirmed
    std::uint32_t mark = 0;      ///< 0 = none is to be confirmed
    Instant sent = {};           ///< the latest message or heartbeat
  };

  void push();
  Delivery* delivery_to(const Subscriber& to);
  Subscriber& pick(std::int64_t sequence);
  void mark_flow(Subscriber& to, std::uint32_t bytes);
  static Flow flow_anew();
  std::uint32_t fill(Delivery& delivery, std::int64_t sequence, std::uint32_t port);
  void send_out(Delivery* delivery);
  void send_pushed(Delivery* delivery);
  bool acks() const { return values_.ack != AckPolicy::none; }
  Pending* at(std::int64_t sequence);
  bool serve_next_request();
  static Instant at_end_of_queue(const Request& request, Instant now);
  void wake_at(Instant at);
  bool full() const { return acks() && values_.max_ack_pending > 0 && pending_ >= values_.max_ack_pending; }
  bool takes(std::int64_t sequence) const;
  std::int64_t next_new() const;
  bool next_message(std::int64_t& sequence, bool& stalled);
  bool next_again(std::int64_t& sequence);
  void hand_out(std::int64_t sequence);
  void end_requests(bool stalled);
  template <class Keep>
  void keep_requests(Keep keep) {
    for (std::uint32_t n = requests_.size(); n > 0; --n) {
      const Request r = requests_.front();
      requests_.pop_front();
      if (keep(r)) requests_.push_back(r);
    }
  }
  void client_done(std::uint32_t port, const Connection* connection);
  void send(Request& request, bool complete);
  std::uint32_t track(std::int64_t sequence);
  void open_window(std::int64_t sequence);
  void close(std::int64_t sequence);
  void trim();
  void queue_again(std::int64_t sequence);
  void unqueue(std::int64_t sequence);
  bool exhausted(const Pending& p) const;
  Instant due_of(const Pending& p) const;  ///< when its time to acknowledge is over
  void arm(Instant due);
  void check_pending();
  void apply(const Op& op);
  void ack(std::int64_t sequence);
  void settle(std::int64_t sequence);
  void nack(std::int64_t sequence, Duration delay);
  void start_over();
  void reconcile();
  void drop_limbo(bool apply_them);
  // On disk (consumer_store.cc)
  void after_update();
  void write_state();
  void restore_state();

  NatsCluster& cluster_;
  Stream& stream_;
  const ConsumerValues& values_;
  std::uint32_t index_;
  bool durable_;
  bool exists_;
  std::uint32_t serial_ = 0;      ///< ordered: of its creation
  std::int64_t next_ = 1;         ///< stream sequence
  std::uint32_t sequence_ = 1;    ///< consumer sequence of the next delivery
  std::int64_t window_base_ = 1;  ///< sequence of the window's first entry
  Ring<Pending> window_;
  std::uint32_t pending_ = 0;
  Ring<std::int64_t> again_;
  Ring<Request> requests_;
  std::uint32_t turns_ = 0;
  Instant wake_at_ = Instant::never();
  Instant timer_at_ = Instant::never();
  std::uint32_t timer_generation_ = 0;
  Vec<Subscriber> subscribers_;
  Flow flow_;
  std::uint32_t marks_ = 0;   ///< sent in all
  bool loses_first_ = false;  ///< a fault: of what it pushes from its creation on
  Vec<Op*> limbo_;            ///< replicated, no quorum: not yet agreed on

  Stored stored_;
  Instant written_at_ = {-1'000'000'000};  ///< when the state is, or was last, written
  bool unwritten_ = false;                 ///< that write is still to come
  Ring<Floor> floors_;                     ///< as the disk may have them after a power loss, oldest first
};

}  // namespace mqlab::sim::nats
