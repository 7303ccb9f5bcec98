#include "search/candidates.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace mqlab::search {
namespace {

bool listed(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

bool request_action(Action action) { return action == Action::delay || action == Action::drop_response; }

/// Which processes' rows are anchors: those of stages, unless the menu names others.
bool anchors_at(const Scenario& scenario, const ProcessInfo& process) {
  const auto& targets = scenario.menu.targets;
  if (process.role == Role::stage) {
    const bool some_stage_named =
        std::any_of(scenario.stages.begin(), scenario.stages.end(), [&](const StageSpec& s) {
          return std::find(targets.begin(), targets.end(), s.name) != targets.end();
        });
    return !some_stage_named || listed(targets, process.group);
  }
  return process.role == Role::workload &&
         std::find(targets.begin(), targets.end(), process.group) != targets.end();
}

/// A broker is hit node by node when the menu names it (or one of its nodes); a stage's own process when it
/// names the stage, or no target at all.
void collect_deeds(const Scenario& scenario, const Topology& topology, Candidates& found) {
  const FaultMenu& menu = scenario.menu;
  const std::vector<Duration> heals =
      menu.heal.empty() ? std::vector<Duration>{Duration::seconds(1)} : menu.heal;
  const bool self =
      std::any_of(topology.processes.begin(), topology.processes.end(), [&](const ProcessInfo& p) {
        return (p.role == Role::stage || p.role == Role::workload) && listed(menu.targets, p.group);
      });
  for (const Action action : menu.menu) {
    for (const Duration heal : heals) {
      if (request_action(action)) {
        found.request_deeds.push_back({action, "", heal});
        continue;
      }
      if (self && action != Action::power_loss) found.deeds.push_back({action, "", heal});
      for (const ProcessInfo& p : topology.processes) {
        if (p.role != Role::broker) continue;
        const bool named =
            std::find(menu.targets.begin(), menu.targets.end(), p.group) != menu.targets.end() ||
            std::find(menu.targets.begin(), menu.targets.end(), p.name) != menu.targets.end();
        if (named || (action == Action::power_loss && menu.targets.empty()))
          found.deeds.push_back({action, p.name, heal});
      }
      // Power fails for a whole cluster at once as well as for one node.
      for (const BrokerSpec& broker : scenario.brokers) {
        const bool named = listed(menu.targets, broker.name);
        if (action == Action::power_loss && broker.nodes > 1 && named)
          found.deeds.push_back({action, broker.name, heal});
      }
    }
  }
}

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

Candidates collect(Runner& runner, const Schedule& reference) {
  const Scenario& scenario = runner.setup().scenario;
  const Topology& topology = runner.setup().topology;
  Candidates found;
  collect_deeds(scenario, topology, found);
  std::map<std::tuple<std::uint32_t, std::uint32_t, MessageId>, std::uint32_t> counts, before;
  runner.begin(reference);
  sim::World& world = runner.world();
  std::size_t row = 0;
  const auto scan = [&](std::uint64_t step) {
    before = counts;
    for (; row < world.history().size(); ++row) {
      const Row& r = world.history()[row];
      if (r.process >= topology.processes.size() || !anchors_at(scenario, topology.processes[r.process]))
        continue;
      const auto what = step_of(r);
      if (!what || !listed(scenario.menu.steps, name_of(*what))) continue;
      const ProcessInfo& process = topology.processes[r.process];
      const std::uint32_t code = (static_cast<std::uint32_t>(what->kind) << 24) |
                                 (static_cast<std::uint32_t>(what->phase) << 16) | what->request;
      const auto key =
          std::tuple{static_cast<std::uint32_t>(process.role) << 16 | process.index, code, r.message};
      const std::uint32_t nth = ++counts[key];
      const auto past = before.find(key);
      found.anchors.push_back(
          {step, past == before.end() ? 0 : past->second, process.group, *what, r.message, nth});
    }
  };
  scan(0);
  found.anchors.clear();  // what happened before the first event cannot be branched off from
  while (true) {
    const std::uint64_t step = world.steps();
    if (!world.step()) break;
    scan(step);
  }
  std::uint64_t next = 0;
  for (const AnchorPoint& anchor : found.anchors) {
    found.first.push_back(next);
    next += found.per_anchor(anchor);
  }
  return found;
}

FaultSpec to_spec(const AnchorPoint& anchor, const Deed& deed) {
  FaultSpec spec;
  spec.at.process = anchor.group;
  spec.at.step = name_of(anchor.what);
  spec.at.message = anchor.message;
  spec.at.nth = anchor.nth;
  spec.action = deed.action;
  spec.target = deed.target;
  spec.heal = deed.heal;
  return spec;
}

}  // namespace mqlab::search
