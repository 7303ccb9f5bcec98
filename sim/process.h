// A simulated application process: a module, its client libraries, and the driver between them.
#pragma once
#include <cstdint>

#include "core/base/ring.h"
#include "core/modules/registry.h"
#include "core/seam/driver.h"
#include "sim/cluster.h"
#include "sim/component.h"
#include "sim/requests.h"

namespace mqlab::sim {

class World;

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
  /// The same for one settlement, after a delay.
  void post_later(const Settlement& settlement, Duration delay);

  // ---- for the world ----
  void born();  ///< a fresh incarnation: module, clients, then `start`
  void died();  ///< drops what waits; its memory is given up
  void resumed();
  void stop();  ///< SIGTERM: the module's `stop`, then a clean shutdown of the clients
  static constexpr std::uint16_t die = 100;  ///< kind of the event by which a doomed process ends
  void die_soon();                           ///< ends like a kill once the event being processed is through

  // Host
  Row& row(Kind kind, Phase phase) override;
  Gate anchored(const Row& row) override;
  void carry_out(const Effect& effect) override;
  void defer(const Event& event) override;
  void defer(std::span<const Effect> effects) override;
  void record(const Now& now, const Event& event) override;

  void on(const SimEvent& event) override;

 private:
  enum : std::uint16_t { posted, later, wake, arrival, leave };
  enum : std::uint64_t { by_itself, asked_to };  ///< why it leaves
  void deliver(const Event& event);
  void settle_gate(Gate gate);
  void leave_if_done();
  void reschedule();
  void next_arrival();
  void arrive();
  Event* copy(const Event& event);
  void recycle(Event* event);

  World& world_;
  ProcessId self_;
  Module* module_ = nullptr;
  Vec<Client*> clients_;  ///< by broker; nullptr where no port leads
  DriverState driver_;
  Ring<Event*> inbox_;
  bool stopping_ = false;
  std::uint32_t open_ops_ =
      0;  ///< what a clean end waits for: everything but demand and the rebalance handshake
  Instant wake_at_ = Instant::never();
  std::uint32_t wake_generation_ = 0;
  Event* deferred_event_ = nullptr;
  Vec<Effect> deferred_effects_;
  Requests workload_;  ///< what the workload asks of this process; empty for others
  bool busy_ = false;  ///< requests are still to come
};

}  // namespace mqlab::sim
