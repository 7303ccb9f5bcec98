// The workload's requests at their intended times, whether or not the system keeps up.
#pragma once
#include <functional>
#include <vector>

#include "core/scenario/topology.h"
#include "core/seam/event.h"
#include "core/workload/generator.h"

namespace mqlab::live {

class Feeder {
 public:
  /// `process` is a workload's; `masked` is sorted: these requests are never made. A later incarnation goes
  /// on with what is still to come: a dead process misses the requests of its absence.
  Feeder(const Scenario& scenario, const ProcessInfo& process, std::uint64_t seed, Incarnation incarnation,
         std::vector<MessageId> masked);

  bool done() const { return done_; }
  /// The intended time of the next request; `begin_ns` = 0: the workload has not begun, look again soon.
  Instant next(std::int64_t begin_ns, Instant now) const;
  /// Gives the next request to `drive` if its time has come. False when it has not.
  bool feed(std::int64_t begin_ns, Instant now, const std::function<void(const Event&)>& drive);

 private:
  void advance();

  Generator generator_;
  std::uint64_t seed_;
  std::uint32_t producers_;
  std::uint32_t instance_;
  std::vector<MessageId> masked_;
  bool skip_past_;
  std::uint64_t index_ = 0;  ///< of the request behind `arrival_`
  Arrival arrival_;
  bool done_ = false;
};

}  // namespace mqlab::live
