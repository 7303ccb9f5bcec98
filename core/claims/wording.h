// Sentences that several claims use.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/claims/claim.h"

namespace mqlab {

/// "1 record", "3 records"
inline std::string counted(std::uint64_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

/// The reason of a finding that is undecided for want of observations alone; marks it so.
inline std::string too_few(Finding& finding, std::uint64_t observed, std::uint64_t at_least,
                           std::string_view noun) {
  finding.vacuous = true;
  return (observed == 0 ? "no " + std::string(noun) + " was"
                        : "only " + counted(observed, noun) + (observed == 1 ? " was" : " were")) +
         " observed, " + std::to_string(at_least) + (at_least == 1 ? " is" : " are") + " needed";
}

inline bool too_uncertain(std::uint64_t unknown, std::uint64_t all, double at_most) {
  return static_cast<double>(unknown) > at_most * static_cast<double>(all);
}

inline std::string uncertain(std::uint64_t unknown, std::uint64_t all) {
  return "whether they were sent is unknown for " + std::to_string(unknown) + " of " + counted(all, "id");
}

}  // namespace mqlab
