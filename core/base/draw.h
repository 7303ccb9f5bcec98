// Random draws that depend on what they are for, not on when they are made: a draw is a hash of the seed, its
// purpose and the things it concerns. Dropping one message from a run leaves the draws of all others alone.
#pragma once
#include <cstdint>

#include "core/base/wide.h"

namespace mqlab {

/// What a draw decides. Part of the hash; append only, or every stored seed changes its meaning.
enum class Purpose : std::uint16_t {
  arrival,
  key,
  size,
  digest,
  service_time,
  failure,
  network_latency,
  network_loss,
  fsync,
  write_back,
  retry_jitter,
  partitioner,
  broker_cpu,
  schedule,
  module,
  election,
  tie,
  tombstone,
};

constexpr std::uint64_t mix(
    std::uint64_t x) {  // splitmix64's finaliser: every input bit reaches every output bit
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// 64 uniform bits.
constexpr std::uint64_t draw(std::uint64_t seed, Purpose purpose, std::uint64_t a = 0, std::uint64_t b = 0,
                             std::uint64_t c = 0) {
  return mix(mix(mix(mix(seed ^ (static_cast<std::uint64_t>(purpose) << 48)) ^ a) ^ b) ^ c);
}

/// Uniform in [0, n) from 64 uniform bits; n ≥ 1. (Multiply-shift; the bias is below n / 2^64.)
constexpr std::uint64_t below(std::uint64_t bits, std::uint64_t n) {
  return static_cast<std::uint64_t>((static_cast<Uint128>(bits) * n) >> 64);
}

/// A share in [0, 1] as a bound on 64 uniform bits: so many of them lie below it.
constexpr std::uint64_t share_of(double share) {
  return share >= 1.0 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(share * 18446744073709551616.0);
}

/// A stream of draws for one module: handed over at construction, part of its snapshot.
class RandomStream {
 public:
  explicit constexpr RandomStream(std::uint64_t key = 0) : key_(key) {}
  constexpr std::uint64_t next() { return mix(key_ + 0x9e3779b97f4a7c15 * ++n_); }

 private:
  std::uint64_t key_;
  std::uint64_t n_ = 0;
};

}  // namespace mqlab
