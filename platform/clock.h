// The clocks of a live run: one origin for all of its processes, so that their rows compare.
#pragma once
#include <ctime>

#include "core/base/time.h"

namespace mqlab {

/// Nanoseconds of CLOCK_MONOTONIC, the same for every process of the machine.
inline std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

/// Nanoseconds since 1970.
inline std::int64_t wall_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

class RunClock {
 public:
  /// Both origins belong to the same moment, the begin of the run.
  RunClock(std::int64_t monotonic_origin_ns, std::int64_t wall_origin_ns)
      : monotonic_origin_(monotonic_origin_ns), wall_origin_(wall_origin_ns) {}

  Instant mono() const { return {monotonic_ns() - monotonic_origin_}; }
  Instant wall() const { return {wall_ns() - wall_origin_}; }
  /// A wall time as brokers store it → time since the run began.
  Instant from_wall(std::int64_t since_1970_ns) const { return {since_1970_ns - wall_origin_}; }

 private:
  std::int64_t monotonic_origin_;
  std::int64_t wall_origin_;
};

}  // namespace mqlab
