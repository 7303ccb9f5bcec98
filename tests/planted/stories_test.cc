// Stories are short, made in seconds, and true: run again from what is stored they break the claim by the
// same rows, every time.
#include "tests/planted/stories.h"

#include <gtest/gtest.h>

namespace mqlab::test {
namespace {

constexpr double seconds_at_most = 10 * slower;
constexpr int replays = 100;

class Story : public testing::TestWithParam<PlantedCase> {};

TEST_P(Story, IsShortAndTrue) {
  const PlantedCase& c = GetParam();
  const Planted planted(c.plant);
  const auto told = story_of(c);
  ASSERT_TRUE(told);
  EXPECT_LE(told->story.schedule.faults.size(), 2u);
  EXPECT_LE(told->story.messages_after, messages_needed(c));
  EXPECT_LT(told->seconds, seconds_at_most);
  EXPECT_GE(told->story.story.size(), 2u);
  EXPECT_EQ(same_witness(told->story, told->claim, replays), replays);
}

/// All; where they take long, some.
std::vector<PlantedCase> some_cases() {
  const std::vector<PlantedCase> all = story_cases();
  std::vector<PlantedCase> some;
  for (std::size_t i = 0; i<all.size(); i += slower> 1 ? 3 : 1) some.push_back(all[i]);
  return some;
}

std::string test_name(const testing::TestParamInfo<PlantedCase>& tested) {
  std::string name = story_name(tested.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Story, testing::ValuesIn(some_cases()), test_name);

}  // namespace
}  // namespace mqlab::test
