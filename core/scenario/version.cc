#include "core/scenario/version.h"

#include <array>

namespace mqlab {

std::optional<Version> parse_version(std::string_view text) {
  std::array<std::uint32_t, 3> numbers{};
  std::size_t count = 0;
  bool digit = false;
  for (const char c : text) {
    if (c == '.') {
      if (!digit || ++count == numbers.size()) return std::nullopt;
      digit = false;
    } else if (c >= '0' && c <= '9' && numbers[count] < 100'000) {
      numbers[count] = numbers[count] * 10 + static_cast<std::uint32_t>(c - '0');
      digit = true;
    } else {
      return std::nullopt;
    }
  }
  if (!digit) return std::nullopt;
  return Version{numbers[0], numbers[1], numbers[2]};
}

}  // namespace mqlab
