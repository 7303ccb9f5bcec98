#include "core/scenario/catalogue.h"

#include <array>

#include "core/scenario/kafka_settings.h"
#include "core/scenario/nats_settings.h"
#include "core/scenario/text.h"

namespace mqlab {
namespace {

struct Scope {
  std::string_view name;
  const SettingTable* table;
};

bool is_kafka(BrokerKind kind) { return kind == BrokerKind::kafka; }

std::array<Scope, 4> scopes_of(BrokerKind kind, Flavour flavour) {
  if (is_kafka(kind)) {
    return {{{"broker", &kafka_broker_settings()},
             {"topic", &kafka_topic_settings()},
             {"producer", &kafka_producer_settings(flavour)},
             {"consumer", &kafka_consumer_settings(flavour)}}};
  }
  return {{{"broker", &nats_server_settings()},
           {"stream", &nats_stream_settings()},
           {"producer", &nats_producer_settings()},
           {"consumer", &nats_consumer_settings()}}};
}

void list(std::vector<SettingEntry>& out, const Scope& scope, Version version) {
  for (const auto& part : {scope.table->own, scope.table->shared}) {
    for (const Setting& s : part) {
      SettingEntry entry;
      entry.scope = scope.name;
      entry.key = s.key;
      entry.type = name_of(s.type);
      entry.range = range_of(s);
      entry.default_value = default_of(s, version);
      entry.effect = s.effect;
      entry.alias_of = s.alias_of;
      entry.modelled = s.modelled;
      entry.source = scope.table->source;
      out.push_back(std::move(entry));
    }
  }
  for (const std::string& name : split(scope.table->known_only, ' ')) {
    const std::size_t at = scope.table->known_only.find(name);
    SettingEntry entry;
    entry.scope = scope.name;
    entry.key = scope.table->known_only.substr(at, name.size());
    entry.type = "string";
    entry.modelled = false;
    entry.source = scope.table->source;
    out.push_back(std::move(entry));
  }
}

void look(std::vector<std::string>& out, const Properties& properties, const SettingTable& table,
          const std::string& path) {
  for (const Property& property : properties) {
    const Setting* setting = table.find(property.key);
    if (setting != nullptr ? setting->modelled : !table.knows_only(property.key)) continue;
    out.push_back(path + "." + property.key + ": " + std::string(table.owner) +
                  " knows it; of no effect in the simulated world");
  }
}

BrokerKind kind_of(const Scenario& s, const std::vector<std::string>& topics) {
  for (const TopicSpec& topic : s.topics) {
    for (const std::string& name : topics) {
      if (topic.name == name) return broker_of(s, topic).kind;
    }
  }
  return s.brokers.front().kind;
}

}  // namespace

std::vector<SettingEntry> settings_of(BrokerKind kind, Version version, Flavour flavour) {
  std::vector<SettingEntry> out;
  for (const Scope& scope : scopes_of(kind, flavour)) list(out, scope, version);
  return out;
}

std::vector<std::string> unmodelled(const Scenario& s) {
  std::vector<std::string> out;
  const auto table = [&](BrokerKind kind, std::size_t scope) -> const SettingTable& {
    const Flavour flavour = s.flavour == Flavour::java ? Flavour::java : Flavour::librdkafka;
    return *scopes_of(kind, flavour)[scope].table;
  };
  for (const BrokerSpec& b : s.brokers) {
    const std::string path = s.brokers.size() == 1 ? "broker" : "brokers." + b.name;
    look(out, b.properties, table(b.kind, 0), path + ".properties");
  }
  for (const TopicSpec& t : s.topics)
    look(out, t.properties, table(broker_of(s, t).kind, 1), "topics." + t.name + ".properties");
  for (const WorkloadSpec& w : s.workloads) {
    const std::string path = s.workloads.size() == 1 ? "workload" : "workloads." + w.name;
    look(out, w.producer, table(kind_of(s, {w.topic}), 2), path + ".producer");
  }
  for (const StageSpec& g : s.stages) {
    look(out, g.consumer, table(kind_of(s, g.inputs), 3), "stages." + g.name + ".consumer");
    look(out, g.producer, table(kind_of(s, g.outputs.empty() ? g.inputs : g.outputs), 2),
         "stages." + g.name + ".producer");
  }
  for (const ObserverSpec& o : s.observers)
    look(out, o.consumer, table(kind_of(s, {o.topic}), 3), "observers." + o.name + ".consumer");
  return out;
}

}  // namespace mqlab
