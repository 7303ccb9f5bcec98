// What lies between hosts where links are shared: racks, uplinks, a platform. It knows how long bytes take
// when others send at the same time; order, cuts and loss are the network's.
#pragma once
#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/base/time.h"

namespace mqlab::sim {

/// A flow is one message's bytes under way. Not part of the arena: a world over a fabric has no snapshots,
/// and a fabric serves one run.
class Fabric {
 public:
  virtual ~Fabric() = default;

  /// One way and without load, from the platform's links.
  virtual Duration latency(ProcessId from, ProcessId to) const = 0;
  /// Both on one host: what they send takes no time on any link.
  virtual bool local(ProcessId from, ProcessId to) const = 0;

  /// The last byte of a flow has left; its latency is still to come. `flow` is 0 when nothing ended.
  struct Ended {
    std::uint64_t flow = 0;
    Instant at = {};
  };
  /// Begins to send. `now` is not before any instant this fabric was told or told of. `flow`: a number above
  /// 0 that no other flow under way has.
  virtual void begin(Instant now, std::uint64_t flow, ProcessId from, ProcessId to, std::uint32_t bytes) = 0;
  /// The flow is given up; what it had sent is lost.
  virtual void abandon(Instant now, std::uint64_t flow) = 0;
  /// The flow that ends next, unless that is after `until`.
  virtual Ended next(Instant until) = 0;
};

}  // namespace mqlab::sim
