#include "core/workload/distribution.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/draw.h"

namespace mqlab {
namespace {

using Shape = DurationSpec::Shape;

std::vector<std::int64_t> sorted_samples(const DurationSpec& spec, int n) {
  const Sampler sampler(spec);
  std::vector<std::int64_t> samples;
  for (int i = 0; i < n; ++i) samples.push_back(sampler.sample(mix(static_cast<std::uint64_t>(i))).ns);
  std::sort(samples.begin(), samples.end());
  return samples;
}

double quantile(const std::vector<std::int64_t>& sorted, double q) {
  return static_cast<double>(sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size()))]);
}

double mean(const std::vector<std::int64_t>& samples) {
  double sum = 0;
  for (const auto s : samples) sum += static_cast<double>(s);
  return sum / static_cast<double>(samples.size());
}

TEST(Sampler, Constant) {
  const Sampler s(DurationSpec{Shape::constant, Duration::micros(7), {}});
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(s.sample(mix(i)), Duration::micros(7));
  EXPECT_EQ(Sampler().sample(~0ull), Duration{});
}

TEST(Sampler, Uniform) {
  const auto s = sorted_samples({Shape::uniform, Duration::micros(100), Duration::micros(300)}, 200'000);
  EXPECT_GE(s.front(), 100'000);
  EXPECT_LE(s.back(), 300'000);
  EXPECT_NEAR(mean(s), 200'000, 500);
  EXPECT_NEAR(quantile(s, 0.25), 150'000, 1000);
  const auto zero = sorted_samples({Shape::uniform, {}, Duration::nanos(1)}, 1000);
  EXPECT_EQ(zero.front(), 0);
}

TEST(Sampler, Exponential) {
  const auto s = sorted_samples({Shape::exponential, Duration::millis(1), {}}, 1'000'000);
  EXPECT_NEAR(mean(s), 1e6, 4e3);
  for (const double q : {0.1, 0.5, 0.9, 0.99, 0.999, 0.9999}) {
    EXPECT_NEAR(quantile(s, q) / (-1e6 * std::log(1 - q)), 1, q > 0.999 ? 0.1 : 0.02) << q;
  }
}

TEST(Sampler, LognormalHasItsTwoQuantiles) {
  const auto s = sorted_samples({Shape::lognormal, Duration::millis(2), Duration::millis(9)}, 1'000'000);
  EXPECT_NEAR(quantile(s, 0.5), 2e6, 1e4);
  EXPECT_NEAR(quantile(s, 0.99), 9e6, 1e5);
  const double sigma = std::log(4.5) / 2.32634787404084;
  EXPECT_NEAR(quantile(s, 0.999) / (2e6 * std::exp(sigma * 3.09023230616781)), 1, 0.03);
  EXPECT_EQ(Sampler(DurationSpec{Shape::lognormal, Duration::millis(2), Duration::millis(2)}).sample(~0ull),
            Duration::millis(2));
}

TEST(Sampler, RisesWithItsBits) {
  for (const DurationSpec& spec :
       {DurationSpec{Shape::uniform, {}, Duration::seconds(1)},
        DurationSpec{Shape::exponential, Duration::seconds(1), {}},
        DurationSpec{Shape::lognormal, Duration::millis(1), Duration::seconds(1)}}) {
    const Sampler sampler(spec);
    Duration last = sampler.sample(0);
    EXPECT_GE(last.ns, 0);
    for (std::uint64_t i = 1; i < 100'000; ++i) {
      const Duration next = sampler.sample(i * (~0ull / 100'000));
      ASSERT_GE(next, last);
      last = next;
    }
  }
}

TEST(Sampler, WidestSpansStayInRange) {
  const Sampler s(DurationSpec{Shape::lognormal, Duration::nanos(1), Duration{Duration::forever().ns - 1}});
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_GE(s.sample(~(i << 40)).ns, 0);
  EXPECT_LE(s.sample(~0ull).ns, 4'000'000'000'000'000'001);
}

}  // namespace
}  // namespace mqlab
