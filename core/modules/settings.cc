#include "core/modules/settings.h"

#include <algorithm>

#include "core/scenario/error.h"
#include "core/scenario/text.h"
#include "core/scenario/units.h"

namespace mqlab {
namespace {

[[noreturn]] void fail(const PropertyScope& scope, const Property& property, const std::string& problem) {
  throw ScenarioError(scope.scenario.file, property.line, scope.path + "." + property.key, problem);
}

}  // namespace

std::string_view choice(const PropertyScope& scope, std::string_view key,
                        std::initializer_list<std::string_view> choices) {
  const Property* property = find(scope.properties, key);
  if (property == nullptr) return *choices.begin();
  const auto* found = std::find(choices.begin(), choices.end(), property->value);
  if (found != choices.end()) return *found;
  const std::vector<std::string> names(choices.begin(), choices.end());
  fail(scope, *property,
       "no such choice: " + quoted(property->value) + "; " + suggestion(property->value, names));
}

bool boolean(const PropertyScope& scope, std::string_view key, bool default_value) {
  const Property* property = find(scope.properties, key);
  if (property == nullptr) return default_value;
  if (property->value == "true") return true;
  if (property->value == "false") return false;
  fail(scope, *property, quoted(property->value) + " is neither true nor false");
}

std::uint32_t number(const PropertyScope& scope, std::string_view key, std::uint32_t default_value,
                     std::uint32_t low, std::uint32_t high) {
  const Property* property = find(scope.properties, key);
  if (property == nullptr) return default_value;
  const auto value = parse_integer(property->value);
  if (value && *value >= low && *value <= high) return static_cast<std::uint32_t>(*value);
  fail(scope, *property,
       quoted(property->value) + " is not a whole number from " + std::to_string(low) + " to " +
           std::to_string(high));
}

Duration duration(const PropertyScope& scope, std::string_view key, Duration default_value) {
  const Property* property = find(scope.properties, key);
  if (property == nullptr) return default_value;
  const auto value = parse_duration(property->value);
  if (value && value->ns > 0) return *value;
  fail(scope, *property, quoted(property->value) + " is not a duration such as \"500ms\" or \"1m30s\"");
}

}  // namespace mqlab
