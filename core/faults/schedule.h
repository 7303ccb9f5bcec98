// A schedule: everything that tells one run of a scenario from another.
#pragma once
#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/scenario/scenario.h"

namespace mqlab {

struct Schedule {
  std::uint64_t seed = 1;
  std::vector<FaultSpec> faults;  ///< in order; fault k + 1 arms once k was carried out
  std::vector<MessageId> masked;  ///< sorted; these requests are never made, all others keep their draws
  bool zero_jitter = false;       ///< every network delay is its median
};

}  // namespace mqlab
