// Modules: what there is, and those written in Python.
#include <pybind11/stl.h>

#include "bindings/areas.h"
#include "bindings/foreign.h"
#include "core/modules/registry.h"

namespace py = pybind11;

namespace mqlab::bindings {
namespace {

py::list catalogue() {
  py::list modules;
  for (const ModuleInfo& info : all_modules()) {
    py::list settings;
    for (const SettingInfo& setting : info.settings) {
      py::dict one;
      one["name"] = setting.name;
      one["default"] = setting.default_value;
      one["meaning"] = setting.meaning;
      settings.append(std::move(one));
    }
    py::dict module;
    module["name"] = info.name;
    module["meaning"] = info.meaning;
    module["settings"] = std::move(settings);
    modules.append(std::move(module));
  }
  return modules;
}

}  // namespace

void bind_modules(py::module_& m) {
  publish_module_catalog();  // from here on, reading a scenario knows the modules and their settings
  bind_effects(m);
  m.def("module_catalogue", &catalogue);
  set_foreign_modules(&plan_foreign);
}

}  // namespace mqlab::bindings
