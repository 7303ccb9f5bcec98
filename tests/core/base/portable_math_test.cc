#include "core/base/portable_math.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mqlab {
namespace {

TEST(PortableMath, AgreesWithTheLibrary) {
  for (double x = -40; x < 40; x += 0.37) EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, 2e-14) << x;
  for (double x = 1e-9; x < 1e12; x *= 1.7)
    EXPECT_NEAR(portable_log(x), std::log(x), 1e-13 * (1 + std::abs(std::log(x)))) << x;
  EXPECT_NEAR(portable_pow(7, -1.1), std::pow(7, -1.1), 1e-14);
}

TEST(PortableMath, NormalQuantiles) {  // Abramowitz and Stegun, table 26.5 and the well-known percentiles
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-9);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-8);
  EXPECT_NEAR(normal_quantile(0.99), 2.326347874040841, 1e-8);
  EXPECT_NEAR(normal_quantile(0.001), -3.090232306167813, 1e-8);
}

TEST(PortableMath, SameBitsEverywhere) {  // values of the first machine, to the bit
  EXPECT_EQ(portable_exp(1.0), 0x1.5bf0a8b145768p+1);
  EXPECT_EQ(portable_log(10.0), 0x1.26bb1bbb55515p+1);
}

}  // namespace
}  // namespace mqlab
