#include "core/modules/handling.h"

namespace mqlab {
namespace {

/// Share in [0, 1] as a bound on a 64-bit draw.
std::uint64_t bound(double share) {
  return share >= 1.0 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(share * 18446744073709551616.0);
}

}  // namespace

HandlingSettings::HandlingSettings(const StageSpec& stage)
    : service_time(stage.service_time),
      transient_below(bound(stage.failure.transient)),
      poison_below(bound(stage.failure.poison)),
      retry(stage.retry) {}

Duration Handling::backoff(std::uint32_t attempt) const {
  Duration wait = settings_.retry.backoff;
  for (std::uint32_t i = 1; i < attempt; ++i) wait = wait * settings_.retry.multiplier;
  return wait;
}

}  // namespace mqlab
