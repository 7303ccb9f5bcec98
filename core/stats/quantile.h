// Exact quantiles of collected samples, with the interval that the order statistics give: no assumption on
// the distribution, only that samples are many.
#pragma once
#include <cstdint>
#include <limits>
#include <span>

namespace mqlab {

/// A share q of samples as an exact fraction: p99 = 99/100.
struct Share {
  std::uint64_t numerator = 1;
  std::uint64_t denominator = 2;  ///< ≥ numerator, > 0
};

inline constexpr std::int64_t infinite = std::numeric_limits<std::int64_t>::max();

/// Ranks count from 1. The quantile of n ≥ 1 samples is the sample of rank ⌈q n⌉ (at least 1).
std::uint64_t quantile_rank(std::uint64_t n, Share q);

struct RankInterval {
  std::uint64_t low = 1, high = 1;
};
/// Ranks between which the true quantile lies in 95 of 100 cases: the binomial's mean ± 1.96 standard
/// deviations.
RankInterval quantile_interval(std::uint64_t n, Share q);

/// The sample of a rank, those beyond the last being `infinite`. Reorders the samples.
std::int64_t sample_of_rank(std::span<std::int64_t> samples, std::uint64_t rank);

}  // namespace mqlab
