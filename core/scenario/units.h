// Durations, sizes and rates as a user writes them: "1m30s", "200us", "1KiB", "2000/s".
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"

namespace mqlab {

/// Number and unit, any number of times: ns, us (µs), ms, s, m, h, d; decimals allowed ("1.5s"), sign not.
/// Exact; empty when malformed, beyond ±292 years, or finer than a nanosecond.
std::optional<Duration> parse_duration(std::string_view text);
/// "1m30s"; parse_duration reads it back exactly. Negative spans get a leading '-', which is not read back.
std::string format_duration(Duration duration);

/// "512", "512B", "1KB" (1000), "1KiB" (1024), M, G, T likewise; decimals when whole bytes come out.
std::optional<std::uint64_t> parse_bytes(std::string_view text);
std::string format_bytes(std::uint64_t bytes);

/// Events per second: "2000/s", "90/m", "0.5/s", "10/h", "2000".
std::optional<double> parse_rate(std::string_view text);
/// Bytes per second: "125MB/s".
std::optional<std::uint64_t> parse_byte_rate(std::string_view text);

/// Shortest text that reads back to the same number.
std::string format_number(double number);

/// Whole text as a number; empty when anything is left over, or for NaN and infinities.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);

}  // namespace mqlab
