#include "search/variants.h"

#include <algorithm>
#include <array>

#include "core/scenario/error.h"
#include "core/scenario/kafka_settings.h"
#include "core/scenario/nats_settings.h"
#include "core/scenario/reader.h"
#include "core/scenario/text.h"
#include "core/scenario/units.h"

namespace mqlab::search {
namespace {

/// Settings that say how many of the nodes take part: of no sense on a single one.
constexpr std::array<std::string_view, 5> of_several_nodes = {
    "min.insync.replicas", "default.replication.factor", "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor", "transaction.state.log.min.isr"};

void drop(Properties& properties, std::string_view key) {
  std::erase_if(properties, [&](const Property& p) { return p.key == key; });
}

void make_single_node(Scenario& scenario, std::size_t b) {
  BrokerSpec& broker = scenario.brokers[b];
  broker.nodes = 1;
  for (const std::string_view key : of_several_nodes) drop(broker.properties, key);
  for (TopicSpec& topic : scenario.topics) {
    if (!topic.broker.empty() && topic.broker != broker.name) continue;
    topic.replication = 1;
    for (const std::string_view key : of_several_nodes) drop(topic.properties, key);
  }
}

/// Every property map of a scenario: which one it is, its path, the table of what may stand in it.
struct Map {
  std::string path;
  const SettingTable* table;  ///< nullptr for modules' own settings
  Properties* properties;
};

std::vector<Map> maps_of(Scenario& s) {
  std::vector<Map> maps;
  const auto nats = [&](const std::string& broker) {
    const auto at = std::find_if(s.brokers.begin(), s.brokers.end(),
                                 [&](const BrokerSpec& b) { return b.name == broker || broker.empty(); });
    return at != s.brokers.end() && at->kind == BrokerKind::nats;
  };
  const auto nats_topic = [&](const std::string& name) {
    const auto at =
        std::find_if(s.topics.begin(), s.topics.end(), [&](const TopicSpec& t) { return t.name == name; });
    return at != s.topics.end() && nats(at->broker);
  };
  const auto producer = [&](bool of_nats) {
    return of_nats ? &nats_producer_settings() : &kafka_producer_settings(s.flavour);
  };
  const auto consumer = [&](bool of_nats) {
    return of_nats ? &nats_consumer_settings() : &kafka_consumer_settings(s.flavour);
  };
  for (BrokerSpec& b : s.brokers) {
    maps.push_back({"brokers." + b.name + ".properties",
                    b.kind == BrokerKind::nats ? &nats_server_settings() : &kafka_broker_settings(),
                    &b.properties});
  }
  for (TopicSpec& t : s.topics) {
    const std::string list = t.stream ? "streams." : "topics.";
    maps.push_back({list + t.name + ".properties",
                    nats(t.broker) ? &nats_stream_settings() : &kafka_topic_settings(), &t.properties});
  }
  for (WorkloadSpec& w : s.workloads) {
    maps.push_back({"workloads." + w.name + ".producer", producer(nats_topic(w.topic)), &w.producer});
    maps.push_back({"workloads." + w.name, nullptr, &w.settings});
  }
  for (StageSpec& stage : s.stages) {
    const std::string path = "stages." + stage.name;
    const bool of_nats = !stage.inputs.empty() && nats_topic(stage.inputs.front());
    maps.push_back({path + ".consumer", consumer(of_nats), &stage.consumer});
    maps.push_back({path + ".producer", producer(of_nats), &stage.producer});
    maps.push_back({path, nullptr, &stage.settings});
  }
  for (ObserverSpec& o : s.observers)
    maps.push_back({"observers." + o.name + ".consumer", consumer(nats_topic(o.topic)), &o.consumer});
  return maps;
}

/// Whoever is heard less often than its session lasts is given up again and again.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> heartbeats_of_sessions = {
    {{"heartbeat.interval.ms", "session.timeout.ms"},
     {"broker.heartbeat.interval.ms", "broker.session.timeout.ms"}}};

std::ptrdiff_t hopeless_sessions(Scenario scenario) {
  std::ptrdiff_t found = 0;
  for (const Map& map : maps_of(scenario)) {
    if (map.table == nullptr) continue;
    const Values values(*map.table, *map.properties, {}, {scenario.file, map.path, 0});
    found += std::ranges::count_if(heartbeats_of_sessions, [&](const auto& pair) {
      return map.table->find(pair.first) != nullptr &&
             values.duration(pair.first) >= values.duration(pair.second);
    });
  }
  return found;
}

/// The values next to a setting's own.
std::vector<std::string> neighbours(const Map& map, const Property& property) {
  std::vector<std::string> values;
  if (property.value == "true" || property.value == "false")
    return {property.value == "true" ? "false" : "true"};
  const Setting* setting = map.table != nullptr ? map.table->find(property.key) : nullptr;
  if (setting != nullptr && setting->type == SettingType::word) {
    for (const std::string& word : split(setting->words, '|')) {
      if (word != property.value) values.push_back(word);
    }
  }
  if (const auto number = parse_integer(property.value)) {
    if (*number > 1) values.push_back(std::to_string(*number / 2));
    if (*number > 0) values.push_back(std::to_string(*number * 2));
  }
  return values;
}

/// Calls add(map, property) for every setting that the file writes.
template <class Add>
void each_setting(const Scenario& scenario, Add&& add) {
  Scenario copy = scenario;
  for (const Map& map : maps_of(copy)) {
    for (const Property& property : *map.properties) {
      if (property.line > 0) add(map, property);
    }
  }
}

Variant other(const Map& map, const Property& property, std::optional<std::string> value) {
  const auto change = [path = map.path, key = property.key, value](Scenario& scenario) {
    for (const Map& m : maps_of(scenario)) {
      if (m.path != path) continue;
      const auto at = std::find_if(m.properties->begin(), m.properties->end(),
                                   [&](const Property& p) { return p.key == key; });
      if (!value && at != m.properties->end()) m.properties->erase(at);
      if (!value) continue;
      if (at != m.properties->end()) {
        at->value = *value;
      } else {
        m.properties->push_back({key, *value, 0});
      }
    }
  };
  return {map.path + "." + property.key, property.value, value.value_or("default"), property.line, change};
}

}  // namespace

std::vector<Variant> simpler(const Scenario& scenario) {
  std::vector<Variant> variants;
  const auto add = [&](const std::string& path, std::function<void(Scenario&)> change) {
    variants.push_back({path, "", "", 0, std::move(change)});
  };
  for (std::size_t i = 0; i < scenario.stages.size(); ++i) {
    if (scenario.stages[i].instances > 1)
      add("stages." + scenario.stages[i].name + ".instances",
          [i](Scenario& s) { s.stages[i].instances = 1; });
  }
  for (std::size_t i = 0; i < scenario.workloads.size(); ++i) {
    const WorkloadSpec& w = scenario.workloads[i];
    if (w.producers > 1)
      add("workloads." + w.name + ".producers", [i](Scenario& s) { s.workloads[i].producers = 1; });
  }
  for (std::size_t i = 0; i < scenario.topics.size(); ++i) {
    if (scenario.topics[i].partitions > 1)
      add("topics." + scenario.topics[i].name + ".partitions",
          [i](Scenario& s) { s.topics[i].partitions = 1; });
  }
  for (std::size_t i = 0; i < scenario.brokers.size(); ++i) {
    if (scenario.brokers[i].nodes > 1)
      add("brokers." + scenario.brokers[i].name + ".nodes", [i](Scenario& s) { make_single_node(s, i); });
  }
  for (std::size_t i = 0; i < scenario.workloads.size(); ++i) {
    const WorkloadSpec& w = scenario.workloads[i];
    if (w.keys.kind != KeySpec::Kind::none && w.keys.count > 1)
      add("workloads." + w.name + ".keys", [i](Scenario& s) { s.workloads[i].keys.count = 1; });
  }
  return variants;
}

std::vector<Variant> without_settings(const Scenario& scenario) {
  std::vector<Variant> variants;
  each_setting(scenario, [&](const Map& map, const Property& property) {
    variants.push_back(other(map, property, std::nullopt));
  });
  return variants;
}

std::vector<Variant> other_settings(const Scenario& scenario) {
  using Style = RetrySpec::Style;
  std::vector<Variant> variants;
  each_setting(scenario, [&](const Map& map, const Property& property) {
    variants.push_back(other(map, property, std::nullopt));
    for (const std::string& value : neighbours(map, property))
      variants.push_back(other(map, property, value));
  });
  for (std::size_t i = 0; i < scenario.stages.size(); ++i) {
    const StageSpec& stage = scenario.stages[i];
    if (stage.retry.style == Style::none) continue;
    const Style next = stage.retry.style == Style::topics ? Style::in_place : Style::none;
    variants.push_back({"stages." + stage.name + ".retry.style",
                        stage.retry.style == Style::topics ? "topics" : "in_place",
                        next == Style::none ? "none" : "in_place", stage.line,
                        [i, next](Scenario& s) { s.stages[i].retry.style = next; }});
  }
  return variants;
}

std::optional<Scenario> changed(const Scenario& scenario, const Variant& variant) {
  Scenario copy = scenario;
  variant.change(copy);
  try {
    Scenario read = read_scenario(to_toml(copy), scenario.file);
    if (hopeless_sessions(read) > hopeless_sessions(scenario)) return std::nullopt;
    return read;
  } catch (const ScenarioError&) {
    return std::nullopt;
  }
}

}  // namespace mqlab::search
