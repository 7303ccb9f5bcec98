#include "core/scenario/settings.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/scenario/section.h"
#include "core/scenario/text.h"
#include "core/scenario/units.h"

namespace mqlab {
namespace {

/// Is `word` among the words between blanks?
bool has_word(std::string_view list, std::string_view word) {
  for (std::size_t at = list.find(word); at != std::string_view::npos; at = list.find(word, at + 1)) {
    const bool begins = at == 0 || list[at - 1] == ' ';
    const bool ends = at + word.size() == list.size() || list[at + word.size()] == ' ';
    if (begins && ends && !word.empty() && word.find(' ') == std::string_view::npos) return true;
  }
  return false;
}

bool is_number(SettingType type) {
  return type == SettingType::integer || type == SettingType::millis || type == SettingType::fraction ||
         type == SettingType::bytes || type == SettingType::size;
}

/// The number a value is, in the unit of its type; empty when it is none.
std::optional<double> number_of(SettingType type, const std::string& value) {
  if (type == SettingType::fraction || type == SettingType::real) return parse_number(value);
  if (type == SettingType::size && !parse_integer(value)) {
    const auto bytes = parse_bytes(value);
    return bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
  }
  const auto integer = parse_integer(value);
  return integer ? std::optional(static_cast<double>(*integer)) : std::nullopt;
}

std::string wanted_of(const Setting& setting) {
  switch (setting.type) {
    case SettingType::millis:
      return "an integer number of milliseconds";
    case SettingType::fraction:
      return "a number of milliseconds";
    case SettingType::bytes:
      return "an integer number of bytes";
    case SettingType::size:
      return "a number of bytes, as 1024 or \"1KiB\"";
    case SettingType::real:
      return "a number";
    case SettingType::duration:
      return "a duration with a unit, as \"30s\"";
    default:
      return "an integer";
  }
}

std::string_view canonical(const Setting& setting) {
  return setting.alias_of.empty() ? setting.key : setting.alias_of;
}

}  // namespace

const Setting* SettingTable::find(std::string_view key) const {
  for (const auto& part : {own, shared}) {
    for (const Setting& setting : part) {
      if (setting.key == key) return &setting;
    }
  }
  return nullptr;
}

bool SettingTable::knows_only(std::string_view key) const { return has_word(known_only, key); }

std::vector<std::string> SettingTable::keys() const {
  std::vector<std::string> keys;
  for (const auto& part : {own, shared}) {
    for (const Setting& setting : part) keys.emplace_back(setting.key);
  }
  for (std::string& name : split(known_only, ' ')) keys.push_back(std::move(name));
  return keys;
}

std::string_view name_of(SettingType type) {
  switch (type) {
    case SettingType::boolean:
      return "true or false";
    case SettingType::integer:
      return "integer";
    case SettingType::real:
      return "number";
    case SettingType::millis:
      return "milliseconds";
    case SettingType::fraction:
      return "milliseconds, fractions too";
    case SettingType::bytes:
      return "bytes";
    case SettingType::size:
      return "size";
    case SettingType::duration:
      return "duration";
    case SettingType::word:
      return "word";
    case SettingType::words:
      return "list of words";
    case SettingType::text:
      return "string";
  }
  return "";
}

std::string range_of(const Setting& setting) {
  if (setting.type == SettingType::duration) {
    std::string range =
        setting.high == 0 ? "" : format_duration({setting.low}) + " to " + format_duration({setting.high});
    if (!setting.words.empty()) range += (range.empty() ? "or " : ", or ") + quoted(setting.words);
    return range;
  }
  if (!setting.words.empty()) return joined(split(setting.words, '|'));
  if (!is_number(setting.type) || setting.high == 0) return "";
  return std::to_string(setting.low) + " to " + std::to_string(setting.high);
}

std::string_view default_of(const Setting& setting, Version version) {
  std::string_view rest = setting.defaults;
  std::size_t end = rest.find('|');
  std::string_view value = rest.substr(0, end);
  while (end != std::string_view::npos) {
    rest.remove_prefix(end + 1);
    end = rest.find('|');
    const std::string_view entry = rest.substr(0, end);
    const std::size_t colon = entry.find(':');
    const auto since = parse_version(entry.substr(0, colon));
    MQLAB_CHECK(since && colon != std::string_view::npos);
    if (version >= *since) value = entry.substr(colon + 1);
  }
  return value;
}

Values::Values(const SettingTable& table, const Properties& properties, Version version, SettingPlace place)
    : table_(table), properties_(properties), version_(version), place_(std::move(place)) {
  for (const Property& property : properties_) check(property);
  check_names();
}

void Values::check(const Property& property) const {
  if (const Setting* setting = table_.find(property.key)) return check_value(property, *setting);
  if (table_.knows_only(property.key)) return;
  const std::string path = place_.path + "." + property.key;
  const int line = property.line;
  if (has_word(table_.lab_sets, property.key)) fail_at(place_.file, line, path, "is set by the lab itself");
  fail_at(place_.file, line, path,
          std::string(table_.owner) + " has no such setting; " + suggestion(property.key, table_.keys()));
}

void Values::check_value(const Property& property, const Setting& setting) const {
  const auto wrong = [&](const std::string& wanted) {
    fail_at(place_.file, property.line, place_.path + "." + property.key,
            quoted(property.value) + " is not " + wanted);
  };
  const std::string range = range_of(setting);
  const std::string wanted = wanted_of(setting) + (range.empty() ? "" : ", " + range);
  const auto within = [&](double x) {
    return setting.high == 0 ||
           (x >= static_cast<double>(setting.low) && x <= static_cast<double>(setting.high));
  };
  switch (setting.type) {
    case SettingType::text:
      return;
    case SettingType::boolean:
      if (property.value != "true" && property.value != "false") wrong("true or false");
      return;
    case SettingType::word:
    case SettingType::words:
      return check_words(property, setting);
    case SettingType::duration: {
      const auto duration = parse_duration(property.value);
      const bool word = !setting.words.empty() && property.value == setting.words;
      if (!word && (!duration || !within(static_cast<double>(duration->ns)))) wrong(wanted);
      return;
    }
    default: {
      const auto number = number_of(setting.type, property.value);
      if (!number || !within(*number)) wrong(wanted);
      return;
    }
  }
}

void Values::check_words(const Property& property, const Setting& setting) const {
  const std::vector<std::string> valid = split(setting.words, '|');
  const bool list = setting.type == SettingType::words;
  for (const std::string& word : list ? split(property.value, ',') : std::vector{property.value}) {
    if (std::find(valid.begin(), valid.end(), word) != valid.end()) continue;
    fail_at(place_.file, property.line, place_.path + "." + property.key,
            quoted(word) + " is unknown; " + suggestion(word, valid));
  }
}

void Values::check_names() const {
  for (const Property& a : properties_) {
    const Setting* setting = table_.find(a.key);
    if (setting == nullptr) continue;
    for (const Property& b : properties_) {
      const Setting* other = table_.find(b.key);
      if (&a == &b || other == nullptr || canonical(*setting) != canonical(*other)) continue;
      fail_at(place_.file, b.line, place_.path + "." + b.key,
              "is another name of " + quoted(a.key) + ", which is set too");
    }
  }
}

const Property* Values::given(std::string_view key) const {
  for (const Property& property : properties_) {
    const Setting* setting = table_.find(property.key);
    if (setting != nullptr && canonical(*setting) == key) return &property;
  }
  return nullptr;
}

std::string Values::text(std::string_view key) const {
  if (const Property* property = given(key)) return property->value;
  const Setting* setting = table_.find(key);
  MQLAB_CHECK(setting != nullptr && setting->alias_of.empty());
  return std::string(default_of(*setting, version_));
}

std::int64_t Values::integer(std::string_view key) const {
  const std::string value = text(key);
  if (const auto number = parse_integer(value)) return *number;
  const auto bytes = parse_bytes(value);  // size
  MQLAB_CHECK(bytes.has_value());
  return static_cast<std::int64_t>(*bytes);
}

double Values::real(std::string_view key) const {
  const auto number = parse_number(text(key));
  MQLAB_CHECK(number.has_value());
  return *number;
}

Duration Values::duration(std::string_view key) const {
  const std::string value = text(key);
  if (table_.find(key)->type == SettingType::duration) return parse_duration(value).value_or(Duration{});
  if (const auto whole = parse_integer(value)) {
    constexpr std::int64_t most = Duration::forever().ns / 1'000'000;
    return *whole >= most ? Duration::forever() : Duration::millis(*whole);
  }
  return {static_cast<std::int64_t>(parse_number(value).value_or(0) * 1e6 + 0.5)};
}

std::vector<std::string> Values::list(std::string_view key) const { return split(text(key), ','); }

void Values::fail(std::string_view key, const std::string& problem) const {
  const Property* property = given(key);
  const std::string name = property == nullptr ? std::string(key) : property->key;
  fail_at(place_.file, property == nullptr ? place_.line : property->line, place_.path + "." + name, problem);
}

}  // namespace mqlab
