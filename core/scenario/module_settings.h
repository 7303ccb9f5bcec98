// Which modules there are and what settings each takes, as far as reading a scenario needs to know it. The
// modules themselves lie above this folder, so their names are handed in.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace mqlab {

struct ModuleSettings {
  std::string module;
  std::vector<std::string> settings;
};
using ModuleCatalog = std::vector<ModuleSettings>;

/// What read_scenario uses when it is given no catalogue. Empty (nothing handed in yet): any module with any
/// setting is taken as it is. Set it once, before the first scenario is read and before threads start.
const ModuleCatalog& module_catalog();
void set_module_catalog(ModuleCatalog catalog);

/// "FILE.py:Class": written by a user, so its settings are its own affair.
bool foreign_module(std::string_view module);
/// nullptr when absent.
const ModuleSettings* find(const ModuleCatalog& catalog, std::string_view module);

}  // namespace mqlab
