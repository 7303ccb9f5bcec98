// Whatever a scenario's file says that its reader takes, the simulation runs it or refuses it on one line; so
// many damaged experiments, always the same ones, under schedules as a counterexample's file may hold them.
#include <gtest/gtest.h>

#include "core/base/draw.h"
#include "core/modules/registry.h"
#include "core/scenario/error.h"
#include "core/scenario/reader.h"
#include "search/runner.h"
#include "tests/core/mutator.h"
#include "tests/core/scenario/experiments.h"

namespace mqlab::search {
namespace {

constexpr int mutations = 8'000;
constexpr double seconds_at_most = 15;
constexpr std::uint64_t steps_at_most = 3'000;

/// Anything a file's [counterexample] table can say.
Schedule any_schedule(std::uint64_t seed) {
  RandomStream random(seed);
  Schedule schedule;
  schedule.seed = random.next();
  schedule.order = below(random.next(), 2) == 0 ? 0 : random.next();
  schedule.zero_jitter = below(random.next(), 2) == 0;
  for (std::uint64_t n = below(random.next(), 3); n > 0; --n)
    schedule.masked.push_back(static_cast<MessageId>(below(random.next(), 40)));
  std::sort(schedule.masked.begin(), schedule.masked.end());
  for (std::uint64_t n = below(random.next(), 3); n > 0; --n)
    schedule.overtakes.push_back({static_cast<std::uint32_t>(below(random.next(), 50)),
                                  static_cast<std::uint32_t>(below(random.next(), 5))});
  return schedule;
}

TEST(Fuzz, DamagedExperimentsRunOrAreRefused) {
  publish_module_catalog();
  std::vector<std::string> texts;
  for (const auto& file : testing::experiments()) texts.push_back(testing::text_of(file));
  int ran = 0;
  const int done = testing::for_a_while(mutations, seconds_at_most, [&](int i) {
    const auto n = static_cast<std::size_t>(i);
    SCOPED_TRACE(i);
    try {
      const std::string text = testing::Mutator(n, testing::toml_tokens()).mutate(texts[n % texts.size()]);
      const sim::Setup setup(read_scenario(text, "fuzz.toml"));
      Runner runner(setup, setup.scenario.claims);
      runner.begin(any_schedule(n));
      for (std::uint64_t step = 0; step < steps_at_most && runner.world().step(); ++step) {
      }
      ++ran;
    } catch (const ScenarioError& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    }
  });
  EXPECT_GE(done, 100);
  EXPECT_GT(ran, done / 20);
}

}  // namespace
}  // namespace mqlab::search
