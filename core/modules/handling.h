// What an application does with one message, as far as the lab can know it: how long it takes and whether it
// fails.
#pragma once
#include "core/base/draw.h"
#include "core/modules/registry.h"
#include "core/scenario/scenario.h"
#include "core/workload/distribution.h"

namespace mqlab {

struct HandlingSettings {
  explicit HandlingSettings(const StageSpec& stage);
  Sampler service_time;
  std::uint64_t transient_below;  ///< a 64-bit draw below this fails
  std::uint64_t poison_below;
  RetrySpec retry;
};

class Handling {
 public:
  Handling(const HandlingSettings& settings, const ModuleContext& context)
      : settings_(settings),
        seed_(context.seed),
        process_((std::uint64_t{context.process} << 32) | context.incarnation) {}

  /// Draws depend on the message and on how often this incarnation has tried it, not on when.
  Duration service_time(const Message& m, std::uint32_t attempt) const {
    return settings_.service_time.sample(draw(seed_, Purpose::service_time, process_, m.id, key(m, attempt)));
  }
  bool fails(const Message& m, std::uint32_t attempt) const {
    if (settings_.poison_below > 0 && draw(seed_, Purpose::failure, 0, m.id) < settings_.poison_below)
      return true;
    return settings_.transient_below > 0 &&
           draw(seed_, Purpose::failure, process_ + 1, m.id, key(m, attempt)) < settings_.transient_below;
  }
  const RetrySpec& retry() const { return settings_.retry; }
  /// Before attempt n + 1 (n ≥ 1): backoff × multiplier^(n − 1).
  Duration backoff(std::uint32_t attempt) const;

 private:
  static std::uint64_t key(const Message& m, std::uint32_t attempt) {
    return (std::uint64_t{m.attempt} << 32) | attempt;
  }
  const HandlingSettings& settings_;
  std::uint64_t seed_;
  std::uint64_t process_;
};

}  // namespace mqlab
