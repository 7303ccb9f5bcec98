// Modules led through the scripts of tests/golden/modules. MQLAB_REWRITE_GOLDEN=1 writes their answers anew,
// to be reviewed as a diff.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/core/modules/script.h"

namespace {

namespace fs = std::filesystem;
const fs::path folder = fs::path(MQLAB_SOURCE_DIR) / "tests/golden/modules";

std::string read(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> scripts() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, AnswersAsWritten) {
  const fs::path file = folder / (GetParam() + ".txt");
  const std::string script = read(file);
  const std::string answer = mqlab::test::play(script);
  if (std::getenv("MQLAB_REWRITE_GOLDEN") != nullptr) std::ofstream(file) << answer;
  EXPECT_EQ(answer, script);
}

INSTANTIATE_TEST_SUITE_P(Modules, Golden, testing::ValuesIn(scripts()),
                         [](const auto& test) { return test.param; });

}  // namespace
