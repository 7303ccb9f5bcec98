// Every setting that brokers and clients have, as a list; and which of a scenario's settings the simulation
// does not depend on.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/scenario/scenario.h"
#include "core/scenario/version.h"

namespace mqlab {

struct SettingEntry {
  std::string_view scope;  ///< "broker", "topic", "producer", "consumer", "stream"
  std::string_view key;
  std::string type;
  std::string range;
  std::string default_value;  ///< of the version asked for; empty = none
  std::string_view effect;
  std::string_view alias_of;
  bool modelled = true;
  std::string_view source;
};

/// Of a broker and its clients; those of `flavour` where the broker has several.
std::vector<SettingEntry> settings_of(BrokerKind kind, Version version, Flavour flavour);

/// What the scenario sets and the simulated world does not depend on, one line each: "workload.producer.
/// compression.type: known to …, of no effect in the simulated world". In the order of the file's sections.
std::vector<std::string> unmodelled(const Scenario& scenario);

}  // namespace mqlab
