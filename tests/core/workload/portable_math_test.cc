#include "core/base/portable_math.h"

#include <gtest/gtest.h>
#include <cmath>

namespace mqlab {
namespace {

TEST(PortableMath, AgreesWithTheLibrary) {
  for (double x = -700; x <= 700; x += 0.37) EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, 1e-13) << x;
  for (double x = 1e-300; x < 1e300; x *= 1.9) {
    EXPECT_NEAR(portable_log(x), std::log(x), 1e-14 * std::max(1.0, std::fabs(std::log(x)))) << x;
  }
  for (double k = 1; k < 1e6; k *= 1.7) EXPECT_NEAR(portable_pow(k, -1.1) / std::pow(k, -1.1), 1, 1e-13);
}

TEST(PortableMath, NormalQuantile) {
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-9);
  EXPECT_NEAR(normal_quantile(0.99), 2.32634787404084, 1e-8);
  EXPECT_NEAR(normal_quantile(0.001), -3.09023230616781, 1e-8);
  for (double p = 0.0001; p < 1; p += 0.0001)
    EXPECT_NEAR(0.5 * std::erfc(-normal_quantile(p) / std::sqrt(2.0)), p, 1e-8);
}

// The same bits on every machine: these were computed once and must never change, or stored seeds change
// meaning.
TEST(PortableMath, BitsAreFixed) {
  EXPECT_EQ(portable_exp(1.5), 0x1.1ed3fe64fc541p+2);
  EXPECT_EQ(portable_log(10.0), 0x1.26bb1bbb55515p+1);
  EXPECT_EQ(normal_quantile(0.975), 0x1.f5c03325b95a6p+0);
}

}  // namespace
}  // namespace mqlab
