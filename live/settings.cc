#include "live/settings.h"

#include <algorithm>

#include "core/scenario/units.h"
#include "live/port.h"

namespace mqlab::live {
namespace {

bool same_name(std::string_view a, std::string_view b) {
  const auto plain = [](char c) { return c == '.' || c == '-' ? '_' : c; };
  return std::ranges::equal(a, b, [&](char x, char y) { return plain(x) == plain(y); });
}

std::optional<Duration> read_duration(std::string_view text) {
  if (const auto bare = parse_integer(text)) return Duration::nanos(*bare);
  return parse_duration(text);
}

}  // namespace

SettingsReader::SettingsReader(const Properties& properties, std::string what)
    : properties_(properties), what_(std::move(what)), used_(properties.size()) {}

const Property* SettingsReader::take(std::string_view name) {
  for (std::size_t i = 0; i < properties_.size(); ++i) {
    if (!same_name(properties_[i].key, name)) continue;
    used_[i] = true;
    return &properties_[i];
  }
  return nullptr;
}

void SettingsReader::refuse(const Property& property, const char* wanted) const {
  throw PortError(what_ + ": " + property.key + " = \"" + property.value + "\": " + wanted + " is wanted");
}

std::optional<std::string> SettingsReader::text(std::string_view name) {
  const Property* property = take(name);
  return property == nullptr ? std::nullopt : std::optional(property->value);
}

std::optional<std::int64_t> SettingsReader::integer(std::string_view name) {
  const Property* property = take(name);
  if (property == nullptr) return std::nullopt;
  const auto value = parse_integer(property->value);
  if (!value) refuse(*property, "a whole number");
  return value;
}

std::optional<bool> SettingsReader::boolean(std::string_view name) {
  const Property* property = take(name);
  if (property == nullptr) return std::nullopt;
  if (property->value != "true" && property->value != "false") refuse(*property, "true or false");
  return property->value == "true";
}

std::optional<Duration> SettingsReader::duration(std::string_view name) {
  const Property* property = take(name);
  if (property == nullptr) return std::nullopt;
  const auto value = read_duration(property->value);
  if (!value) refuse(*property, "a duration");
  return value;
}

std::optional<std::vector<Duration>> SettingsReader::durations(std::string_view name) {
  const Property* property = take(name);
  if (property == nullptr) return std::nullopt;
  std::vector<Duration> values;
  std::string word;
  const auto add = [&] {
    if (word.empty()) return;
    const auto value = read_duration(word);
    if (!value) refuse(*property, "a list of durations");
    values.push_back(*value);
    word.clear();
  };
  for (const char c : property->value) {
    if (c == ',' || c == ' ' || c == '[' || c == ']' || c == '"') add();
    else word += c;
  }
  add();
  return values;
}

void SettingsReader::finish() const {
  for (std::size_t i = 0; i < properties_.size(); ++i) {
    if (!used_[i]) throw PortError(what_ + ": " + properties_[i].key + ": the live world cannot express this setting");
  }
}

}  // namespace mqlab::live
