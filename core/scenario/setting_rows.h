// Short ways to write rows of the tables of settings. Internal to core/scenario.
#pragma once
#include <cstdint>
#include <string_view>

#include "core/scenario/settings.h"

namespace mqlab::rows {

using Text = std::string_view;
inline constexpr std::int64_t most_int = 0x7fff'ffff;
inline constexpr std::int64_t most_long = 0x7fff'ffff'ffff'ffff;

constexpr Setting flag(Text key, Text defaults, Text effect) {
  return {.key = key, .type = SettingType::boolean, .defaults = defaults, .effect = effect};
}
constexpr Setting number(Text key, std::int64_t low, std::int64_t high, Text defaults, Text effect) {
  return {.key = key,
          .type = SettingType::integer,
          .low = low,
          .high = high,
          .defaults = defaults,
          .effect = effect};
}
constexpr Setting millis(Text key, std::int64_t low, std::int64_t high, Text defaults, Text effect) {
  return {.key = key,
          .type = SettingType::millis,
          .low = low,
          .high = high,
          .defaults = defaults,
          .effect = effect};
}
constexpr Setting bytes(Text key, std::int64_t low, std::int64_t high, Text defaults, Text effect) {
  return {.key = key,
          .type = SettingType::bytes,
          .low = low,
          .high = high,
          .defaults = defaults,
          .effect = effect};
}
constexpr Setting size(Text key, std::int64_t low, std::int64_t high, Text defaults, Text effect) {
  return {.key = key,
          .type = SettingType::size,
          .low = low,
          .high = high,
          .defaults = defaults,
          .effect = effect};
}
constexpr Setting real(Text key, Text defaults, Text effect) {
  return {.key = key, .type = SettingType::real, .defaults = defaults, .effect = effect};
}
constexpr Setting duration(Text key, Text defaults, Text effect, Text word = {}) {
  return {.key = key, .type = SettingType::duration, .words = word, .defaults = defaults, .effect = effect};
}
constexpr Setting word(Text key, Text words, Text defaults, Text effect) {
  return {.key = key, .type = SettingType::word, .words = words, .defaults = defaults, .effect = effect};
}
constexpr Setting words(Text key, Text valid, Text defaults, Text effect) {
  return {.key = key, .type = SettingType::words, .words = valid, .defaults = defaults, .effect = effect};
}
constexpr Setting text(Text key, Text defaults, Text effect) {
  return {.key = key, .type = SettingType::text, .defaults = defaults, .effect = effect};
}
/// Another name of `setting`, with the same type, range and default.
constexpr Setting alias(Text key, Setting setting) {
  setting.alias_of = setting.key;
  setting.key = key;
  return setting;
}
/// Exists and is passed on; the simulation does not depend on it.
constexpr Setting known(Setting setting) {
  setting.modelled = false;
  return setting;
}

}  // namespace mqlab::rows
