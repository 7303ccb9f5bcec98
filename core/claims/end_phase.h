// Whether the end phase was seen whole: the run came to rest, every place concerned was audited to its end,
// and no reading is missing rows. A claim whose evidence is cut short must not hold.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/claims/scope.h"

namespace mqlab {

constexpr std::uint64_t bit(Kind kind) { return std::uint64_t{1} << static_cast<unsigned>(kind); }

class EndPhase {
 public:
  explicit EndPhase(const Scope& scope);

  /// Rows it wants to see.
  std::uint64_t kinds() const;
  void see(const Row& row, std::uint64_t index);
  bool complete() const;
  /// One sentence why it is not complete(); empty when it is.
  std::string problem(const Scope& scope) const;
  std::uint64_t quiet_row() const { return quiet_row_; }
  void reset();

 private:
  struct Place {
    std::int64_t found = 0;      // audit rows seen
    std::int64_t announced = 0;  // audit rows there are, by the audit_end row
    std::int64_t last = -1;
    bool ended = false, failed = false, disordered = false;
    bool complete() const { return ended && !failed && !disordered && found == announced; }
  };
  void see_reading(const Row& row);

  std::vector<std::uint8_t> concerned_;
  std::vector<PlaceId> places_;  // those concerned
  std::vector<Place> audits_;    // by place
  ProcessId observer_;
  PlaceId store_ = no_place;     // rows of a store have no order
  std::int64_t batch_open_ = 0;  // records of the observer's batch still to come
  bool batch_short_ = false;
  bool quiet_ = false, restless_ = false;
  std::uint64_t quiet_row_ = 0;
};

}  // namespace mqlab
