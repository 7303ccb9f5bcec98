#include "core/scenario/module_settings.h"

namespace mqlab {
namespace {

ModuleCatalog& stored() {
  static ModuleCatalog catalog;
  return catalog;
}

}  // namespace

const ModuleCatalog& module_catalog() { return stored(); }
void set_module_catalog(ModuleCatalog catalog) { stored() = std::move(catalog); }

bool foreign_module(std::string_view module) { return module.find(".py:") != std::string_view::npos; }

const ModuleSettings* find(const ModuleCatalog& catalog, std::string_view module) {
  for (const ModuleSettings& entry : catalog) {
    if (entry.module == module) return &entry;
  }
  return nullptr;
}

}  // namespace mqlab
