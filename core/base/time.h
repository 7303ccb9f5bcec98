// Instants and durations of the lab: integer nanoseconds, never bare numbers in an interface.
#pragma once
#include <compare>
#include <cstdint>
#include <limits>

namespace mqlab {

/// A span of time. Range: about ±292 years.
struct Duration {
  std::int64_t ns = 0;

  static constexpr Duration nanos(std::int64_t n) { return {n}; }
  static constexpr Duration micros(std::int64_t n) { return {n * 1'000}; }
  static constexpr Duration millis(std::int64_t n) { return {n * 1'000'000}; }
  static constexpr Duration seconds(std::int64_t n) { return {n * 1'000'000'000}; }
  static constexpr Duration forever() { return {std::numeric_limits<std::int64_t>::max()}; }

  constexpr double in_seconds() const { return static_cast<double>(ns) / 1e9; }
  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration o) const { return {ns + o.ns}; }
  constexpr Duration operator-(Duration o) const { return {ns - o.ns}; }
  constexpr Duration operator*(std::int64_t k) const { return {ns * k}; }
  constexpr Duration operator/(std::int64_t k) const { return {ns / k}; }
};

/// A point on a run's clock: nanoseconds since the run began. `Instant::never()` sorts after every other.
struct Instant {
  std::int64_t ns = 0;

  static constexpr Instant never() { return {std::numeric_limits<std::int64_t>::max()}; }

  constexpr auto operator<=>(const Instant&) const = default;
  /// Saturates at never(), so that `now + Duration::forever()` means "no deadline".
  constexpr Instant operator+(Duration d) const {
    return d.ns > 0 && ns > never().ns - d.ns ? never() : Instant{ns + d.ns};
  }
  constexpr Instant operator-(Duration d) const { return {ns - d.ns}; }
  constexpr Duration operator-(Instant o) const { return {ns - o.ns}; }
};

/// What a module is told of time: a clock that only rises, and the wall clock (may jump).
struct Now {
  Instant mono;
  Instant wall;
};

}  // namespace mqlab
