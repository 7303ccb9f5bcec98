// Durations drawn from a distribution, by integer tables of its quantiles.
#pragma once
#include <array>
#include <cstdint>
#include <memory>

#include "core/base/time.h"
#include "core/base/wide.h"
#include "core/scenario/scenario.h"

namespace mqlab {

/// Cheap to copy. The tables hold the quantiles at multiples of 2^-10, and of 2^-20 in the last thousandth,
/// so that p99.9 and beyond are as good as the middle; between them it interpolates.
class Sampler {
 public:
  Sampler() : Sampler(DurationSpec{}) {}
  explicit Sampler(const DurationSpec& spec);

  /// The same bits give the same duration, everywhere. `bits` uniform over 64 bits.
  Duration sample(std::uint64_t bits) const {
    if (tables_ == nullptr) return constant_;
    const auto slot = static_cast<std::uint32_t>(bits >> 54);
    if (slot < 1023) return between(tables_->body, slot, bits >> 22);
    return between(tables_->tail, (bits >> 44) & 1023, bits >> 12);
  }
  Duration median() const { return tables_ == nullptr ? constant_ : Duration{tables_->body[512]}; }

 private:
  struct Tables {
    std::array<std::int64_t, 1025> body;  ///< quantiles at i / 1024
    std::array<std::int64_t, 1025> tail;  ///< at 1023/1024 + i / 1024²
  };
  static Duration between(const std::array<std::int64_t, 1025>& table, std::uint64_t slot,
                          std::uint64_t bits) {
    const std::int64_t low = table[slot];
    const auto span = static_cast<std::uint64_t>(table[slot + 1] - low);
    return {low + static_cast<std::int64_t>((static_cast<Uint128>(span) * (bits & 0xffff'ffff)) >> 32)};
  }

  Duration constant_ = {};
  std::shared_ptr<const Tables> tables_;
};

}  // namespace mqlab
