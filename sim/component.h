// The parts of the simulated world that things happen to: processes, client libraries, broker nodes.
#pragma once
#include <cstdint>

#include "core/base/ids.h"
#include "sim/queue.h"

namespace mqlab::sim {

/// What became of a process, told to every component at that instant. It lets them *compute* what idle
/// periodic work (heartbeats, lease renewals) would have led to instead of simulating each beat.
enum class LifeChange : std::uint8_t {
  killed,      ///< the kernel closed its connections; its disk and page cache stay
  power_lost,  ///< silent: no connection is closed; what was not synced is gone
  restarted,
  paused,  ///< frozen (SIGSTOP): connections stay open, nothing moves
  resumed,
  cut,  ///< a partition of the network began or changed; see Network::reachable
  joined,
  disk_full,   ///< a broker node finds no free block any more
  syncs_fail,  ///< of a broker node: each fsync is an error
  disk_healed
};

class Component {
 public:
  virtual ~Component() = default;
  /// An event of this component is due. Never called while its process is dead or paused.
  virtual void on(const SimEvent& event) = 0;
  /// `process` is another one, or the component's own.
  virtual void life_changed(ProcessId process, LifeChange change) {
    (void)process;
    (void)change;
  }

  ProcessId owner = no_process;  ///< set by World::add
  std::uint16_t id = 0;          ///< set by World::add
};

}  // namespace mqlab::sim
