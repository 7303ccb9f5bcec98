// The network between processes: first in first out per connection, loss as retransmission delay, partitions.
// In the process, latency is drawn from a distribution and each connection has its own bandwidth; over a
// fabric, both come from a platform's links. Bytes on the wire are delivered to a component as one event.
#pragma once
#include <cstdint>

#include "core/base/arena.h"
#include "core/base/ids.h"
#include "core/base/ring.h"
#include "core/base/time.h"
#include "sim/component.h"
#include "sim/network/flows.h"

namespace mqlab::sim {

class World;

class Network {
 public:
  Network(World& world, std::uint32_t processes);

  /// Sends `bytes` from one process to a component of another: `to.on({kind, x, y, a})` when they arrive.
  /// Bytes for a dead process vanish; bytes over a cut wait for its end (the transport goes on resending).
  /// `extra` delays this message and, by order, those behind it on the same connection.
  void send(ProcessId from, Component& to, std::uint32_t bytes, std::uint16_t kind, std::uint64_t a,
            std::uint32_t x = 0, std::uint32_t y = 0, Duration extra = {});

  bool reachable(ProcessId from, ProcessId to) const { return cut_[index(from, to)] == 0; }
  /// One direction only. What has left the sender still arrives.
  void cut(ProcessId from, ProcessId to);
  void join(ProcessId from, ProcessId to);
  /// A new connection: what is still under way on the old one no longer holds up what follows.
  void reconnected(ProcessId from, ProcessId to);
  /// A process died: what was still to be sent to it is dropped, and with its machine also what it was
  /// sending.
  void died(ProcessId process, bool power_loss);
  /// Over a fabric: what is under way takes its course up to the world's next event. Otherwise nothing.
  void advance(Instant horizon) {
    if (flows_ != nullptr) flows_->advance(horizon);
  }
  /// Over a fabric everything that is sent takes part in its links' load: nothing may be computed beforehand.
  bool shared() const { return flows_ != nullptr; }
  /// One delay as send() would draw it next, for what closes a connection.
  Duration delay(ProcessId from, ProcessId to);

 private:
  struct Held {
    SimEvent event;
    std::uint32_t bytes;
    ProcessId from;
    ProcessId to;
  };
  std::size_t index(ProcessId from, ProcessId to) const { return std::size_t{from} * processes_ + to; }
  void transmit(ProcessId from, ProcessId to, std::uint32_t bytes, SimEvent event, Duration extra);
  Duration latency(ProcessId from, ProcessId to, std::size_t connection, std::uint32_t n) const;

  World& world_;
  std::uint32_t processes_;
  Vec<std::uint8_t> cut_;    // by connection: how many partitions cut it
  Vec<Instant> last_;        // by connection: when its latest bytes arrive
  Vec<std::uint32_t> sent_;  // by connection: number of the next draw
  Ring<Held> held_;          // waiting behind a cut, oldest first
  Flows* flows_ = nullptr;   // over a fabric
};

}  // namespace mqlab::sim
