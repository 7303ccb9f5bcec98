// Versions of brokers, as far as defaults depend on them.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mqlab {

struct Version {
  std::uint32_t major_number = 0;
  std::uint32_t minor_number = 0;
  std::uint32_t patch = 0;
  constexpr auto operator<=>(const Version&) const = default;
};

/// "4.1", "3.9.1", "4"; empty when it is anything else.
std::optional<Version> parse_version(std::string_view text);

}  // namespace mqlab
