#include "core/workload/keys.h"

#include "core/base/draw.h"
#include "core/base/portable_math.h"

namespace mqlab {

KeySampler::KeySampler(const KeySpec& spec) : spec_(spec) {
  if (spec.kind != KeySpec::Kind::zipf) return;
  const std::size_t n = spec.count;
  std::vector<double> share(n);
  double sum = 0;
  for (std::size_t k = 0; k < n; ++k) sum += share[k] = portable_pow(static_cast<double>(k + 1), -spec.skew);
  std::vector<std::uint32_t> small, large;
  for (std::size_t k = 0; k < n; ++k) {
    share[k] = share[k] / sum * static_cast<double>(n);
    (share[k] < 1 ? small : large).push_back(static_cast<std::uint32_t>(k));
  }
  columns_.resize(n);
  for (std::uint32_t k = 0; k < n; ++k) columns_[k] = {~std::uint64_t{0}, k};
  while (!small.empty() && !large.empty()) {
    const std::uint32_t poor = small.back(), rich = large.back();
    small.pop_back();
    columns_[poor] = {static_cast<std::uint64_t>(share[poor] * 18446744073709549568.0), rich};
    share[rich] -= 1 - share[poor];
    if (share[rich] < 1) {
      large.pop_back();
      small.push_back(rich);
    }
  }
}

std::uint32_t KeySampler::sample(std::uint64_t index, std::uint64_t bits) const {
  switch (spec_.kind) {
    case KeySpec::Kind::none:
      return 0;
    case KeySpec::Kind::round_robin:
      return static_cast<std::uint32_t>(index % spec_.count) + 1;
    case KeySpec::Kind::uniform:
      return static_cast<std::uint32_t>(below(bits, spec_.count)) + 1;
    case KeySpec::Kind::zipf:
      break;
  }
  const auto column = static_cast<std::uint32_t>(below(bits, spec_.count));
  return (mix(bits) < columns_[column].bound ? column : columns_[column].alias) + 1;
}

}  // namespace mqlab
