#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/faults/anchor.h"
#include "core/scenario/topology.h"
#include "live/worker/lab.h"

namespace mqlab::live {
namespace {

using nlohmann::json;

const char* name_of(Role role) {
  switch (role) {
    case Role::broker: return "broker";
    case Role::workload: return "workload";
    case Role::stage: return "stage";
    case Role::observer: return "observer";
    case Role::auditor: return "auditor";
    case Role::lab: return "lab";
  }
  return "";
}

json pairs(const Properties& properties) {
  json list = json::object();
  for (const Property& p : properties) list[p.key] = p.value;
  return list;
}

json faults(const Scenario& scenario, const Topology& topology) {
  json list = json::array();
  for (const FaultSpec& spec : scenario.faults) {
    const Fault fault = bind(spec, scenario, topology);
    list.push_back({{"timed", fault.timed}, {"time", fault.time.ns}, {"action", mqlab::name_of(fault.action)},
                    {"action_number", static_cast<int>(fault.action)}, {"targets", fault.targets},
                    {"leader_of", fault.leader_of == no_place ? json() : json(fault.leader_of)}, {"heal", fault.heal.ns},
                    {"anchored", fault.anchored}, {"line", spec.line}});
  }
  return list;
}

}  // namespace

int describe(const Options& options) {
  const Scenario s = options.scenario();
  const Topology topology(s);
  json out;
  out["name"] = s.name;
  out["horizon"] = s.limits.horizon.ns;
  out["live_timeout"] = s.limits.live_timeout.ns;
  for (const ProcessInfo& p : topology.processes) {
    out["processes"].push_back({{"name", p.name}, {"group", p.group}, {"role", name_of(p.role)}, {"index", p.index}, {"instance", p.instance}});
  }
  for (const TopicInfo& t : topology.topics) {
    out["topics"].push_back({{"name", t.name}, {"store", t.kind == TopicKind::store}, {"broker", t.broker}, {"first_place", t.first_place}, {"partitions", t.partitions}});
  }
  for (const PlaceInfo& p : topology.places) out["places"].push_back(p.name);
  for (const BrokerSpec& b : s.brokers) {
    out["brokers"].push_back({{"name", b.name}, {"kind", mqlab::name_of(b.kind)}, {"version", b.version}, {"nodes", b.nodes}, {"properties", pairs(b.properties)}});
  }
  out["stages"] = json::array();
  for (const StageSpec& g : s.stages) {
    out["stages"].push_back({{"name", g.name}, {"inputs", g.inputs}, {"store", g.store}, {"consumer", pairs(g.consumer)}, {"producer", pairs(g.producer)}});
  }
  out["observers"] = json::array();
  for (const ObserverSpec& o : s.observers) out["observers"].push_back({{"name", o.name}, {"topic", o.topic}, {"consumer", pairs(o.consumer)}});
  for (const WorkloadSpec& w : s.workloads) {
    out["workloads"].push_back({{"name", w.name}, {"messages", w.messages}, {"rate", w.rate}, {"producer", pairs(w.producer)}});
  }
  out["faults"] = faults(s, topology);
  std::printf("%s\n", out.dump().c_str());
  return 0;
}

}  // namespace mqlab::live
