// The requests a workload makes: when, with which key, how large. The same in both worlds.
#pragma once
#include <cstdint>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/scenario/scenario.h"
#include "core/workload/distribution.h"
#include "core/workload/keys.h"

namespace mqlab {

struct Arrival {
  MessageId id = 0;
  Instant intended = {};   ///< since the workload began
  std::uint32_t key = 0;   ///< key number; 0 = none
  std::uint32_t size = 0;  ///< bytes; 0 = a tombstone
  std::uint64_t digest = 0;
};

/// Immutable: the state of a walk is the index and the previous arrival. Draws are keyed by message, so
/// leaving one out changes no other.
class Generator {
 public:
  /// Ids are unique over all workloads of the scenario: workload w's begin behind those of the workloads
  /// before it.
  Generator(const Scenario& scenario, std::uint32_t workload);

  std::uint64_t count() const { return spec_.messages; }
  MessageId first_id() const { return first_id_; }
  /// The `index`-th request (0 ≤ index < count); `previous` is the one before it, ignored for index 0.
  Arrival at(std::uint64_t seed, std::uint64_t index, const Arrival& previous) const;

 private:
  Instant intended(std::uint64_t seed, std::uint64_t index, const Arrival& previous) const;

  WorkloadSpec spec_;
  MessageId first_id_;
  Sampler gap_;  ///< Poisson: between arrivals
  KeySampler keys_;
};

}  // namespace mqlab
