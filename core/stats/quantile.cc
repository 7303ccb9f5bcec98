#include "core/stats/quantile.h"

#include <algorithm>
#include <cmath>

namespace mqlab {

std::uint64_t quantile_rank(std::uint64_t n, Share q) {
  const std::uint64_t rank = (n * q.numerator + q.denominator - 1) / q.denominator;
  return std::max<std::uint64_t>(rank, 1);
}

RankInterval quantile_interval(std::uint64_t n, Share q) {
  const double share = static_cast<double>(q.numerator) / static_cast<double>(q.denominator);
  const double mean = static_cast<double>(n) * share;
  const double reach =
      1.96 * std::sqrt(mean * (1 - share));  // sqrt is exact by IEEE 754, unlike the rest of libm
  const double low = std::max(1.0, mean - reach);
  const double high = std::min(static_cast<double>(n), mean + reach + 1);
  return {static_cast<std::uint64_t>(low), std::max<std::uint64_t>(static_cast<std::uint64_t>(high), 1)};
}

std::int64_t sample_of_rank(std::span<std::int64_t> samples, std::uint64_t rank) {
  if (rank == 0 || rank > samples.size()) return infinite;
  const auto nth = samples.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(samples.begin(), nth, samples.end());
  return *nth;
}

}  // namespace mqlab
