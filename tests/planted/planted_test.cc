// The search must find planted defects: each in its small scenario, within 30 s of one core. Without the
// defect the same search, and a longer one, finds nothing there: so it is the defect that was found.
#include <gtest/gtest.h>

#include <map>

#include "tests/planted/planted_support.h"

namespace mqlab::test {
namespace {

constexpr std::uint64_t schedules_at_most = 30'000;
constexpr std::uint64_t control_at_least = 1'000 / slower;
constexpr double seconds_at_most = 30 * slower;

class PlantedDefect : public testing::TestWithParam<PlantedCase> {};

TEST_P(PlantedDefect, IsFoundAndNothingWithoutIt) {
  const PlantedCase& c = GetParam();
  const double begin = cpu_seconds();
  std::optional<std::uint64_t> found;
  {
    const Planted planted(c.plant);
    found = hunt(*set_up(c), c, {}, schedules_at_most);
  }
  const double seconds = cpu_seconds() - begin;
  ASSERT_TRUE(found) << "not in " << schedules_at_most << " schedules, " << seconds << " s";
  EXPECT_LT(seconds, seconds_at_most);
  RecordProperty("schedule", std::to_string(*found));
  const auto control = hunt(*set_up(c), c, {}, std::max(control_at_least, *found + 1));
  EXPECT_FALSE(control) << "schedule " << *control << " breaks it without any defect";
}

std::string test_name(const testing::TestParamInfo<PlantedCase>& tested) {
  return std::string(name_of(tested.param.plant));
}

INSTANTIATE_TEST_SUITE_P(All, PlantedDefect, testing::ValuesIn(planted_cases()), test_name);

/// Each switch has its case here, but for the one of order_test.cc.
TEST(PlantedDefects, AreManyAndEachHasItsCase) {
  std::map<Plant, int> cases;
  for (const PlantedCase& c : planted_cases()) ++cases[c.plant];
  EXPECT_GE(cases.size(), 40u);
  for (std::size_t i = 1; i < plant_names.size(); ++i) {
    const auto plant = static_cast<Plant>(i);
    EXPECT_EQ(cases[plant], plant == Plant::nats_order_of_a_thousand ? 0 : 1) << plant_names[i];
  }
}

}  // namespace
}  // namespace mqlab::test
