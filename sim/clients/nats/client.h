// nats.c in one incarnation of a process: one connection, asynchronous JetStream publishes, pull fetches and
// push subscriptions, acks.
#pragma once
#include <cstdint>

#include "core/base/arena.h"
#include "core/base/ring.h"
#include "core/seam/event.h"
#include "core/seam/message.h"
#include "sim/brokers/nats/protocol.h"
#include "sim/brokers/nats/settings.h"
#include "sim/cluster.h"
#include "sim/component.h"

namespace mqlab::sim::nats {

class NatsCluster;

/// natsStatus, what the library reports. [nats.c: src/status.h]
namespace status {
inline constexpr std::uint16_t max_payload = 21;
inline constexpr std::uint16_t timeout = 26;
inline constexpr std::uint16_t no_responders = 34;
}  // namespace status

class NatsClient final : public Client, public Component {
 public:
  NatsClient(NatsCluster& cluster, Process& process);

  void start() override;
  void carry_out(const Effect& effect) override;
  void close() override;
  void on(const SimEvent& event) override;
  void life_changed(ProcessId process, LifeChange change) override;
  /// A stream has a leader again: fetches that wait for it send their request once more.
  void ask_again(std::uint32_t stream);
  /// This is the client of the process's present incarnation.
  bool current(const Connection* connection) const;

 private:
  struct Publish {  ///< sent or to be sent, without an answer
    OpId op;
    MessageId message;
    PlaceId place;
    std::uint32_t generation;
    bool open;
  };
  struct Sent {
    Instant deadline;
    std::uint32_t slot;
    std::uint32_t generation;
  };
  struct Stalled {
    Instant deadline;
    Op* op;
  };
  struct Fetch {
    OpId op = 0;
    std::uint32_t max = 0;
    Duration wait = {};
  };
  struct FlowMark {
    std::uint64_t after;  ///< to be confirmed once the application has taken so many messages
    std::uint32_t mark;
  };
  /// One input: a pull subscription or a push subscription, and what an ordered consumer keeps on this side.
  struct Input {
    explicit Input(Arena& arena)
        : got(arena), left_over(arena), queue(arena), buffer(arena), flow_marks(arena) {}
    bool active = false;  ///< a fetch is under way
    Fetch fetch;
    Instant sent = {};             ///< its first pull request
    std::uint32_t generation = 0;  ///< of the fetch
    Vec<Message> got;              ///< for it, so far
    Vec<Message> left_over;        ///< came after its fetch had ended
    Ring<Fetch> queue;
    std::uint32_t consumer = 0;
    // push
    Ring<Message> buffer;  ///< came, and not yet asked for
    Ring<FlowMark> flow_marks;
    std::uint64_t buffer_bytes = 0;
    std::uint64_t received = 0, taken = 0;
    // ordered
    bool created = false;  ///< at least once
    Instant heard = {};    ///< the latest message or answer
    Instant subscribed = {};
    std::uint32_t watch_generation = 0;
    bool watching = false;
    std::uint32_t serial = 0;
    std::uint32_t expected = 1;  ///< next consumer sequence
    std::int64_t last = 0;       ///< last stream sequence handed to the application
    Instant asks_again = {};     ///< when its next request goes out, if that was played out
  };

  // ---- writing (client.cc) ----
  void write(Op* op);
  void flush();
  void request(OpKind kind, Duration& delay);
  void handle(Packet* packet);
  void answered(Op* op);
  void settle(const Settlement& settlement);
  void post_settled();

  // ---- publishes (publish.cc) ----
  void publish(const Effect& effect);
  void send(Op* op);
  void published(Op* op);
  void end(std::uint32_t slot, Settlement settlement);
  void answer_deadline();
  void stall_deadline();
  void room();
  void settle_flush();
  void arm_answers();

  // ---- fetches (pull.cc) ----
  void fetch(const Effect& effect);
  void next_fetch(std::uint32_t port);
  void pull(std::uint32_t port);
  void delivery(Delivery& delivery);
  void hand_over(std::uint32_t port);
  void pull_later(std::uint32_t port, Instant at);
  void pull_again(std::uint32_t port, std::uint32_t generation);

  // ---- push subscriptions (push.cc) ----
  void subscribe(std::uint32_t port);
  void pushed(Delivery& delivery);
  bool has_room(std::uint32_t port, const Message& message) const;
  void take(std::uint32_t port);
  void confirm_flow(std::uint32_t port);
  void create(std::uint32_t port);
  void created(const Op& op);
  bool in_order(std::uint32_t port, const Delivery& delivery);
  void watch_heartbeats(std::uint32_t port);
  void heartbeat_missed(std::uint32_t port);

  // ---- acks ----
  void answer(const Effect& effect, OpKind kind);

  // ---- connection (connection.cc) ----
  bool connected() const { return connected_; }
  void connect_to(ProcessId node);
  void lost();
  void attempt();
  void pick_next_server();
  void watch_server();
  bool reaches(ProcessId node) const;
  void tell(EventKind kind);

  NatsCluster& cluster_;
  Process& process_;
  const ClientValues& values_;
  Connection* connection_ = nullptr;
  Incarnation incarnation_ = 0;

  bool connected_ = false;
  bool was_connected_ = false;
  std::uint32_t attempt_generation_ = 0;
  std::uint32_t server_ = 0;  ///< which of the pool is tried, or connected to
  std::uint32_t tried_ = 0;   ///< since the connection was lost
  Instant connected_at_ = {};
  Incarnation server_life_ = 0;  ///< of the server it connected to
  bool silent_ = false;          ///< the server does not answer pings
  std::uint32_t silence_generation_ = 0;
  std::uint32_t down_epoch_ = 0;

  Op* first_ = nullptr;  ///< written, not yet on the wire
  Op* last_ = nullptr;
  bool flushing_ = false;

  Vec<Publish> publishes_;  ///< by slot
  Vec<std::uint32_t> free_slots_;
  Ring<Sent> sent_;  ///< by deadline
  Ring<Stalled> stalled_;
  std::uint32_t in_flight_ = 0;
  bool answers_armed_ = false;
  bool refused_for_room_ = false;
  Ring<OpId> flushes_;
  Vec<Settlement> settled_;  ///< to be posted as one event

  Vec<Input> inputs_;
};

}  // namespace mqlab::sim::nats
