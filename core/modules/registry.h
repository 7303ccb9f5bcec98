// Which module a process runs, and how a fresh incarnation of it is made. Used alike by both worlds.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/arena.h"
#include "core/base/draw.h"
#include "core/scenario/scenario.h"
#include "core/scenario/topology.h"
#include "core/seam/capabilities.h"
#include "core/seam/module.h"

namespace mqlab {

/// The topics behind a process's port numbers. A stage's retry topics, if any, follow its inputs and its
/// outputs; its dead-letter topic, if any, is its last output.
struct Ports {
  std::vector<TopicId> inputs;
  std::vector<TopicId> outputs;
  TopicId store = no_topic;
};
Ports ports_of(const Scenario& scenario, const Topology& topology, ProcessId process);

/// What a fresh incarnation is told.
struct ModuleContext {
  ProcessId process = 0;
  std::uint32_t instance = 0;
  Incarnation incarnation = 0;
  Capabilities capabilities;
  std::uint64_t seed = 0;  ///< of the run; for draws that all processes must share
  RandomStream random;     ///< keyed by seed, process and incarnation
};

/// A module with its settings read and checked, ready to be started any number of times.
class ModulePlan {
 public:
  virtual ~ModulePlan() = default;
  /// The module's whole state lies in `arena`. It must not outlive the plan.
  virtual Module* make(Arena& arena, const ModuleContext& context) const = 0;
  /// False when the state cannot be restored by memcpy (a module written in Python): replayed from the start.
  virtual bool snapshots() const { return true; }
  /// The kinds of effects it may ask for; checked against the port's capabilities when the scenario loads.
  virtual std::vector<Kind> effects() const = 0;
};

struct SettingInfo {
  std::string_view name;
  std::string_view default_value;
  std::string_view meaning;
};

struct ModuleInfo {
  std::string_view name;
  std::string_view meaning;
  std::vector<SettingInfo> settings;
  std::unique_ptr<ModulePlan> (*plan)(const Scenario&, const Topology&, ProcessId);
};

/// Built-in modules, in the order of docs/modules.md.
std::span<const ModuleInfo> all_modules();

/// The module of a process; throws ScenarioError for an unknown module or setting.
std::unique_ptr<ModulePlan> plan_module(const Scenario& scenario, const Topology& topology,
                                        ProcessId process);

/// Hands the modules' names and settings to the scenario reader; call once at start-up.
void publish_module_catalog();

/// How modules outside C++ come in: called for names of the form FILE.py:Class.
using ForeignModules =
    std::function<std::unique_ptr<ModulePlan>(const Scenario&, const Topology&, ProcessId)>;
void set_foreign_modules(ForeignModules factory);

}  // namespace mqlab
