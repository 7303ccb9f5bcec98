// The NATS JetStream model's settings, read and checked once.
#pragma once
#include <memory>

#include "core/scenario/scenario.h"
#include "core/scenario/topology.h"
#include "sim/cluster.h"

namespace mqlab::sim::nats {

/// Throws ScenarioError for settings that are unknown or contradict each other.
std::unique_ptr<ClusterPlan> plan_nats(const Scenario& scenario, const Topology& topology,
                                       std::uint32_t broker);

}  // namespace mqlab::sim::nats
