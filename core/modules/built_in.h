// The plans of the built-in modules: their settings read from the scenario once.
#pragma once
#include <memory>

#include "core/modules/registry.h"

namespace mqlab {

std::unique_ptr<ModulePlan> plan_producer(const Scenario&, const Topology&, ProcessId);
std::unique_ptr<ModulePlan> plan_observer(const Scenario&, const Topology&, ProcessId);
std::unique_ptr<ModulePlan> plan_consumer(const Scenario&, const Topology&, ProcessId);
std::unique_ptr<ModulePlan> plan_stage(const Scenario&, const Topology&, ProcessId);
std::unique_ptr<ModulePlan> plan_transactional(const Scenario&, const Topology&, ProcessId);
std::unique_ptr<ModulePlan> plan_idempotent_sink(const Scenario&, const Topology&, ProcessId);
std::unique_ptr<ModulePlan> plan_offset_sink(const Scenario&, const Topology&, ProcessId);

}  // namespace mqlab
