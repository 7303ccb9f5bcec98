// From the names a scenario uses to the numbers a matcher compares.
#include <algorithm>

#include "core/faults/anchor.h"
#include "core/scenario/error.h"
#include "core/scenario/text.h"

namespace mqlab {
namespace {

class Binder {
 public:
  Binder(const FaultSpec& spec, const Scenario& scenario, const Topology& topology)
      : spec_(spec), scenario_(scenario), topology_(topology) {}

  Fault run() const {
    Fault fault;
    fault.action = spec_.action;
    fault.heal = spec_.heal;
    spec_.at.time ? bind_time(fault) : bind_step(fault);
    spec_.action == Action::add_partitions ? bind_topic(fault) : bind_target(fault);
    check_disk(fault);
    bind_scale(fault);
    bind_sides(fault);
    return fault;
  }

 private:
  [[noreturn]] void fail(std::string_view key, const std::string& problem) const {
    throw ScenarioError(scenario_.file, spec_.line, "fault." + std::string(key), problem);
  }

  void bind_time(Fault& fault) const {
    fault.timed = true;
    fault.time = Instant{} + *spec_.at.time;
  }

  void bind_step(Fault& fault) const {
    fault.anchored = processes("at.process", spec_.at.process);
    const auto step = parse_step(spec_.at.step);
    if (!step)
      fail("at.step", quoted(spec_.at.step) + " is no step; " + suggestion(spec_.at.step, step_names()));
    fault.step = *step;
    fault.message = spec_.at.message;
    if (fault.message != 0 && !names_message(fault.step)) {
      fail("at.message", "step " + quoted(spec_.at.step) + " concerns no single message");
    }
    fault.nth = spec_.at.nth;
    if (fault.nth == 0) fail("at.nth", "must be at least 1");
  }

  void bind_target(Fault& fault) const {
    constexpr std::string_view leader = "leader of ";
    if (spec_.target.empty()) return;
    if (spec_.target.starts_with(leader)) {
      fault.leader_of = place(std::string_view(spec_.target).substr(leader.size()));
    } else {
      fault.targets = processes("target", spec_.target);
    }
  }

  void check_disk(const Fault& fault) const {
    if (!of_disk(fault.action) || fault.leader_of != no_place) return;
    const bool brokers = std::ranges::all_of(
        fault.targets, [&](ProcessId p) { return topology_.processes[p].role == Role::broker; });
    if (fault.targets.empty() || !brokers) {
      fail("target", std::string(name_of(fault.action)) +
                         " happens to the disk of a broker node; name one, or \"leader of TOPIC/0\"");
    }
  }

  void bind_topic(Fault& fault) const {
    std::vector<std::string> names;
    for (TopicId i = 0; i < topology_.topics.size(); ++i) {
      if (!topology_.topics[i].grows()) continue;
      if (topology_.topics[i].name == spec_.target) fault.grown = i;
      names.push_back(topology_.topics[i].name);
    }
    if (fault.grown == no_topic) {
      fail("target",
           quoted(spec_.target) + " is no topic with more_partitions" +
               (names.empty() ? "; give it more_partitions = 1" : "; " + suggestion(spec_.target, names)));
    }
    fault.targets = {topology_.lab};
  }

  /// A stage's name means its spares where one is to begin. No target: the spares of the anchored stage, or
  /// the anchored process itself is to stop.
  void bind_scale(Fault& fault) const {
    if (!of_scale(fault.action)) return;
    if (fault.leader_of != no_place) fail("target", "stages are scaled, brokers are not");
    const bool out = fault.action == Action::scale_out;
    if (out && fault.targets.empty()) fault.targets = fault.anchored;
    for (const ProcessId p : fault.targets.empty() ? fault.anchored : fault.targets) {
      if (topology_.processes[p].role != Role::stage)
        fail("target", topology_.processes[p].name + " is no instance of a stage: only those are scaled");
    }
    if (!out) return;
    std::erase_if(fault.targets, [&](ProcessId p) { return !topology_.processes[p].spare; });
    if (fault.targets.empty()) fail("target", "no spare instance to begin; give the stage spares = 1");
  }

  PlaceId place(std::string_view name) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < topology_.places.size(); ++i) {
      const PlaceInfo& info = topology_.places[i];
      const TopicInfo& topic = topology_.topics[info.topic];
      const bool only = topic.partitions == 1 && topic.name == name;
      if (topic.kind != TopicKind::store && (info.name == name || only)) return static_cast<PlaceId>(i);
      if (topic.kind != TopicKind::store) names.push_back(info.name);
    }
    fail("target", "there is no partition " + quoted(name) + "; " + suggestion(name, names));
  }

  void bind_sides(Fault& fault) const {
    if (spec_.between.empty()) return;
    if (spec_.action != Action::partition || spec_.between.size() != 2) {
      fail("between", "a partition has two sides; no other action has any");
    }
    fault.side_a = side(spec_.between[0]);
    fault.side_b = side(spec_.between[1]);
    if (spec_.between[0] == "rest") fault.side_a = rest(fault.side_b);
    if (spec_.between[1] == "rest") fault.side_b = rest(fault.side_a);
    if (fault.side_a.empty() || fault.side_b.empty()) fail("between", "one side is empty");
    for (const ProcessId process : fault.side_a) {
      if (std::find(fault.side_b.begin(), fault.side_b.end(), process) == fault.side_b.end()) continue;
      fail("between", topology_.processes[process].name + " is on both sides");
    }
    fault.targets = {fault.side_a.front()};  // it is carried out once, and told of this process
  }

  std::vector<ProcessId> side(const std::string& names) const {
    std::vector<ProcessId> found;
    if (names == "rest") return found;
    for (const std::string& name : split(names, ',')) {
      for (const ProcessId process : processes("between", name)) found.push_back(process);
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  std::vector<ProcessId> rest(const std::vector<ProcessId>& others) const {
    std::vector<ProcessId> found;
    for (std::size_t i = 0; i < topology_.processes.size(); ++i) {
      const auto process = static_cast<ProcessId>(i);
      const Role role = topology_.processes[i].role;
      const bool lab = role == Role::auditor || role == Role::lab;
      if (!lab && std::find(others.begin(), others.end(), process) == others.end()) found.push_back(process);
    }
    return found;
  }

  /// A process, a group of them, or the nodes of all brokers of a kind.
  std::vector<ProcessId> processes(std::string_view key, const std::string& name) const {
    std::vector<ProcessId> found = topology_.group(name);
    std::vector<std::string> names;
    for (std::size_t i = 0; found.empty() && i < topology_.processes.size(); ++i) {
      const ProcessInfo& process = topology_.processes[i];
      names.push_back(process.name);
      if (process.instance == 0 && process.group != process.name) names.push_back(process.group);
    }
    if (found.empty()) {
      for (std::size_t i = 0; i < topology_.processes.size(); ++i) {
        const ProcessInfo& process = topology_.processes[i];
        if (process.role != Role::broker || name_of(scenario_.brokers[process.index].kind) != name) continue;
        found.push_back(static_cast<ProcessId>(i));
      }
    }
    if (found.empty()) fail(key, "there is no process " + quoted(name) + "; " + suggestion(name, names));
    return found;
  }

  const FaultSpec& spec_;
  const Scenario& scenario_;
  const Topology& topology_;
};

}  // namespace

std::vector<std::string> step_names() {
  std::vector<std::string> names;
  for (int k = 0; k < static_cast<int>(Kind::count_); ++k) {
    const auto kind = static_cast<Kind>(k);
    for (const Phase phase : {Phase::invoke, Phase::ok, Phase::fail, Phase::unknown}) {
      Row row;
      row.kind = kind;
      row.phase = phase;
      row.flags = flag::header;
      if (const auto step = step_of(row)) names.push_back(name_of(*step));
    }
  }
  for (int r = 1; r < static_cast<int>(RequestKind::count_); ++r) {
    names.push_back("request." + std::string(name_of(static_cast<RequestKind>(r))));
  }
  return names;
}

Fault bind(const FaultSpec& spec, const Scenario& scenario, const Topology& topology) {
  return Binder(spec, scenario, topology).run();
}

std::vector<Fault> bind_faults(const Scenario& scenario, const Topology& topology) {
  std::vector<Fault> faults;
  for (const FaultSpec& spec : scenario.faults) faults.push_back(bind(spec, scenario, topology));
  return faults;
}

std::vector<Step> menu_steps(const Scenario& scenario) {
  std::vector<Step> steps;
  for (const std::string& name : scenario.menu.steps) {
    const auto step = parse_step(name);
    if (!step) {
      throw ScenarioError(scenario.file, 0, "faults.steps",
                          quoted(name) + " is no step; " + suggestion(name, step_names()));
    }
    steps.push_back(*step);
  }
  return steps;
}

}  // namespace mqlab
