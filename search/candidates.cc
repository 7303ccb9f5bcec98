#include "search/candidates.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/draw.h"

namespace mqlab::search {
namespace {

bool named(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool listed(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || named(names, name);
}

bool any_topic_named(const Topology& topology, const std::vector<std::string>& names) {
  return std::ranges::any_of(topology.topics, [&](const TopicInfo& t) { return named(names, t.name); });
}

/// Which processes' rows are anchors: those of the stages, workloads and observers that the menu names;
/// of all stages where it names none, or only brokers.
bool anchors_at(const Scenario& scenario, const Topology& topology, const ProcessInfo& process) {
  const auto& targets = scenario.menu.targets;
  const auto has_name = [&](const ProcessInfo& p) {
    const bool steps = p.role == Role::stage || p.role == Role::workload || p.role == Role::observer;
    return steps && named(targets, p.group);
  };
  if (std::any_of(topology.processes.begin(), topology.processes.end(), has_name)) return has_name(process);
  return process.role == Role::stage;
}

/// A broker is hit node by node when the menu names it (or one of its nodes); a stage's own process when it
/// names the stage, or no target at all. Power and disks are the brokers' alone.
void collect_deeds(const Scenario& scenario, const Topology& topology, Candidates& found) {
  const FaultMenu& menu = scenario.menu;
  if (menu.at_most == 0) return;
  const std::vector<Duration> heals =
      menu.heal.empty() ? std::vector<Duration>{Duration::seconds(1)} : menu.heal;
  const bool self =
      std::any_of(topology.processes.begin(), topology.processes.end(), [&](const ProcessInfo& p) {
        return ((p.role == Role::stage || p.role == Role::workload) && listed(menu.targets, p.group)) ||
               (p.role == Role::observer && named(menu.targets, p.group));
      });
  const auto add = [&](Action action, const std::string& target, Duration heal) {
    found.deeds.push_back(
        {action, target, heal, target.empty() ? std::vector<ProcessId>{} : topology.group(target), no_topic});
  };
  const auto scale = [&](Action action) {
    for (const ProcessInfo& p : topology.processes) {
      const bool fits = p.role == Role::stage && p.spare == (action == Action::scale_out);
      if (fits && (listed(menu.targets, p.group) || named(menu.targets, p.name))) add(action, p.name, {});
    }
  };
  const auto grow = [&] {
    for (TopicId t = 0; t < topology.topics.size(); ++t) {
      const TopicInfo& topic = topology.topics[t];
      if (topic.grows() && (named(menu.targets, topic.name) || !any_topic_named(topology, menu.targets)))
        found.deeds.push_back({Action::add_partitions, topic.name, {}, {topology.lab}, t});
    }
  };
  for (const Action action : menu.menu) {
    if (of_scale(action)) scale(action);
    if (action == Action::add_partitions) grow();
    if (for_good(action)) continue;
    for (const Duration heal : heals) {
      if (of_request(action)) {
        found.request_deeds.push_back({action, "", heal, {}, no_topic});
        continue;
      }
      const bool brokers_only = action == Action::power_loss || of_disk(action);
      if (self && !brokers_only) add(action, "", heal);
      for (const ProcessInfo& p : topology.processes) {
        if (p.role != Role::broker) continue;
        const bool meant = named(menu.targets, p.group) || named(menu.targets, p.name) ||
                           (brokers_only && menu.targets.empty());
        if (meant) add(action, p.name, heal);
      }
      // Power fails for a whole cluster at once as well as for one node.
      for (const BrokerSpec& broker : scenario.brokers) {
        const bool meant = listed(menu.targets, broker.name);
        if (action == Action::power_loss && broker.nodes > 1 && meant) add(action, broker.name, heal);
      }
    }
  }
}

/// Goes along with a run and notes its anchors.
class Collector {
 public:
  Collector(Runner& runner, Candidates& found) : runner_(runner), found_(found) {
    const Scenario& scenario = runner.setup().scenario;
    const Topology& topology = runner.setup().topology;
    group_of_.assign(topology.processes.size(), none);
    for (std::size_t p = 0; p < topology.processes.size(); ++p) {
      const ProcessInfo& process = topology.processes[p];
      if (!anchors_at(scenario, topology, process)) continue;
      const auto at = std::find_if(found.groups.begin(), found.groups.end(),
                                   [&](const Group& g) { return g.name == process.group; });
      group_of_[p] = static_cast<std::uint32_t>(at - found.groups.begin());
      if (at == found.groups.end()) found.groups.push_back({process.group, topology.group(process.group)});
    }
    steps_ = menu_steps(scenario);
  }

  /// Rows that the event after `step` events wrote.
  void scan(std::uint64_t step) {
    const History& history = runner_.history();
    for (; row_ < history.size(); ++row_) {
      const Row& row = history[row_];
      if (row.kind == Kind::fault) {  // the next one counts from here
        counts_.clear();
        found_.anchors.clear();
      }
      if (row.process < group_of_.size() && group_of_[row.process] != none) note(row, step);
    }
  }
  /// What happened before the first event cannot be branched off from; it counts all the same.
  void scan_birth() {
    scan(0);
    found_.anchors.clear();
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Count {
    std::uint32_t rows = 0;
    std::uint32_t before = 0;  ///< of `rows`, before the current event
    std::uint64_t step = ~std::uint64_t{0};
  };

  void note(const Row& row, std::uint64_t step) {
    const auto what = step_of(row);
    if (!what) return;
    if (!steps_.empty() && std::find(steps_.begin(), steps_.end(), *what) == steps_.end()) return;
    const std::uint32_t group = group_of_[row.process];
    const std::uint64_t kind = static_cast<std::uint64_t>(what->kind) << 24 |
                               static_cast<std::uint64_t>(what->phase) << 16 | what->request;
    const std::uint64_t name = mix(mix(std::uint64_t{group} << 32 | kind) ^ row.message);
    Count& count = counts_[name];
    if (count.step != step) count = {count.rows, count.rows, step};
    found_.anchors.push_back({step, name, group, count.before, *what, row.message, ++count.rows});
  }

  Runner& runner_;
  Candidates& found_;
  std::vector<std::uint32_t> group_of_;  ///< by process
  std::vector<Step> steps_;              ///< those of the menu; empty = all
  std::unordered_map<std::uint64_t, Count> counts_;
  std::size_t row_ = 0;
};

}  // namespace

std::uint64_t Candidates::per_anchor(const AnchorPoint& anchor) const {
  return deeds.size() + (anchor.what.kind == Kind::request ? request_deeds.size() : 0);
}

std::uint64_t Candidates::count() const {
  return anchors.empty() ? 0 : first.back() + per_anchor(anchors.back());
}

Candidates::Choice Candidates::at(std::uint64_t i) const {
  const auto behind = std::upper_bound(first.begin(), first.end(), i);
  const auto anchor = static_cast<std::size_t>(behind - first.begin() - 1);
  const std::uint64_t deed = i - first[anchor];
  return {&anchors[anchor], deed < deeds.size() ? &deeds[deed] : &request_deeds[deed - deeds.size()]};
}

AnchorPoint Candidates::following(std::uint64_t before, std::uint64_t i) const {
  AnchorPoint anchor = *at(i).anchor;
  for (const AnchorPoint* a = at(before).anchor; a >= anchors.data(); --a) {
    if (a->name != anchor.name) continue;
    anchor.nth = anchor.nth > a->nth ? anchor.nth - a->nth : 1;
    break;
  }
  return anchor;
}

Candidates collect(Runner& runner, const Schedule& schedule) {
  Candidates found;
  collect_deeds(runner.setup().scenario, runner.setup().topology, found);
  runner.begin(schedule);
  Collector collector(runner, found);
  sim::World& world = runner.world();
  collector.scan_birth();
  while (true) {
    const std::uint64_t step = world.steps();
    if (!world.step()) break;
    collector.scan(step);
  }
  found.faults_reached = world.faults_fired() == runner.faults();
  if (!found.faults_reached || (found.deeds.empty() && found.request_deeds.empty())) found.anchors.clear();
  std::uint64_t next = 0;
  for (const AnchorPoint& anchor : found.anchors) {
    found.first.push_back(next);
    next += found.per_anchor(anchor);
  }
  return found;
}

FaultSpec Candidates::to_spec(const Choice& choice) const {
  FaultSpec spec;
  spec.at.process = groups[choice.anchor->group].name;
  spec.at.step = name_of(choice.anchor->what);
  spec.at.message = choice.anchor->message;
  spec.at.nth = choice.anchor->nth;
  spec.action = choice.deed->action;
  spec.target = choice.deed->target;
  spec.heal = choice.deed->heal;
  return spec;
}

Fault Candidates::to_fault(const Choice& choice) const {
  Fault fault;
  fault.anchored = groups[choice.anchor->group].processes;
  fault.step = choice.anchor->what;
  fault.message = choice.anchor->message;
  fault.nth = choice.anchor->nth;
  fault.action = choice.deed->action;
  fault.targets = choice.deed->targets;
  fault.grown = choice.deed->grown;
  fault.heal = choice.deed->heal;
  return fault;
}

}  // namespace mqlab::search
