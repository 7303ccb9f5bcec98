#include "core/workload/generator.h"

#include <gtest/gtest.h>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "core/base/draw.h"

namespace mqlab {
namespace {

Scenario scenario(const WorkloadSpec& spec, std::uint64_t before = 0) {
  Scenario s;
  if (before > 0) {
    WorkloadSpec first;
    first.messages = before;
    s.workloads.push_back(first);
  }
  s.workloads.push_back(spec);
  return s;
}

std::vector<Arrival> all(const Scenario& s, std::uint64_t seed = 1) {
  const Generator g(s, static_cast<std::uint32_t>(s.workloads.size() - 1));
  std::vector<Arrival> list;
  Arrival previous;
  for (std::uint64_t i = 0; i < g.count(); ++i) list.push_back(previous = g.at(seed, i, previous));
  return list;
}

WorkloadSpec spec_of(std::uint64_t messages, double rate = 1000) {
  WorkloadSpec w;
  w.messages = messages;
  w.rate = rate;
  return w;
}

TEST(Generator, ConstantRate) {
  const auto a = all(scenario(spec_of(1000, 2000)));
  EXPECT_EQ(a.front().id, 1u);
  EXPECT_EQ(a.front().intended.ns, 0);
  EXPECT_EQ(a[1].intended.ns, 500'000);
  EXPECT_EQ(a[999].intended.ns, 999 * 500'000);
  EXPECT_EQ(a[7].size, 1024u);
  EXPECT_EQ(a[7].key, 0u);
  const auto third = all(scenario(spec_of(4, 3)));
  EXPECT_EQ(third[3].intended.ns, 1'000'000'000) << "no rounding adds up";
}

TEST(Generator, IdsAreUniqueOverWorkloads) {
  const auto a = all(scenario(spec_of(5), 100));
  EXPECT_EQ(a.front().id, 101u);
  EXPECT_EQ(a.back().id, 105u);
}

TEST(Generator, PoissonHasItsRateAndItsVariance) {
  WorkloadSpec w = spec_of(200'000, 1000);
  w.arrival.kind = ArrivalSpec::Kind::poisson;
  const auto a = all(scenario(w));
  EXPECT_NEAR(a.back().intended.ns / 1e9, 200, 2);
  std::map<std::int64_t, int> per_second;
  for (const Arrival& x : a) ++per_second[x.intended.ns / 1'000'000'000];
  double variance = 0;
  for (int s = 0; s < 190; ++s) variance += std::pow(per_second[s] - 1000.0, 2) / 190;
  EXPECT_NEAR(variance, 1000, 350);
}

TEST(Generator, BurstsComeTogetherAndKeepTheRate) {
  WorkloadSpec w = spec_of(100, 1000);
  w.arrival = {ArrivalSpec::Kind::bursts, 10};
  const auto a = all(scenario(w));
  EXPECT_EQ(a[0].intended, a[9].intended);
  EXPECT_EQ(a[10].intended.ns, 10'000'000);
  EXPECT_EQ(a[99].intended.ns, 90'000'000);
}

TEST(Generator, DrawsAreKeyedByMessage) {
  WorkloadSpec w = spec_of(1000);
  w.keys = {KeySpec::Kind::uniform, 50, 1};
  w.size = {100, 2000};
  const auto a = all(scenario(w), 7), b = all(scenario(w), 7), c = all(scenario(w), 8);
  const Generator g(scenario(w), 0);
  int differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].digest, b[i].digest);
    const Arrival alone = g.at(7, i, Arrival{});  // without those before it
    EXPECT_EQ(alone.key, a[i].key);
    EXPECT_EQ(alone.size, a[i].size);
    EXPECT_EQ(alone.digest, a[i].digest);
    differ += a[i].digest != c[i].digest;
    EXPECT_GE(a[i].size, 100u);
    EXPECT_LE(a[i].size, 2000u);
    EXPECT_GE(a[i].key, 1u);
    EXPECT_LE(a[i].key, 50u);
  }
  EXPECT_EQ(differ, 1000);
}

TEST(Keys, RoundRobinAndNone) {
  const KeySampler keys({KeySpec::Kind::round_robin, 3, 1});
  EXPECT_EQ(keys.sample(0, 99), 1u);
  EXPECT_EQ(keys.sample(2, 99), 3u);
  EXPECT_EQ(keys.sample(3, 99), 1u);
  EXPECT_EQ(KeySampler({}).sample(5, 5), 0u);
}

TEST(Keys, ZipfFrequencies) {
  constexpr int n = 2'000'000;
  constexpr std::uint32_t count = 100;
  const KeySampler keys({KeySpec::Kind::zipf, count, 1.1});
  std::vector<int> seen(count + 1);
  for (std::uint64_t i = 0; i < n; ++i) ++seen[keys.sample(i, mix(i))];
  EXPECT_EQ(seen[0], 0);
  double sum = 0;
  for (std::uint32_t k = 1; k <= count; ++k) sum += std::pow(k, -1.1);
  for (std::uint32_t k = 1; k <= count; ++k) {
    const double expected = n * std::pow(k, -1.1) / sum;
    EXPECT_NEAR(seen[k], expected, 5 * std::sqrt(expected)) << k;
  }
}

TEST(Keys, ZipfWithAMillionKeysAndNoSkew) {
  const KeySampler keys({KeySpec::Kind::zipf, 1'000'000, 0});
  std::set<std::uint32_t> seen;
  for (std::uint64_t i = 0; i < 1000; ++i) seen.insert(keys.sample(i, mix(i)));
  EXPECT_GT(seen.size(), 990u);
}

}  // namespace
}  // namespace mqlab
