// Key numbers: which of `count` keys a message has.
#pragma once
#include <cstdint>
#include <vector>

#include "core/scenario/scenario.h"

namespace mqlab {

/// Key numbers run from 1 to count; 0 = no key. Zipf: key k has weight k^−skew (key 1 is the hottest).
class KeySampler {
 public:
  explicit KeySampler(const KeySpec& spec);
  /// Key of the `index`-th message of its workload; `bits` uniform. O(1).
  std::uint32_t sample(std::uint64_t index, std::uint64_t bits) const;

 private:
  struct Column {  ///< Walker's alias method: below the bound the column's own key, else the alias
    std::uint64_t bound;
    std::uint32_t alias;
  };
  KeySpec spec_;
  std::vector<Column> columns_;
};

}  // namespace mqlab
