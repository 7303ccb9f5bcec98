// A scenario made ready to be simulated: names resolved, settings read, modules planned. Immutable; shared by
// runs.
#pragma once
#include <memory>
#include <vector>

#include "core/modules/registry.h"
#include "core/scenario/scenario.h"
#include "core/scenario/topology.h"
#include "core/workload/distribution.h"
#include "core/workload/generator.h"
#include "sim/cluster.h"
#include "sim/network/fabric.h"
#include "sim/requests.h"

namespace mqlab::sim {

struct Setup {
  /// Throws ScenarioError for what cannot be simulated or contradicts itself. `fabric`, which must outlive
  /// this: for the one run of a scenario whose network has shared links.
  explicit Setup(Scenario scenario, Fabric* fabric = nullptr);

  /// The requests of a producer process; none for others.
  Requests workload_of(ProcessId process, std::uint64_t seed) const;

  Scenario scenario;
  Topology topology;
  Fabric* fabric = nullptr;                            ///< nullptr: the network in the process
  std::vector<std::unique_ptr<ModulePlan>> modules;    ///< by process; none for brokers, auditor, lab
  std::vector<Ports> ports;                            ///< by process
  std::vector<Capabilities> capabilities;              ///< by process
  std::vector<std::unique_ptr<ClusterPlan>> clusters;  ///< by broker
  std::vector<Generator> generators;                   ///< by workload
  Sampler latency;
  Duration settle = {};
  bool watch_disk = false;  ///< a claim wants `usage` rows
  bool snapshots = true;    ///< every module's state can be restored by memcpy
};

}  // namespace mqlab::sim
