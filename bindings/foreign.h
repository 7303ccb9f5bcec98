// Modules written in Python, as the rest of the lab sees them.
#pragma once
#include <pybind11/pybind11.h>

#include "core/modules/registry.h"

namespace mqlab::bindings {

/// What Python's Module.handle is handed as `effects`: usable during that call only.
class EffectsHandle {
 public:
  explicit EffectsHandle(Effects& effects) : effects_(&effects) {}
  void close() { effects_ = nullptr; }
  /// Throws std::logic_error once the call it belongs to is over.
  Effects& get() const;

 private:
  Effects* effects_;
};

/// A module of the form "FILE.py:Class"; FILE is relative to the scenario. Throws ScenarioError.
std::unique_ptr<ModulePlan> plan_foreign(const Scenario& scenario, const Topology& topology,
                                         ProcessId process);

void bind_effects(pybind11::module_& m);

}  // namespace mqlab::bindings
