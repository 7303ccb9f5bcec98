// How fast one client writes to, or reads from, one node, and how long it has to wait to be within its quota.
#pragma once
#include <cstdint>

#include "core/base/arena.h"
#include "core/base/time.h"

namespace mqlab::sim::kafka {

/// The rate as Kafka measures it: the sum over the latest windows, by the time since the oldest of them
/// began; a window is only begun by a record, and without enough of them whole ones are taken as if they had
/// been. [kafka: org.apache.kafka.common.metrics.stats.Rate, SampledStat, WindowedSum] In whole milliseconds,
/// as the broker's clock has them, and integers: Kafka's doubles round to the same millisecond.
class SampledRate {
 public:
  /// `samples` windows count, the one that is open with them.
  SampledRate(Arena& arena, std::uint32_t samples, Duration window)
      : samples_(arena), most_(samples), window_(window.ns / 1'000'000) {}

  void record(std::int64_t bytes, Instant now);
  /// What brings the rate back to `quota` bytes per second when nothing more is recorded, in whole
  /// milliseconds; 0 within the quota. [kafka: QuotaUtils.throttleTime]
  Duration throttle(std::uint64_t quota, Instant now);

 private:
  struct Sample {
    std::int64_t start = 0, last = 0;  ///< ms
    std::int64_t bytes = 0;
  };
  Sample& current(std::int64_t now);
  void purge(std::int64_t now);

  Vec<Sample> samples_;  ///< one more than count: the oldest may overlap the time that is looked at
  std::uint32_t most_;
  std::uint32_t at_ = 0;
  std::int64_t window_;  ///< ms
};

/// Of one client at one node. Gone with the node's process.
struct ClientRates {
  ClientRates(Arena& arena, std::uint32_t samples, Duration window)
      : produced(arena, samples, window), fetched(arena, samples, window) {}
  SampledRate produced;
  SampledRate fetched;
};

}  // namespace mqlab::sim::kafka
