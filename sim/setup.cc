#include "sim/setup.h"

#include <algorithm>

#include "core/faults/anchor.h"
#include "core/scenario/error.h"
#include "sim/brokers/kafka/plan.h"
#include "sim/brokers/nats/plan.h"

namespace mqlab::sim {
namespace {

std::unique_ptr<ClusterPlan> plan_cluster(const Scenario& s, const Topology& topology, std::uint32_t broker) {
  const BrokerSpec& spec = s.brokers[broker];
  switch (spec.kind) {
    case BrokerKind::kafka:
      return plan_kafka(s, topology, broker);
    case BrokerKind::nats:
      return nats::plan_nats(s, topology, broker);
    default:
      break;
  }
  throw ScenarioError(
      s.file, spec.line, "broker.kind",
      "\"" + std::string(name_of(spec.kind)) + "\" has no simulated model; kafka and nats have");
}

/// The broker a process talks to; a process talks to one only.
std::uint32_t broker_of(const Setup& setup, ProcessId process) {
  const Ports& ports = setup.ports[process];
  const TopicId topic = ports.inputs.empty() ? ports.outputs.front() : ports.inputs.front();
  return setup.topology.topics[topic].broker;
}

void check_effects(const Setup& setup, ProcessId process) {
  const ProcessInfo& info = setup.topology.processes[process];
  for (const Kind kind : setup.modules[process]->effects()) {
    if (setup.capabilities[process].allow(kind)) continue;
    const Scenario& s = setup.scenario;
    const int line = info.role == Role::stage ? s.stages[info.index].line : 0;
    throw ScenarioError(s.file, line, "stages." + info.group + ".module",
                        "its module needs \"" + std::string(name_of(kind)) + "\", which " +
                            std::string(name_of(s.brokers[broker_of(setup, process)].kind)) +
                            " has not with these settings");
  }
}

void check_faults(const Scenario& s) {
  const auto check = [&](Action action, int line) {
    if (action == Action::clock_jump) {
      throw ScenarioError(
          s.file, line, "fault.action",
          "\"clock_jump\" is not modelled: kill, restart, pause, power_loss, partition, delay, "
          "drop_response, reset, disk_full, fsync_error, scale_out, scale_in and "
          "add_partitions are");
    }
  };
  for (const Action action : s.menu.menu) check(action, 0);
  for (const FaultSpec& fault : s.faults) check(fault.action, fault.line);
}

}  // namespace

Setup::Setup(Scenario given, Fabric* links)
    : scenario(std::move(given)), topology(scenario), fabric(links), latency(scenario.network.latency) {
  check_faults(scenario);
  bind_faults(scenario, topology);  // for their errors: what they name must be there
  menu_steps(scenario);
  if (scenario.network.shared() && fabric == nullptr) {
    throw ScenarioError(
        scenario.file, 0, scenario.network.racks ? "network.racks" : "network.platform",
        "is for single runs (run, sweep, compare); a search takes the network in the process: "
        "leave it out");
  }
  for (std::uint32_t b = 0; b < scenario.brokers.size(); ++b) {
    clusters.push_back(plan_cluster(scenario, topology, b));
    settle = std::max(settle, clusters.back()->settle());
  }
  for (std::uint32_t w = 0; w < scenario.workloads.size(); ++w) generators.emplace_back(scenario, w);
  for (const ClaimSpec& claim : scenario.claims) watch_disk = watch_disk || claim.id == "disk.bounded";
  const std::size_t n = topology.processes.size();
  modules.resize(n);
  ports.resize(n);
  capabilities.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto p = static_cast<ProcessId>(i);
    const Role role = topology.processes[i].role;
    if (role != Role::workload && role != Role::stage && role != Role::observer) continue;
    ports[i] = ports_of(scenario, topology, p);
    modules[i] = plan_module(scenario, topology, p);
    capabilities[i] = clusters[broker_of(*this, p)]->capabilities(p);
    capabilities[i].store = ports[i].store != no_topic;
    check_effects(*this, p);
    snapshots = snapshots && modules[i]->snapshots();
  }
}

Requests Setup::workload_of(ProcessId process, std::uint64_t seed) const {
  const ProcessInfo& info = topology.processes[process];
  if (info.role != Role::workload) return {};
  return {&generators[info.index], seed, info.instance, scenario.workloads[info.index].producers};
}

}  // namespace mqlab::sim
