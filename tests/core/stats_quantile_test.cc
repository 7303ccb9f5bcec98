#include "core/stats/quantile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/draw.h"

namespace mqlab {
namespace {

TEST(Quantile, RankIsTheLeastThatCoversTheShare) {
  for (const Share q : {Share{1, 2}, Share{9, 10}, Share{99, 100}, Share{999, 1000}, Share{1, 1}}) {
    for (std::uint64_t n = 1; n < 3000; ++n) {
      const std::uint64_t rank = quantile_rank(n, q);
      ASSERT_GE(rank * q.denominator, n * q.numerator);
      ASSERT_TRUE(rank == 1 || (rank - 1) * q.denominator < n * q.numerator);
      ASSERT_LE(rank, n);
    }
  }
}

TEST(Quantile, SamplesOfRanksAreThoseOfTheSortedList) {
  std::vector<std::int64_t> samples;
  for (std::uint64_t i = 0; i < 500; ++i) samples.push_back(static_cast<std::int64_t>(mix(i) % 100));
  std::vector<std::int64_t> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  for (std::uint64_t rank = 1; rank <= sorted.size(); ++rank) {
    ASSERT_EQ(sample_of_rank(samples, rank), sorted[rank - 1]);
  }
  EXPECT_EQ(sample_of_rank(samples, 501), infinite);
  EXPECT_EQ(sample_of_rank({}, 1), infinite);
}

/// Of 2,000 experiments with 1,000 uniform samples the interval must hold the true quantile in 95 of 100,
/// give or take.
TEST(Quantile, IntervalCoversAsOftenAsItSays) {
  for (const Share q : {Share{1, 2}, Share{9, 10}, Share{99, 100}}) {
    int covered = 0;
    const int experiments = 2000;
    RandomStream random(q.numerator);
    for (int e = 0; e < experiments; ++e) {
      std::vector<std::int64_t> samples(1000);
      for (std::int64_t& s : samples) s = static_cast<std::int64_t>(below(random.next(), 1'000'000));
      const RankInterval ranks = quantile_interval(samples.size(), q);
      const auto truth = static_cast<std::int64_t>(1'000'000 * q.numerator / q.denominator);
      covered += sample_of_rank(samples, ranks.low) <= truth && truth <= sample_of_rank(samples, ranks.high);
    }
    EXPECT_GT(covered, experiments * 93 / 100);
    EXPECT_LT(covered, experiments * 99 / 100);
  }
}

TEST(Quantile, IntervalsStayWithinTheSamples) {
  for (std::uint64_t n = 1; n < 200; ++n) {
    for (const Share q : {Share{1, 2}, Share{99, 100}, Share{1, 1}}) {
      const RankInterval ranks = quantile_interval(n, q);
      EXPECT_GE(ranks.low, 1u);
      EXPECT_LE(ranks.low, quantile_rank(n, q));
      EXPECT_GE(ranks.high, quantile_rank(n, q));
      EXPECT_LE(ranks.high, n);
    }
  }
}

}  // namespace
}  // namespace mqlab
