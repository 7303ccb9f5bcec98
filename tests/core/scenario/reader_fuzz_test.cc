// Whatever a file holds, the reader answers with a scenario or with a ScenarioError on one line; so many
// mutations of good files, always the same ones.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "core/modules/registry.h"
#include "core/scenario/reader.h"
#include "tests/core/mutator.h"
#include "tests/core/scenario/example.h"
#include "tests/core/scenario/experiments.h"

namespace mqlab {
namespace {

using testing::Mutator;

constexpr int mutations = 20'000;

void must_answer(const std::string& toml, const std::vector<Override>& changes) {
  try {
    const Scenario s = read_scenario(toml, "fuzz.toml", changes);
    const std::string complete = to_toml(s);
    ASSERT_EQ(to_toml(read_scenario(complete, "fuzz.toml")), complete) << toml;
  } catch (const ScenarioError& e) {
    ASSERT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    ASSERT_FALSE(e.problem.empty());
  }
}

TEST(ReaderFuzz, Files) {
  const std::vector<std::string> seeds = {testing::minimal, testing::full};
  for (int i = 0; i < mutations; ++i) {
    must_answer(Mutator(static_cast<std::uint64_t>(i), testing::toml_tokens())
                    .mutate(seeds[static_cast<std::size_t>(i) % seeds.size()]),
                {});
    if (HasFatalFailure()) FAIL() << "mutation " << i;
  }
}

TEST(ReaderFuzz, Experiments) {
  publish_module_catalog();
  const auto files = testing::experiments();
  const int done = testing::for_a_while(mutations / 2, 10, [&](int i) {
    if (HasFatalFailure()) return;
    const auto n = static_cast<std::size_t>(i);
    SCOPED_TRACE(i);
    must_answer(
        Mutator(n + 2'000'000, testing::toml_tokens()).mutate(testing::text_of(files[n % files.size()])), {});
  });
  EXPECT_GE(done, 200);
}

TEST(ReaderFuzz, Overrides) {
  const std::vector<std::string> paths = {
      "stages.embed.instances",     "broker.properties.min.insync.replicas",
      "claims.latency.p99.at_most", "fault.at.nth",
      "topics.vectors.partitions",  "workload.keys.count",
      "network.latency.p50"};
  const std::vector<std::string> values = {"5", "\"5s\"", "[1, 2]", "{ a = 1 }", "true", "sync"};
  for (int i = 0; i < mutations / 4; ++i) {
    Mutator mutator(static_cast<std::uint64_t>(i) + 1'000'000, testing::toml_tokens());
    const auto n = static_cast<std::size_t>(i);
    must_answer(testing::full,
                {{mutator.mutate(paths[n % paths.size()]), mutator.mutate(values[n % values.size()])}});
    if (HasFatalFailure()) FAIL() << "mutation " << i;
  }
}

}  // namespace
}  // namespace mqlab
