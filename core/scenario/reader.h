// Reads a scenario: TOML text in, a checked Scenario out. Nothing is half-read: it throws ScenarioError or
// returns a value every part of which is valid.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/scenario/error.h"
#include "core/scenario/module_settings.h"
#include "core/scenario/scenario.h"

namespace mqlab {

/// `--set PATH=VALUE`: lists go by name (stages.embed.instances), a property map swallows the rest
/// (broker.properties.min.insync.replicas); VALUE is a TOML value, bare words are strings.
struct Override {
  std::string path;
  std::string value;
};

/// `file` is what messages call it. Overrides are applied in order. `modules`: nullptr = module_catalog().
/// A file larger than limits::scenario_bytes is refused; who reads files should look at the size first.
Scenario read_scenario(std::string_view toml, const std::string& file,
                       const std::vector<Override>& overrides = {}, const ModuleCatalog* modules = nullptr);
/// The complete scenario, defaults filled in; read_scenario(to_toml(s)) == s but for line numbers.
std::string to_toml(const Scenario& scenario);

}  // namespace mqlab
