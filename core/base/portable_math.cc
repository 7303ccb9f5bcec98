#include "core/base/portable_math.h"

#include <cmath>  // sqrt only: correctly rounded by IEEE 754

namespace mqlab {
namespace {
constexpr double ln2 = 0.693147180559945309417232121458;
constexpr double sqrt2 = 1.41421356237309504880168872421;
}  // namespace

double portable_exp(double x) {
  const auto halvings = static_cast<int>(x / ln2 + (x < 0 ? -0.5 : 0.5));
  const double r = x - halvings * ln2;  // |r| ≤ ln2 / 2
  double term = 1, sum = 1;
  for (int i = 1; i < 20; ++i) {
    term = term * r / i;
    sum += term;
  }
  for (int i = 0; i < halvings; ++i) sum *= 2;
  for (int i = 0; i > halvings; --i) sum *= 0.5;
  return sum;
}

double portable_log(double x) {
  int doublings = 0;
  for (; x > sqrt2; ++doublings) x *= 0.5;
  for (; x < sqrt2 / 2; --doublings) x *= 2;
  const double y = (x - 1) / (x + 1);  // log x = 2 artanh y, |y| ≤ 0.172
  const double square = y * y;
  double power = y, sum = 0;
  for (int i = 1; i < 30; i += 2) {
    sum += power / i;
    power *= square;
  }
  return 2 * sum + doublings * ln2;
}

double portable_pow(double base, double exponent) { return portable_exp(exponent * portable_log(base)); }

// P. J. Acklam's rational approximation of the inverse normal distribution (2003).
double normal_quantile(double p) {
  constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                          1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                          6.680131188771972e+01, -1.328068155288572e+01};
  constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                          -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                          3.754408661907416e+00};
  constexpr double low = 0.02425;
  if (p < low || p > 1 - low) {
    const double q = std::sqrt(-2 * portable_log(p < low ? p : 1 - p));
    const double z = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
                     ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
    return p < low ? z : -z;
  }
  const double q = p - 0.5;
  const double r = q * q;
  return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
         (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

}  // namespace mqlab
