// The same scenario and seed give one history hash in every build. MQLAB_HASHES names a file: the first build
// that runs this test writes its hashes there, every other compares (scripts/test: release, then sanitizers).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "search/verify.h"
#include "tests/search/small.h"

namespace mqlab::search {
namespace {

namespace fs = std::filesystem;
const fs::path root = MQLAB_SOURCE_DIR;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Of the run without faults, and of two with.
std::string hashes_of(const fs::path& experiment) {
  const auto setup = test::prepared(text_of(experiment));
  Runner runner(*setup, setup->scenario.claims);
  const Candidates candidates = collect(runner, {});
  std::ostringstream out;
  for (const std::uint64_t number : {std::uint64_t{0}, candidates.count() / 2, candidates.count() + 5}) {
    runner.run(number <= candidates.count() ? single_fault(number, 1, candidates)
                                            : random_schedule(number, {}, candidates, setup->scenario));
    out << ' ' << std::hex << runner.history().hash();
  }
  return out.str();
}

TEST(Hash, IsTheSameInEveryBuild) {
  std::vector<fs::path> experiments;
  for (const auto& entry : fs::directory_iterator(root / "experiments")) experiments.push_back(entry.path());
  std::sort(experiments.begin(), experiments.end());
  std::string now;
  for (const fs::path& path : experiments) {
    if (path.extension() == ".toml") now += path.stem().string() + hashes_of(path) + "\n";
  }
  ASSERT_FALSE(now.empty());
  const char* shared = std::getenv("MQLAB_HASHES");
  if (shared != nullptr && fs::exists(shared)) {
    EXPECT_EQ(now, text_of(shared)) << "another build of the same sources had other histories";
  } else if (shared != nullptr) {
    std::ofstream(shared) << now;
  }
}

}  // namespace
}  // namespace mqlab::search
