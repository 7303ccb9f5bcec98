#include "core/modules/registry.h"

#include <algorithm>

#include "core/modules/built_in.h"
#include "core/scenario/error.h"
#include "core/scenario/module_settings.h"
#include "core/scenario/text.h"

namespace mqlab {
namespace {

ForeignModules& foreign() {
  static ForeignModules factory;
  return factory;
}

std::string_view module_name(const Scenario& scenario, const ProcessInfo& process) {
  switch (process.role) {
    case Role::workload:
      return "producer";
    case Role::observer:
      return "observer";
    default:
      return scenario.stages[process.index].module;
  }
}

}  // namespace

void set_foreign_modules(ForeignModules factory) { foreign() = std::move(factory); }

Ports ports_of(const Scenario& scenario, const Topology& topology, ProcessId id) {
  const ProcessInfo& process = topology.processes[id];
  Ports ports;
  if (process.role == Role::workload)
    ports.outputs = {topology.topic(scenario.workloads[process.index].topic)};
  if (process.role == Role::observer)
    ports.inputs = {topology.topic(scenario.observers[process.index].topic)};
  if (process.role != Role::stage) return ports;
  const StageSpec& stage = scenario.stages[process.index];
  for (const std::string& name : stage.inputs) ports.inputs.push_back(topology.topic(name));
  for (const std::string& name : stage.outputs) ports.outputs.push_back(topology.topic(name));
  for (const std::string& name : retry_topics(stage)) {
    ports.inputs.push_back(topology.topic(name));
    ports.outputs.push_back(topology.topic(name));
  }
  if (!stage.retry.dead_letter.empty()) ports.outputs.push_back(topology.topic(stage.retry.dead_letter));
  if (!stage.store.empty()) ports.store = topology.topic(stage.store);
  return ports;
}

std::unique_ptr<ModulePlan> plan_module(const Scenario& scenario, const Topology& topology,
                                        ProcessId process) {
  const std::string_view name = module_name(scenario, topology.processes[process]);
  if (foreign_module(name) && foreign()) {
    if (auto plan = foreign()(scenario, topology, process)) return plan;
  }
  std::vector<std::string> names;
  for (const ModuleInfo& info : all_modules()) {
    if (info.name == name) return info.plan(scenario, topology, process);
    names.emplace_back(info.name);
  }
  const StageSpec& stage = scenario.stages[topology.processes[process].index];
  throw ScenarioError(scenario.file, stage.line, "stages." + stage.name + ".module",
                      "no such module: " + quoted(name) + "; " + suggestion(name, names));
}

void publish_module_catalog() {
  ModuleCatalog catalog;
  for (const ModuleInfo& info : all_modules()) {
    ModuleSettings settings{std::string(info.name), {}};
    for (const SettingInfo& s : info.settings) settings.settings.emplace_back(s.name);
    catalog.push_back(std::move(settings));
  }
  set_module_catalog(std::move(catalog));
}

}  // namespace mqlab
