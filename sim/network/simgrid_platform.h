// Which host each process runs on, and the platform that is made from `racks`. Internal to the SimGrid
// fabric.
#pragma once
#include <string>
#include <vector>

#include "core/scenario/scenario.h"
#include "core/scenario/topology.h"

namespace mqlab::sim {

/// Builds zone1-rack1-host1 … in SimGrid's engine, which must be there. Returns the hosts, those of different
/// racks and zones next to each other, so that what is placed in turn is spread.
std::vector<std::string> build_racks(const RacksSpec& racks);

/// Host by process. A process goes where `place` says for it or for its group; else to the host that has its
/// name; else to the next host in turn, so that as many as possible have one for themselves. Throws
/// ScenarioError for a place that is not in `hosts`.
std::vector<std::string> placed(const Scenario& scenario, const Topology& topology,
                                const std::vector<std::string>& hosts);

}  // namespace mqlab::sim
