#include "core/scenario/topology.h"

#include <algorithm>

namespace mqlab {

std::string_view name_of(Role role) {
  switch (role) {
    case Role::broker:
      return "broker";
    case Role::workload:
      return "workload";
    case Role::stage:
      return "stage";
    case Role::observer:
      return "observer";
    case Role::auditor:
      return "auditor";
    case Role::lab:
      return "lab";
  }
  return "";
}

namespace {

void add_processes(Topology& t, Role role, std::uint32_t index, const std::string& group, std::uint32_t count,
                   bool number_one, std::uint32_t first_number) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool numbered = number_one || count > 1;
    const std::string name = numbered ? group + "-" + std::to_string(i + first_number) : group;
    t.processes.push_back({name, group, role, index, i});
  }
}

void add_topic(Topology& t, TopicInfo info) {
  const auto topic = static_cast<TopicId>(t.topics.size());
  info.first_place = static_cast<PlaceId>(t.places.size());
  for (std::uint32_t p = 0; p < info.partitions; ++p) {
    const bool partitioned = info.kind == TopicKind::topic;
    t.places.push_back({partitioned ? info.name + "/" + std::to_string(p) : info.name, topic, p});
  }
  t.topics.push_back(std::move(info));
}

}  // namespace

Topology::Topology(const Scenario& s) {
  const auto each = [](const auto& list, auto f) {
    for (std::uint32_t i = 0; i < list.size(); ++i) f(i, list[i]);
  };
  each(s.brokers,
       [&](auto i, const BrokerSpec& b) { add_processes(*this, Role::broker, i, b.name, b.nodes, true, 1); });
  each(s.workloads, [&](auto i, const WorkloadSpec& w) {
    add_processes(*this, Role::workload, i, w.name, w.producers, false, 0);
  });
  each(s.stages, [&](auto i, const StageSpec& g) {
    add_processes(*this, Role::stage, i, g.name, g.instances + g.spares, true, 0);
    for (std::uint32_t spare = g.spares; spare > 0; --spare)
      processes.end()[-std::ptrdiff_t{spare}].spare = true;
  });
  each(s.observers,
       [&](auto i, const ObserverSpec& o) { add_processes(*this, Role::observer, i, o.name, 1, false, 0); });
  auditor = static_cast<ProcessId>(processes.size());
  processes.push_back({"auditor", "auditor", Role::auditor, 0, 0});
  lab = static_cast<ProcessId>(processes.size());
  processes.push_back({"lab", "lab", Role::lab, 0, 0});

  each(s.topics, [&](auto i, const TopicSpec& spec) {
    const auto broker = std::find_if(s.brokers.begin(), s.brokers.end(),
                                     [&](const auto& b) { return b.name == spec.broker; });
    add_topic(*this, {spec.name, spec.stream ? TopicKind::stream : TopicKind::topic,
                      static_cast<std::uint32_t>(broker - s.brokers.begin()), i, 0,
                      spec.partitions + spec.more_partitions, spec.partitions});
  });
  each(s.stages, [&](auto, const StageSpec& g) {
    if (!g.store.empty() && topic(g.store) == no_topic)
      add_topic(*this, {g.store, TopicKind::store, 0, 0, 0, 1});
  });
}

TopicId Topology::topic(std::string_view name) const {
  for (TopicId i = 0; i < topics.size(); ++i) {
    if (topics[i].name == name) return i;
  }
  return no_topic;
}

ProcessId Topology::process(std::string_view name) const {
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (processes[i].name == name) return static_cast<ProcessId>(i);
  }
  return no_process;
}

std::vector<ProcessId> Topology::group(std::string_view name) const {
  std::vector<ProcessId> found;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (processes[i].group == name) found.push_back(static_cast<ProcessId>(i));
  }
  if (found.empty() && process(name) != no_process) found.push_back(process(name));
  return found;
}

ProcessId Topology::first_of(Role role, std::uint32_t index) const {
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (processes[i].role == role && processes[i].index == index) return static_cast<ProcessId>(i);
  }
  return no_process;
}

}  // namespace mqlab
