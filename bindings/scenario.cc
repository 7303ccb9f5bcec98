// Scenario, topology and their error.
#include <pybind11/stl.h>

#include "bindings/areas.h"
#include "bindings/errors.h"
#include "core/base/limits.h"
#include "core/scenario/catalogue.h"
#include "core/scenario/reader.h"
#include "core/scenario/topology.h"

namespace py = pybind11;

namespace mqlab::bindings {
namespace {

Scenario read(const std::string& toml, const std::string& file,
              const std::vector<std::pair<std::string, std::string>>& overrides) {
  std::vector<Override> changes;
  for (const auto& [path, value] : overrides) changes.push_back({path, value});
  const py::gil_scoped_release release;
  return read_scenario(toml, file, changes);
}

/// Empty for a kind or flavour that has no settings here.
py::list settings(const std::string& kind, const std::string& version, const std::string& flavour) {
  py::list out;
  const bool nats = kind == "nats";
  if (!nats && kind != "kafka") return out;
  const Flavour of = flavour == "java" ? Flavour::java : Flavour::librdkafka;
  const auto entries = settings_of(nats ? BrokerKind::nats : BrokerKind::kafka,
                                   parse_version(version).value_or(Version{}), of);
  for (const SettingEntry& e : entries) {
    py::dict entry;
    entry["scope"] = e.scope;
    entry["key"] = e.key;
    entry["type"] = e.type;
    entry["range"] = e.range;
    entry["default"] = e.default_value;
    entry["effect"] = e.effect;
    entry["alias_of"] =
        e.alias_of.empty() ? py::object(py::none()) : py::object(py::str(std::string(e.alias_of)));
    entry["modelled"] = e.modelled;
    entry["source"] = e.source;
    out.append(entry);
  }
  return out;
}

void bind_topology(py::module_& m) {
  py::class_<ProcessInfo>(m, "Process")
      .def_readonly("name", &ProcessInfo::name)
      .def_readonly("group", &ProcessInfo::group)
      .def_property_readonly("role", [](const ProcessInfo& p) { return mqlab::name_of(p.role); })
      .def_readonly("index", &ProcessInfo::index)
      .def_readonly("instance", &ProcessInfo::instance);
  py::class_<PlaceInfo>(m, "Place")
      .def_readonly("name", &PlaceInfo::name)
      .def_readonly("topic", &PlaceInfo::topic)
      .def_readonly("partition", &PlaceInfo::partition);
  py::class_<Topology>(m, "Topology")
      .def(py::init<const Scenario&>(), py::arg("scenario"))
      .def_readonly("processes", &Topology::processes)
      .def_readonly("places", &Topology::places)
      .def_property_readonly("topics", [](const Topology& t) {
        std::vector<std::string> names;
        for (const TopicInfo& topic : t.topics) names.push_back(topic.name);
        return names;
      });
}

}  // namespace

void bind_scenario(py::module_& m) {
  py::register_local_exception_translator(&translate_errors);
  m.attr("SCENARIO_BYTES") = limits::scenario_bytes;
  m.def("setting_catalogue", &settings, py::arg("kind"), py::arg("version"), py::arg("flavour"));
  py::list actions;
  for (unsigned i = 0; i <= static_cast<unsigned>(last_action); ++i) {
    actions.append(mqlab::name_of(static_cast<Action>(i)));
  }
  m.attr("ACTIONS") = py::tuple(actions);
  py::class_<BrokerSpec>(m, "BrokerSpec")
      .def_readonly("name", &BrokerSpec::name)
      .def_property_readonly("kind", [](const BrokerSpec& b) { return mqlab::name_of(b.kind); })
      .def_readonly("version", &BrokerSpec::version)
      .def_readonly("nodes", &BrokerSpec::nodes);
  py::class_<ClaimSpec>(m, "ClaimSpec")
      .def_readonly("id", &ClaimSpec::id)
      .def_property_readonly("scope", &ClaimSpec::scope)
      .def_readonly("expect_violated", &ClaimSpec::expect_violated)
      .def_readonly("line", &ClaimSpec::line);
  py::class_<StageSpec>(m, "StageSpec")
      .def_readonly("name", &StageSpec::name)
      .def_readonly("module", &StageSpec::module)
      .def_readonly("inputs", &StageSpec::inputs)
      .def_readonly("outputs", &StageSpec::outputs);
  py::class_<ObserverSpec>(m, "ObserverSpec")
      .def_readonly("name", &ObserverSpec::name)
      .def_readonly("topic", &ObserverSpec::topic);
  py::class_<Scenario>(m, "Scenario")
      .def_readonly("file", &Scenario::file)
      .def_readonly("name", &Scenario::name)
      .def_readonly("question", &Scenario::question)
      .def_property_readonly("flavour", [](const Scenario& s) { return mqlab::name_of(s.flavour); })
      .def_property_readonly("unmodelled", &unmodelled)
      .def_readonly("brokers", &Scenario::brokers)
      .def_readonly("stages", &Scenario::stages)
      .def_readonly("observers", &Scenario::observers)
      .def_readonly("claims", &Scenario::claims)
      .def_property_readonly("menu",
                             [](const Scenario& s) {
                               std::vector<std::string_view> names;
                               for (const Action action : s.menu.menu)
                                 names.push_back(mqlab::name_of(action));
                               return names;
                             })
      .def_property_readonly("faults", [](const Scenario& s) { return s.faults.size(); })
      .def_property_readonly("requests",
                             [](const Scenario& s) {
                               std::uint64_t requests = 0;
                               for (const WorkloadSpec& workload : s.workloads) requests += workload.messages;
                               return requests;
                             })
      .def_property_readonly("shared_links", [](const Scenario& s) { return s.network.shared(); })
      .def("to_toml", [](const Scenario& s) { return to_toml(s); });
  m.def("read_scenario", &read, py::arg("toml"), py::arg("file"),
        py::arg("overrides") = std::vector<std::pair<std::string, std::string>>());
  bind_topology(m);
}

}  // namespace mqlab::bindings
