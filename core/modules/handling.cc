#include "core/modules/handling.h"

namespace mqlab {

HandlingSettings::HandlingSettings(const StageSpec& stage)
    : service_time(stage.service_time),
      transient_below(share_of(stage.failure.transient)),
      poison_below(share_of(stage.failure.poison)),
      retry(stage.retry) {}

Duration Handling::backoff(std::uint32_t attempt) const {
  Duration wait = settings_.retry.backoff;
  for (std::uint32_t i = 1; i < attempt; ++i) wait = wait * settings_.retry.multiplier;
  return wait;
}

}  // namespace mqlab
