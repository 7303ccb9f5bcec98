// A defect that one order in a thousand shows: two producers, six messages each in flight at once, and a
// server that loses a message only when all of the second's came before the first's (1 of 924 orders).
#include <gtest/gtest.h>

#include "search/exhaustive.h"
#include "tests/planted/planted_support.h"
#include "tests/search/small.h"

namespace mqlab::test {
namespace {

TEST(PlantedOrder, OneInAThousandIsFoundByTheExhaustiveSearch) {
  const Planted planted(Plant::nats_order_of_a_thousand);
  publish_module_catalog();
  const sim::Setup setup(read_scenario(in_flight(2, 12), "in-flight"));
  search::Options options;
  options.schedules = 100'000;
  const search::Exhaustive all = search::verify_all(setup, options);
  EXPECT_TRUE(all.complete);
  EXPECT_EQ(all.report.schedules, 924u);
  ASSERT_EQ(all.report.claims[0].verdict, Verdict::violated);
  EXPECT_EQ(all.report.claims[0].violations, 1u);
}

}  // namespace
}  // namespace mqlab::test
