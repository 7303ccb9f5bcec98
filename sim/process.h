// A simulated application process: a module, its client libraries, and the driver between them.
#pragma once
#include <cstdint>

#include "core/seam/driver.h"
#include "sim/cluster.h"
#include "sim/component.h"

namespace mqlab::sim {

class World;
class Store;

class Process final : public Component, public Host {
 public:
  Process(World& world, ProcessId self);

  // ---- for client models ----
  World& world() { return world_; }
  ProcessId self() const { return self_; }
  Incarnation incarnation() const;
  const Ports& ports() const;
  /// Hands an event to the module, at this instant but after the event being processed. Everything the event
  /// points to is copied.
  void post(const Event& event);

  // ---- for the world ----
  void born();   ///< a fresh incarnation: module, clients, then `start`
  void died();   ///< drops what waits; its memory is given up
  void resumed();
  bool invoking() const { return next_arrival_ != Instant::never(); }

  // Host
  Row& row(Kind kind, Phase phase) override;
  Gate anchored(const Row& row) override;
  void carry_out(const Effect& effect) override;
  void defer(const Event& event) override;
  void defer(std::span<const Effect> effects) override;

  void on(const SimEvent& event) override;

 private:
  // (implementation: sim/process.cc)
  enum : std::uint16_t { posted, wake, arrival, die, graceful };
  struct Deferred;
  void deliver(const Event& event);
  void settle_gate(Gate gate);
  void reschedule();
  void arrive();
  Event* copy(const Event& event);
  void recycle(Event* event);
  Client* client_of(TopicId topic);

  World& world_;
  ProcessId self_;
  Module* module_ = nullptr;
  Vec<Client*> clients_;  ///< by broker
  Store* store_ = nullptr;
  DriverState driver_;
  Ring<Event*> inbox_;
  Instant wake_at_ = Instant::never();
  std::uint32_t wake_generation_ = 0;
  Event* deferred_event_ = nullptr;
  Vec<Effect> deferred_effects_;
  MessageId next_message_ = 0;
  Instant next_arrival_ = Instant::never();
};

}  // namespace mqlab::sim
