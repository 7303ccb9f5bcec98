#include "sim/brokers/kafka/quota.h"

#include <algorithm>

#include "core/base/wide.h"

namespace mqlab::sim::kafka {
namespace {

std::int64_t milliseconds(Instant now) { return now.ns / 1'000'000; }

}  // namespace

SampledRate::Sample& SampledRate::current(std::int64_t now) {
  if (samples_.empty()) samples_.push_back({now, now, 0});
  if (now - samples_[at_].start < window_) return samples_[at_];
  at_ = (at_ + 1) % (most_ + 1);
  if (at_ == samples_.size()) samples_.push_back({});
  return samples_[at_] = {now, now, 0};
}

void SampledRate::record(std::int64_t bytes, Instant at) {
  const std::int64_t now = milliseconds(at);
  Sample& sample = current(now);
  sample.bytes += bytes;
  sample.last = now;
}

/// Windows without a record in the time that is looked at begin anew, empty.
void SampledRate::purge(std::int64_t now) {
  for (Sample& sample : samples_) {
    if (now - sample.last >= most_ * window_) sample = {now, now, 0};
  }
}

Duration SampledRate::throttle(std::uint64_t quota, Instant at) {
  const std::int64_t now = milliseconds(at);
  purge(now);
  std::int64_t bytes = 0, oldest = now;
  for (const Sample& sample : samples_) {
    bytes += sample.bytes;
    oldest = std::min(oldest, sample.start);
  }
  std::int64_t elapsed = now - oldest;
  elapsed += std::max<std::int64_t>(most_ - 1 - elapsed / window_, 0) * window_;
  elapsed = std::max<std::int64_t>(elapsed, 1);
  // (rate − quota) ÷ quota × elapsed, with rate = bytes ÷ elapsed
  const Uint128 seen = static_cast<Uint128>(std::max<std::int64_t>(bytes, 0)) * 1000;
  const Uint128 allowed = static_cast<Uint128>(quota) * static_cast<std::uint64_t>(elapsed);
  if (seen <= allowed) return {};
  const Uint128 rounded = (2 * (seen - allowed) + quota) / (2 * static_cast<Uint128>(quota));
  return Duration::millis(static_cast<std::int64_t>(rounded));
}

}  // namespace mqlab::sim::kafka
