// A schedule: everything that tells one run of a scenario from another.
#pragma once
#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/scenario/scenario.h"

namespace mqlab {

/// At the `choice`-th moment at which several messages are in flight to one process (counted from 0; see
/// sim/order.h), the `pick`-th of them arrives first: 1 is the one that would have come next.
struct Overtake {
  std::uint32_t choice = 0;
  std::uint32_t pick = 1;
  bool operator==(const Overtake&) const = default;
};

struct Schedule {
  std::uint64_t seed = 1;
  std::vector<FaultSpec> faults;  ///< in order; fault k + 1 arms once k was carried out
  std::vector<MessageId> masked;  ///< sorted; these requests are never made, all others keep their draws
  bool zero_jitter = false;       ///< every network delay is its median
  /// Key of the draws that break ties between processes and let messages overtake each other; 0: what is due
  /// at one instant happens in the order it was scheduled, and messages arrive as their delays say.
  std::uint64_t order = 0;
  std::vector<Overtake> overtakes;  ///< by rising choice; of no effect where `order` draws
};

}  // namespace mqlab
