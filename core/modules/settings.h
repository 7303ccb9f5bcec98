// Reads a module's or client's properties as typed values, with errors that name the key.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/scenario/scenario.h"

namespace mqlab {

/// Where an error in a property is reported: file and dotted path of the map.
struct PropertyScope {
  const Scenario& scenario;
  const Properties& properties;
  std::string path;  ///< "stages.embed"
};

/// One of `choices`, the first by default. Throws ScenarioError otherwise.
std::string_view choice(const PropertyScope& scope, std::string_view key,
                        std::initializer_list<std::string_view> choices);
bool boolean(const PropertyScope& scope, std::string_view key, bool default_value);
/// In [low, high].
std::uint32_t number(const PropertyScope& scope, std::string_view key, std::uint32_t default_value,
                     std::uint32_t low, std::uint32_t high);
/// "500ms"; > 0, or `default_value` when absent.
Duration duration(const PropertyScope& scope, std::string_view key, Duration default_value);

}  // namespace mqlab
