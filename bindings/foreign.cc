#include "bindings/foreign.h"

#include <map>

#include <pybind11/stl.h>

#include "core/scenario/error.h"

namespace py = pybind11;

namespace mqlab::bindings {
namespace {

py::object side() { return py::module_::import("mqlab.module"); }

py::object as_python(const Message& m) {
  return side().attr("Message")(m.id, m.key, m.size, m.digest, m.cause,
                                py::bytes(reinterpret_cast<const char*>(m.payload.data), m.payload.size),
                                m.place, m.position, m.attempt, m.timestamp.ns, m.receipt);
}

std::string_view name_of(Outcome outcome) {
  constexpr std::string_view names[] = {"ok", "fail", "unknown"};
  return names[static_cast<std::size_t>(outcome)];
}

std::string_view name_of(ErrorClass error) {
  constexpr std::string_view names[] = {"none", "retriable", "abortable", "fenced", "fatal", "full"};
  return names[static_cast<std::size_t>(error)];
}

std::string_view name_of(EventKind kind) {
  constexpr std::string_view names[] = {"start",     "stop",     "invoke",   "delivered",
                                        "settled",   "assigned", "revoking", "blocked",
                                        "unblocked", "up",       "down",     "tick"};
  return names[static_cast<std::size_t>(kind)];
}

py::object as_python(const Settlement& s) {
  return side().attr("Settlement")(s.op, mqlab::name_of(s.of), name_of(s.outcome), name_of(s.error),
                                   s.duplicate, s.code, s.message, s.place, s.position,
                                   py::bytes(reinterpret_cast<const char*>(s.value.data), s.value.size));
}

py::object as_python(const PlacePosition& p) { return py::make_tuple(p.place, p.position); }

template <class T>
py::tuple all_as_python(std::span<const T> values) {
  py::tuple out(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = as_python(values[i]);
  return out;
}

py::object as_python(const Event& e) {
  return side().attr("Event")(name_of(e.kind), e.op, e.generation, e.lost, e.at.ns, all_as_python(e.messages),
                              all_as_python(e.settlements), all_as_python(e.places));
}

std::string describe(py::error_already_set& error) {
  if (error.trace()) PyException_SetTraceback(error.value().ptr(), error.trace().ptr());
  return side().attr("describe_failure")(error.value()).cast<std::string>();
}

py::frozenset names_of(const Capabilities& c) {
  py::set names;
  const std::pair<const char*, bool> all[] = {{"log", c.log},
                                              {"queue", c.queue},
                                              {"negative_ack", c.negative_ack},
                                              {"groups", c.groups},
                                              {"in_progress", c.in_progress},
                                              {"terminate", c.terminate},
                                              {"store", c.store},
                                              {"transactions", c.transactions},
                                              {"deduplicates", c.deduplicates},
                                              {"services", c.services}};
  for (const auto& [name, has] : all) {
    if (has) names.add(name);
  }
  return py::frozenset(names);
}

/// Holds the Python objects of the runs: an arena's objects are not destroyed one by one, so none may own a
/// reference. A run's objects are let go when the next run in the same arena starts its first incarnation.
/// Worlds on several threads may share a plan: the interpreter's lock guards `living_`.
class ForeignPlan : public ModulePlan {
 public:
  ForeignPlan(py::object type, py::dict settings, std::string where, std::vector<Kind> kinds,
              std::string file, int line)
      : type_(std::move(type)),
        settings_(std::move(settings)),
        where_(std::move(where)),
        kinds_(std::move(kinds)),
        file_(std::move(file)),
        line_(line) {}
  ~ForeignPlan() override {
    const py::gil_scoped_acquire gil;
    living_.clear();
    settings_ = py::object();  // empty, so that nothing is left to do once the lock is given back
    type_ = py::object();
  }

  Module* make(Arena& arena, const ModuleContext& context) const override;
  bool snapshots() const override { return false; }
  std::vector<Kind> effects() const override { return kinds_; }

  /// The module's own mistake, told as bad input: no traceback of ours around a user's line.
  [[noreturn]] void fail(py::error_already_set& error, const char* method) const {
    throw ScenarioError(file_, line_, where_ + "." + method, describe(error));
  }

 private:
  py::object type_;
  py::object settings_;
  std::string where_;
  std::vector<Kind> kinds_;
  std::string file_;
  int line_;
  mutable std::map<const Arena*, std::vector<py::object>> living_;
};

class ForeignModule : public Module {
 public:
  ForeignModule(const ForeignPlan& plan, PyObject* object) : plan_(&plan), object_(object) {}

  void handle(const Now& now, const Event& event, Effects& effects) override {
    const py::gil_scoped_acquire gil;
    // Python's own object: a module may keep it beyond this call, the effects behind it not.
    const py::object given = py::cast(EffectsHandle(effects));
    auto& handle = given.cast<EffectsHandle&>();
    try {
      py::handle(object_).attr("handle")(side().attr("Now")(now.mono.ns, now.wall.ns), as_python(event),
                                         given);
      const py::object deadline = py::handle(object_).attr("deadline")();
      deadline_ = deadline.is_none() ? Instant::never() : Instant{deadline.cast<std::int64_t>()};
    } catch (py::error_already_set& error) {
      handle.close();
      plan_->fail(error, "handle");
    }
    handle.close();
  }
  Instant deadline() const override { return deadline_; }

 private:
  const ForeignPlan* plan_;
  PyObject* object_;  // owned by the plan
  Instant deadline_ = Instant::never();
};

Module* ForeignPlan::make(Arena& arena, const ModuleContext& context) const {
  const py::gil_scoped_acquire gil;
  std::vector<py::object>& living = living_[&arena];
  if (context.incarnation == 0) living.clear();
  try {
    RandomStream random = context.random;
    living.push_back(type_(side().attr("Context")(context.process, context.instance, context.incarnation,
                                                  random.next(), settings_, names_of(context.capabilities))));
  } catch (py::error_already_set& error) {
    fail(error, "__init__");
  }
  return arena.make<ForeignModule>(*this, living.back().ptr());
}

std::vector<Kind> kinds_named(const py::object& type, const StageSpec& stage, const std::string& file) {
  std::vector<Kind> kinds;
  for (const auto& name : type.attr("uses").cast<std::vector<std::string>>()) {
    unsigned i = 0;
    while (i < static_cast<unsigned>(Kind::count_) && mqlab::name_of(static_cast<Kind>(i)) != name) ++i;
    if (i == static_cast<unsigned>(Kind::count_)) {
      throw ScenarioError(file, stage.line, "stages." + stage.name + ".module",
                          "the class's `uses` names an effect that there is not: " + name);
    }
    kinds.push_back(static_cast<Kind>(i));
  }
  return kinds;
}

}  // namespace

std::unique_ptr<ModulePlan> plan_foreign(const Scenario& scenario, const Topology& topology,
                                         ProcessId process) {
  const StageSpec& stage = scenario.stages[topology.processes[process].index];
  const py::gil_scoped_acquire gil;
  py::object type;
  try {
    type = side().attr("find")(stage.module, scenario.file);
  } catch (py::error_already_set& error) {
    const std::string text = describe(error);
    throw ScenarioError(scenario.file, stage.line, "stages." + stage.name + ".module", text);
  }
  py::dict settings;
  for (const Property& p : stage.settings) settings[py::str(p.key)] = p.value;
  return std::make_unique<ForeignPlan>(type, settings, stage.module, kinds_named(type, stage, scenario.file),
                                       scenario.file, stage.line);
}

}  // namespace mqlab::bindings
