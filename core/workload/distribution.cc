#include "core/workload/distribution.h"

#include "core/base/portable_math.h"

namespace mqlab {
namespace {

/// z of the 99th percentile of a standard normal.
constexpr double z99 = 2.32634787404084;

/// The quantile function in nanoseconds; 0 < p < 1.
double quantile(const DurationSpec& spec, double p) {
  const auto a = static_cast<double>(spec.a.ns);
  const auto b = static_cast<double>(spec.b.ns);
  switch (spec.shape) {
    case DurationSpec::Shape::constant:
      return a;
    case DurationSpec::Shape::uniform:
      return a + (b - a) * p;
    case DurationSpec::Shape::exponential:
      return -a * portable_log(1 - p);
    case DurationSpec::Shape::lognormal: {
      const double sigma = (portable_log(b) - portable_log(a)) / z99;
      return portable_exp(portable_log(a) + sigma * normal_quantile(p));
    }
  }
  return a;
}

/// Quantiles beyond the clock's end are cut there.
std::int64_t rounded(double ns) {
  constexpr double most = 4e18;  // well below 2^63, so that sums of two still fit
  return static_cast<std::int64_t>((ns < most ? ns : most) + 0.5);
}

}  // namespace

Sampler::Sampler(const DurationSpec& spec) : constant_(spec.a) {
  const bool certain = spec.shape == DurationSpec::Shape::constant || spec.a.ns <= 0 ||
                       (spec.shape == DurationSpec::Shape::lognormal && spec.b <= spec.a);
  if (certain && spec.shape != DurationSpec::Shape::uniform) return;
  constexpr double grain = 1.0 / (1024.0 * 1024.0);
  auto tables = std::make_shared<Tables>();
  // The very ends of the distribution are cut at half a grain: 2^-21.
  const auto at = [&](double p) {
    return rounded(quantile(spec, p < grain / 2 ? grain / 2 : p > 1 - grain / 2 ? 1 - grain / 2 : p));
  };
  for (std::size_t i = 0; i <= 1024; ++i) {
    tables->body[i] = at(static_cast<double>(i) / 1024.0);
    tables->tail[i] = at(1023.0 / 1024.0 + static_cast<double>(i) * grain);
  }
  tables_ = std::move(tables);
}

}  // namespace mqlab
