// The loop that all checkers share: most rows are of no interest to a claim and cost it one test.
#pragma once
#include "core/claims/claim.h"
#include "core/claims/end_phase.h"

namespace mqlab {

/// Derived has `void see(const Row&, std::uint64_t index)` and sets kinds_.
template <class Derived>
class RowChecker : public Checker {
 public:
  void observe(std::span<const Row> rows) final {
    for (const Row& row : rows) {
      if ((kinds_ >> static_cast<unsigned>(row.kind) & 1) != 0) static_cast<Derived*>(this)->see(row, index_);
      ++index_;
    }
  }

 protected:
  std::uint64_t kinds_ = 0;
  std::uint64_t index_ = 0;  ///< of the next row
};

}  // namespace mqlab
