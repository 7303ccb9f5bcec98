// [faults] (what the search may do) and [[fault]] (spelled out)
#include <limits>

#include "core/scenario/sections.h"
#include "core/scenario/text.h"

namespace mqlab {
namespace {

std::vector<std::string> action_names() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last_action); ++i)
    names.emplace_back(name_of(static_cast<Action>(i)));
  return names;
}

void read_menu(const Section& s, Scenario& scenario) {
  FaultMenu& menu = scenario.menu;
  const std::vector<std::string> names = action_names();
  for (const std::string& action : s.texts("menu")) {
    std::size_t i = 0;
    while (i < names.size() && names[i] != action) ++i;
    if (i == names.size()) s.fail("menu", quoted(action) + " is unknown; " + suggestion(action, names));
    menu.menu.push_back(static_cast<Action>(i));
  }
  menu.targets = s.texts("targets");
  for (const std::string& target : menu.targets) check_target(s, "targets", target, scenario);
  menu.steps = s.texts("steps");
  menu.at_most = static_cast<std::uint32_t>(s.integer("at_most", 1, 0, 16));
  menu.heal = s.durations("heal");
}

AnchorSpec read_anchor(const Section& s, const Scenario& scenario) {
  AnchorSpec at;
  if (!s.has("at")) s.fail("at", "missing: { process = …, step = … } or a time as \"2s\"");
  if (!s.node("at")->is_table()) {
    at.time = s.duration("at", {});
    return at;
  }
  const Section a = s.below("at", "fault.at");
  if (a.has("time")) {
    for (const std::string_view key : {"process", "step", "message", "nth"}) {
      if (a.has(key)) a.fail(key, "time is set too: a fault comes at a time or at a step");
    }
    at.time = a.duration("time", {});
    return at;
  }
  at.process = a.required("process");
  check_process(a, "process", at.process, scenario);
  at.step = a.required("step");
  at.message =
      static_cast<std::uint32_t>(a.integer("message", 0, 0, std::numeric_limits<std::uint32_t>::max()));
  at.nth = static_cast<std::uint32_t>(a.integer("nth", 1, 1, std::numeric_limits<std::uint32_t>::max()));
  return at;
}

/// The names of one side of a partition: "kafka-1,kafka-2", or "rest".
void check_side(const Section& s, const std::string& side, const Scenario& scenario) {
  if (side == "rest") return;
  for (const std::string& name : split(side, ',')) check_process(s, "between", name, scenario);
}

FaultSpec read_one(const Section& s, const Scenario& scenario) {
  FaultSpec fault;
  fault.at = read_anchor(s, scenario);
  if (!s.has("action")) s.fail("action", "missing; valid: " + joined(action_names()));
  fault.action = static_cast<Action>(s.word("action", 0, action_names()));
  fault.target = s.text("target", "");
  if (!fault.target.empty()) check_target(s, "target", fault.target, scenario);
  fault.between = s.texts("between");
  if (!fault.between.empty() && fault.action != Action::partition)
    s.fail("between", "only action = \"partition\" has it");
  if (!fault.between.empty() && fault.between.size() != 2) s.fail("between", "must be a list of two sides");
  for (const std::string& side : fault.between) check_side(s, side, scenario);
  if (fault.between == std::vector<std::string>{"rest", "rest"})
    s.fail("between", "one side must have names");
  if (!fault.between.empty() && !fault.target.empty()) s.fail("target", "between is set too; one of them");
  if (fault.at.time && fault.target.empty() && fault.between.empty()) {
    s.fail("target", "missing: at a time there is no process of its own to hit");
  }
  if (for_good(fault.action) && s.has("heal"))
    s.fail("heal", std::string(name_of(fault.action)) + " is for good: leave it out");
  fault.heal = for_good(fault.action) ? Duration{} : s.duration("heal", fault.heal);
  fault.line = s.line();
  return fault;
}

}  // namespace

void read_faults(const Node& root, Scenario& scenario, const SourceFile& file) {
  const Node* menu = root.child("faults");
  if (menu != nullptr && menu->is_array()) {
    fail_at(file.name, menu->line, "faults", "is the menu, a table; faults spelled out are [[fault]]");
  }
  if (menu != nullptr) read_menu(Section(*menu, "faults", "faults", file), scenario);
  if (scenario.menu.heal.empty()) scenario.menu.heal = {Duration::seconds(1)};
  for (const Element& element : elements(root, "fault", "fault", file)) {
    scenario.faults.push_back(read_one(Section(*element.table, element.path, "fault", file), scenario));
  }
}

}  // namespace mqlab
