#include "core/scenario/units.h"

#include <array>
#include <charconv>
#include <span>

#include "core/base/wide.h"

namespace mqlab {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// Longest names first where one begins another.
constexpr std::array<Unit, 9> time_units = {{{"ns", 1},
                                             {"us", 1'000},
                                             {"µs", 1'000},
                                             {"ms", 1'000'000},
                                             {"s", 1'000'000'000},
                                             {"min", 60'000'000'000},
                                             {"m", 60'000'000'000},
                                             {"h", 3'600'000'000'000},
                                             {"d", 86'400'000'000'000}}};
constexpr std::array<Unit, 9> byte_units = {{{"KiB", 1024},
                                             {"MiB", 1024 * 1024},
                                             {"GiB", 1024 * 1024 * 1024},
                                             {"TiB", 1024ull * 1024 * 1024 * 1024},
                                             {"KB", 1000},
                                             {"MB", 1'000'000},
                                             {"GB", 1'000'000'000},
                                             {"TB", 1'000'000'000'000},
                                             {"B", 1}}};
constexpr int most_digits = 18;  // fits 64 bits, so that a product with a unit fits 128

/// Takes "12" or "1.25" off the front: digits / scale. False when there is none or it is too long.
bool take_decimal(std::string_view& text, std::uint64_t& digits, std::uint64_t& scale) {
  digits = 0;
  scale = 1;
  int count = 0, whole = 0;
  bool point = false;
  while (!text.empty()) {
    const char c = text.front();
    if (c == '.' && !point && whole > 0) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      if (++count > most_digits) return false;
      digits = digits * 10 + static_cast<std::uint64_t>(c - '0');
      if (point) scale *= 10;
      if (!point) ++whole;
    } else {
      break;
    }
    text.remove_prefix(1);
  }
  return whole > 0 && (!point || scale > 1);
}

std::optional<std::uint64_t> take_unit(std::string_view& text, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (text.starts_with(unit.name)) {
      text.remove_prefix(unit.name.size());
      return unit.factor;
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> exact(std::uint64_t digits, std::uint64_t scale, std::uint64_t factor) {
  const Uint128 product = Uint128{digits} * factor;
  if (product % scale != 0 || product / scale > std::uint64_t{0x7fff'ffff'ffff'fffe}) return std::nullopt;
  return static_cast<std::uint64_t>(product / scale);
}

template <class T>
std::optional<T> whole_text(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  Uint128 total = 0;
  while (!text.empty()) {
    std::uint64_t digits = 0, scale = 1;
    if (!take_decimal(text, digits, scale)) return std::nullopt;
    const auto unit = take_unit(text, time_units);
    if (!unit) return std::nullopt;
    const auto part = exact(digits, scale, *unit);
    if (!part) return std::nullopt;
    total += *part;
    if (total >= static_cast<Uint128>(Duration::forever().ns)) return std::nullopt;
  }
  return Duration{static_cast<std::int64_t>(total)};
}

std::string format_duration(Duration duration) {
  if (duration.ns == 0) return "0s";
  std::string out = duration.ns < 0 ? "-" : "";
  auto rest =
      duration.ns < 0 ? 0 - static_cast<std::uint64_t>(duration.ns) : static_cast<std::uint64_t>(duration.ns);
  constexpr std::array<Unit, 7> largest_first = {{{"d", 86'400'000'000'000},
                                                  {"h", 3'600'000'000'000},
                                                  {"m", 60'000'000'000},
                                                  {"s", 1'000'000'000},
                                                  {"ms", 1'000'000},
                                                  {"us", 1'000},
                                                  {"ns", 1}}};
  for (const Unit& unit : largest_first) {
    if (rest / unit.factor > 0) out += std::to_string(rest / unit.factor) + std::string(unit.name);
    rest %= unit.factor;
  }
  return out;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  std::uint64_t digits = 0, scale = 1;
  if (!take_decimal(text, digits, scale)) return std::nullopt;
  if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const auto unit = text.empty() ? std::optional<std::uint64_t>{1} : take_unit(text, byte_units);
  if (!unit || !text.empty()) return std::nullopt;
  return exact(digits, scale, *unit);
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes > 0) {
    for (const Unit& unit : {byte_units[3], byte_units[2], byte_units[1], byte_units[0]}) {
      if (bytes % unit.factor == 0) return std::to_string(bytes / unit.factor) + std::string(unit.name);
    }
  }
  return std::to_string(bytes) + "B";
}

std::optional<double> parse_rate(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto number = parse_number(text.substr(0, slash));
  if (!number || slash == std::string_view::npos) return number;
  std::string_view unit = text.substr(slash + 1);
  const auto factor = take_unit(unit, time_units);
  if (!factor || !unit.empty()) return std::nullopt;
  return *number * 1e9 / static_cast<double>(*factor);
}

std::optional<std::uint64_t> parse_byte_rate(std::string_view text) {
  return text.ends_with("/s") ? parse_bytes(text.substr(0, text.size() - 2)) : std::nullopt;
}

std::string format_number(double number) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return error == std::errc{} ? std::string(buffer.data(), end) : "0";
}

std::optional<std::int64_t> parse_integer(std::string_view text) { return whole_text<std::int64_t>(text); }

std::optional<double> parse_number(std::string_view text) {
  const auto value = whole_text<double>(text);
  const bool finite = value && *value - *value == 0;
  return finite ? value : std::nullopt;
}

}  // namespace mqlab
