// exp, log and the normal quantile from + − × ÷ and √ alone: IEEE 754 gives these the same bits on every
// machine, which the mathematical library does not promise (it differs with and without fused multiply-add).
#pragma once

namespace mqlab {

/// e^x for |x| ≤ 700; relative error below 1e-14.
double portable_exp(double x);
/// Natural logarithm of x > 0; absolute error below 1e-14 near 1, relative elsewhere.
double portable_log(double x);
/// base^exponent for base > 0.
double portable_pow(double base, double exponent);
/// z with P(Z ≤ z) = p for a standard normal Z; 0 < p < 1; relative error below 2e-9.
double normal_quantile(double p);

}  // namespace mqlab
