// Settings as the linter reads them: the tables of what exists, and what a scenario sets, with its lines.
#include <map>

#include <pybind11/stl.h>

#include "bindings/areas.h"
#include "core/scenario/error.h"
#include "core/scenario/kafka_settings.h"
#include "core/scenario/nats_settings.h"
#include "core/scenario/text.h"
#include "core/scenario/units.h"

namespace py = pybind11;

namespace mqlab::bindings {
namespace {

const std::map<std::string, const SettingTable& (*)(), std::less<>> tables = {
    {"java producer", java_producer_settings},
    {"java consumer", java_consumer_settings},
    {"librdkafka producer", librdkafka_producer_settings},
    {"librdkafka consumer", librdkafka_consumer_settings},
    {"kafka broker", kafka_broker_settings},
    {"kafka topic", kafka_topic_settings},
    {"nats server", nats_server_settings},
    {"nats stream", nats_stream_settings},
    {"nats consumer", nats_consumer_settings},
    {"nats producer", nats_producer_settings},
};

const SettingTable& table_of(const std::string& name) {
  const auto found = tables.find(name);
  if (found == tables.end()) throw py::key_error(name);
  return found->second();
}

/// Each setting as (key, the key it is another name of or "", default).
std::vector<std::tuple<std::string_view, std::string_view, std::string_view>> settings_of(
    const std::string& name, const std::string& version) {
  const SettingTable& table = table_of(name);
  const Version when = parse_version(version).value_or(Version{});
  std::vector<std::tuple<std::string_view, std::string_view, std::string_view>> rows;
  for (const auto& part : {table.own, table.shared}) {
    for (const Setting& setting : part)
      rows.emplace_back(setting.key, setting.alias_of, default_of(setting, when));
  }
  return rows;
}

std::vector<std::string> known_of(const std::string& name) {
  const SettingTable& table = table_of(name);
  std::vector<std::string> keys = split(table.known_only, ' ');
  for (std::string& key : split(table.lab_sets, ' ')) keys.push_back(std::move(key));
  return keys;
}

/// Why the table's owner would refuse `key = value`; empty when it would not.
std::string refusal(const std::string& name, const std::string& version, const std::string& key,
                    const std::string& value) {
  const std::string file;
  const Properties one = {{.key = key, .value = value, .line = 1}};
  try {
    const Values values(table_of(name), one, parse_version(version).value_or(Version{}), {file, "", 1});
    return {};
  } catch (const ScenarioError& error) {
    return error.problem;
  }
}

py::dict given(const Properties& properties) {
  py::dict values;
  for (const Property& p : properties) {
    if (p.line > 0) values[py::str(p.key)] = py::make_tuple(p.value, p.line);
  }
  return values;
}

/// Property maps by path, with what was set and at which line: (path, line of the owner, {key: (value,
/// line)}).
py::list property_maps(const Scenario& s) {
  py::list maps;
  const auto add = [&maps](const std::string& path, int line, const Properties& properties) {
    maps.append(py::make_tuple(path, line, given(properties)));
  };
  for (const BrokerSpec& b : s.brokers) add("brokers." + b.name + ".properties", b.line, b.properties);
  for (const TopicSpec& t : s.topics)
    add((t.stream ? "streams." : "topics.") + t.name + ".properties", t.line, t.properties);
  for (const WorkloadSpec& w : s.workloads) add("workloads." + w.name + ".producer", w.line, w.producer);
  for (const StageSpec& g : s.stages) {
    add("stages." + g.name + ".consumer", g.line, g.consumer);
    add("stages." + g.name + ".producer", g.line, g.producer);
    add("stages." + g.name, g.line, g.settings);
  }
  for (const ObserverSpec& o : s.observers) add("observers." + o.name + ".consumer", o.line, o.consumer);
  return maps;
}

}  // namespace

void bind_settings(py::module_& m) {
  m.def("settings_of", &settings_of, py::arg("table"), py::arg("version"));
  m.def("known_of", &known_of, py::arg("table"));
  m.def("refusal", &refusal, py::arg("table"), py::arg("version"), py::arg("key"), py::arg("value"));
  m.def("property_maps", &property_maps, py::arg("scenario"));
  m.def(
      "nanoseconds",
      [](const std::string& text) {
        const auto duration = parse_duration(text);
        return duration ? std::optional(duration->ns) : std::nullopt;
      },
      py::arg("text"));
  m.def("bytes_of", &parse_bytes, py::arg("text"));
}

}  // namespace mqlab::bindings
