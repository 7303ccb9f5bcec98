// Ten thousand random schedules for each broker's model, over all of its experiments: under the sanitizers
// nothing is touched that should not be, no assertion fails, and a schedule that is run again writes the same
// history.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "search/verify.h"
#include "tests/search/small.h"

namespace mqlab::search {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t schedules_at_least = 10'000;

std::vector<std::string> experiments_of(BrokerKind kind) {
  std::vector<std::string> texts;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(MQLAB_SOURCE_DIR) / "experiments")) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    std::ifstream in(file);
    std::ostringstream text;
    text << in.rdbuf();
    if (test::prepared(text.str())->scenario.brokers[0].kind == kind) texts.push_back(text.str());
  }
  return texts;
}

/// Each twice: in a world that has run others before, and in the same again.
void run_twice(const std::string& experiment, std::uint64_t count) {
  const auto setup = test::prepared(experiment);
  Runner runner(*setup, setup->scenario.claims);
  const Candidates candidates = collect(runner, {});
  std::vector<std::uint64_t> hashes;
  for (int pass = 0; pass < 2; ++pass) {
    for (std::uint64_t i = 0; i < count; ++i) {
      runner.run(random_schedule(candidates.count() + 1 + i, {}, candidates, setup->scenario));
      const std::uint64_t hash = runner.history().hash();
      if (pass == 0) {
        hashes.push_back(hash);
      } else {
        ASSERT_EQ(hash, hashes[i]) << setup->scenario.name << ", schedule " << candidates.count() + 1 + i;
      }
    }
  }
}

class RandomSchedules : public testing::TestWithParam<BrokerKind> {};

TEST_P(RandomSchedules, NothingBreaksAndEachRepeatsItself) {
  const std::vector<std::string> experiments = experiments_of(GetParam());
  ASSERT_FALSE(experiments.empty());
  const std::uint64_t each = (schedules_at_least + experiments.size() - 1) / experiments.size();
  for (const std::string& experiment : experiments) run_twice(experiment, each);
}

INSTANTIATE_TEST_SUITE_P(Models, RandomSchedules, testing::Values(BrokerKind::kafka, BrokerKind::nats),
                         [](const auto& kind) { return std::string(name_of(kind.param)); });

}  // namespace
}  // namespace mqlab::search
