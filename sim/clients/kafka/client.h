// The model of Kafka's client libraries, Java's and librdkafka: one object for each process and incarnation,
// with a producer where the process writes and a consumer where it reads. Sources are named where a rule is
// modelled; "java" is apache/kafka clients 4.x, "librdkafka" confluentinc/librdkafka 2.x.
#pragma once
#include <cstdint>
#include <span>

#include "sim/brokers/kafka/protocol.h"
#include "sim/clients/kafka/plan.h"
#include "sim/clients/kafka/wire.h"
#include "sim/cluster.h"
#include "sim/component.h"
#include "sim/process.h"
#include "sim/world.h"

namespace mqlab::sim::kafka::client {

class Producer;
class Consumer;

/// The client's own events; answer_event and heartbeat_event come from the nodes.
namespace due {
enum : std::uint16_t {
  disconnected = 3,  ///< x = node, y = generation of the connection
  timeouts,
  reconnect,
  metadata,
  refresh,  ///< metadata, of topics that may grow
  kick,     ///< the producer has something to send
  linger,
  delivery,
  producer_id,
  transaction,
  transaction_limit,
  transaction_coordinator,
  offsets_coordinator,
  group_coordinator,
  membership,
  session,
  poll_wait,
  poll_limit,
  auto_commit,
  fetch,
};
}  // namespace due

class KafkaClient final : public Component, public mqlab::sim::Client {
 public:
  KafkaClient(World& world, Process& process, const ClientPlan& plan, std::span<Component* const> nodes,
              PlaceId places);

  void start() override;
  void carry_out(const Effect& effect) override;
  void close() override;
  void on(const SimEvent& event) override;
  void life_changed(ProcessId changed, LifeChange change) override;

  World& world() { return world_; }
  Arena& arena() { return world_.arena(); }
  Process& process() { return process_; }
  const ClientPlan& plan() const { return plan_; }
  Wire& wire() { return wire_; }
  Instant now() const { return world_.now(); }
  Producer* producer() { return producer_; }
  Consumer* consumer() { return consumer_; }

  /// Posts the end of one effect.
  void settle(OpId op, Kind of, Outcome outcome, ErrorClass error = ErrorClass::none, std::int16_t code = 0);
  void settle(const Effect& effect, Outcome outcome, ErrorClass error = ErrorClass::none,
              Error code = Error::none) {
    settle(effect.op, effect.kind, outcome, error, static_cast<std::int16_t>(code));
  }

  // ---- for Wire ----
  void failed(const Pending& pending, Error error);
  void node_usable(NodeIndex node);
  void node_lost(NodeIndex node);
  /// Its metadata shows more partitions than before.
  void topic_grew(TopicId topic);
  void leaders_changed();
  /// Whether something waits for a leader that is not known or not usable.
  bool unroutable() const;

 private:
  void answered(Answer* answer);
  void dispatch(const Pending& pending, Answer* answer);

  World& world_;
  Process& process_;
  const ClientPlan& plan_;
  Wire wire_;
  Producer* producer_ = nullptr;
  Consumer* consumer_ = nullptr;
};

/// A client for one incarnation of `process`, in the world's arena. `nodes` are the broker's, in the order of
/// their processes. A process that dies drops its client.
mqlab::sim::Client* make_client(World& world, Process& process, const ClientPlans& plans,
                                std::span<Component* const> nodes);

/// Whose coordinator a request asks for: the context of find_coordinator requests.
namespace asks {
enum : std::uint8_t { consumer, transaction, offsets };
}

}  // namespace mqlab::sim::kafka::client
