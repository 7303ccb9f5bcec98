// A simulated NATS system: its servers, streams and consumers, and how operations get from a client to the
// server that leads a stream and back.
#pragma once
#include <cstdint>

#include "sim/brokers/nats/consumer.h"
#include "sim/brokers/nats/copier.h"
#include "sim/brokers/nats/protocol.h"
#include "sim/brokers/nats/settings.h"
#include "sim/brokers/nats/stream.h"
#include "sim/cluster.h"
#include "sim/component.h"

namespace mqlab::sim::nats {

/// One server: takes events and hands them to the cluster.
class Node final : public Component {
 public:
  explicit Node(NatsCluster& cluster) : cluster_(cluster) {}
  void on(const SimEvent& event) override;
  void life_changed(ProcessId process, LifeChange change) override;
  bool ready() const { return ready_; }
  /// JetStream is not disabled.
  bool stores() const { return stores_; }
  void lose_jetstream() { stores_ = false; }
  bool disk_full() const { return disk_full_; }
  bool syncs_fail() const { return syncs_fail_; }
  /// The server is busy with it; what it sends after that leaves so much later.
  void work(Duration time);
  Duration behind() const;

 private:
  void fail_syncs(bool failing);

  NatsCluster& cluster_;
  bool ready_ = true;
  bool stores_ = true;
  bool disk_full_ = false;
  bool syncs_fail_ = false;
  Instant busy_until_ = {};
};

class NatsCluster final : public Cluster {
 public:
  /// `values` must outlive it.
  NatsCluster(World& world, const Values& values);

  Client* connect(Process& process) override;
  ProcessId leader(PlaceId place) const override;
  void audit() override;
  bool restarts_for_disk(ProcessId) override { return true; }  // a failed store stays so until then

  World& world() { return world_; }
  Arena& arena();
  const Values& values() const { return values_; }
  Node& node(ProcessId process) { return *nodes_[process - values_.first_node]; }
  /// Up and serving.
  bool serves(ProcessId process) const;
  /// And with its streams.
  bool stores(ProcessId process) const;
  Stream& stream(std::uint32_t index) { return *streams_[index]; }
  Copier& copier(std::uint32_t index) { return *copiers_[index]; }
  Consumer& consumer(std::uint32_t index) { return *consumers_[index]; }

  // ---- for clients ----
  /// The server side of an ordered consumer; its number goes into operations.
  std::uint32_t add_ordered(const ConsumerValues& values);
  Connection* add_connection(NatsClient& client, ProcessId process);

  // ---- for the servers ----
  /// The consumer's messages and heartbeats get through to this connection now.
  bool hears(const Connection& connection, std::uint32_t consumer) const;

  /// From a client: each operation goes to the server that leads its stream.
  void arrived(ProcessId node, Packet* packet);
  /// At that server.
  void process(ProcessId node, Packet* packet);
  void reply(ProcessId from, Packet* packet, Duration extra = {});
  void discard(Packet* packet);
  /// A word about a pull request instead of messages.
  void refuse(ProcessId from, Connection* connection, std::uint32_t epoch, std::uint32_t port,
              std::uint32_t generation, std::uint32_t serial, std::uint16_t status, bool lost = false);
  /// On its way to the client, at the server that has the connection.
  void hand_on(Packet* packet);
  void add_answer(Packet*& answers, Op* op, Connection* connection, std::uint32_t epoch);
  void client_gone(Connection* connection, std::uint32_t epoch);
  /// A write has waited too long for its client.
  void write_deadline(Connection& connection, std::uint32_t epoch, std::uint32_t write);
  /// A stream has another leader, or has one again: fetches that wait for it ask anew. (A parked request
  /// hears of a leadership change, one that found nobody or got lost runs out: either way the library asks
  /// again.) [nats-server: consumer.go checkPendingRequests]
  void ask_again(std::uint32_t stream);
  /// Something happened to a server or the network; `anew`: a stream that is back, or has another leader.
  void look_at_copies(const Stream* anew = nullptr);
  void life_changed(ProcessId process, LifeChange change);
  void booted(ProcessId node);
  void disk_full(ProcessId node);
  void fail_syncs(ProcessId node, bool failing);
  /// Of consumers' states: with the disks as they still are.
  void write_what_is_due();
  /// The server goes on, without its streams.
  void lose_jetstream(ProcessId node);

 private:
  std::uint32_t stream_of(const Op& op) const;
  bool pulls_first(const Packet& packet);
  static void move_pulls_up(Packet& packet);
  // Clients that do not read (slow.cc)
  void write(Packet* packet, Duration extra = {});
  bool reads(const Connection& connection) const;
  void unblock();
  void hang_up(Connection& connection);
  void drop_held_back(Connection& connection);
  void carry_out(Op* op, const Packet& packet, Packet*& answers);
  void led_by_nobody(Op* op, ProcessId here, const Packet& packet, Packet*& answers);
  void nobody(Op* op, const Packet& packet, Packet*& answers);
  void servers_clients_gone(ProcessId node);

  World& world_;
  const Values& values_;
  Vec<Node*> nodes_;
  Vec<Stream*> streams_;
  Vec<Consumer*> consumers_;
  Vec<Copier*> copiers_;
  Vec<Connection*> connections_;
  Ring<Packet*> held_back_;    ///< for clients that do not read, oldest first
  std::uint32_t blocked_ = 0;  ///< writes that waited for a client so far
  std::uint64_t races_ = 0;    ///< draws between acks and pulls
};

}  // namespace mqlab::sim::nats
