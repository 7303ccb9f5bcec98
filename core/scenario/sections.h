// The parts of reading a scenario, each in the file named for its tables. Internal to core/scenario.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/scenario/module_settings.h"
#include "core/scenario/reader.h"
#include "core/scenario/section.h"
#include "core/scenario/tree.h"

namespace mqlab {

/// Puts the dotted keys of property maps and claims together, so that each is one key.
void normalise(Node& root, const SourceFile& file);
void apply(const Override& change, Node& root, const SourceFile& file);

struct Topology;

struct Element {
  const Node* table;
  std::string path;  ///< "broker", "stages.embed", "stages[0]" for one without a name
};
/// The tables of a list, in file order; the singular table is a list of one. Throws when both are there.
std::vector<Element> elements(const Node& root, std::string_view singular, std::string_view plural,
                              const SourceFile& file);

void read_brokers(const Node& root, Scenario& scenario, const SourceFile& file);  // broker, client
/// Of one broker; clients' names are looked at once all are known.
std::vector<QuotaSpec> read_quotas(const Section& broker, BrokerKind kind);
void check_quotas(const Scenario& scenario, const Topology& topology);
void read_topics(const Node& root, Scenario& scenario, const SourceFile& file);  // topic, stream
void read_workloads(const Node& root, Scenario& scenario, const SourceFile& file,
                    const ModuleCatalog& modules);
void read_stages(const Node& root, Scenario& scenario, const SourceFile& file, const ModuleCatalog& modules);
void read_observers(const Node& root, Scenario& scenario, const SourceFile& file);
void read_network(const Node& root, Scenario& scenario, const SourceFile& file);  // network, limits
void read_live(const Node& root, Scenario& scenario, const SourceFile& file);
void read_faults(const Node& root, Scenario& scenario, const SourceFile& file);  // faults, fault
void read_claims(const Node& root, Scenario& scenario, const SourceFile& file);

/// "topic" or "stream", whichever the table has; the topic must exist.
std::string read_topic_name(const Section& section, const Scenario& scenario);
/// A module's own settings: what the section's table of keys does not have.
Properties module_settings(const Section& section, const std::string& module, const ModuleCatalog& modules);

// Names that must exist, or must not yet exist; the error is the section's, at `key`.
void check_topic(const Section& section, std::string_view key, const std::string& name,
                 const Scenario& scenario);
/// A process, or a stage, workload, observer or broker: all of its processes.
void check_process(const Section& section, std::string_view key, const std::string& name,
                   const Scenario& scenario);
/// The same, or "leader of TOPIC/0".
void check_target(const Section& section, std::string_view key, const std::string& target,
                  const Scenario& scenario);
void check_claim(const Section& section, const ClaimSpec& claim, const Scenario& scenario);
/// No broker, workload, stage or observer may have this name yet: processes are named after them.
void check_new_group(const Section& section, const std::string& name, const Scenario& scenario);
/// Totals, and names that come about only together. Throws ScenarioError.
void check_whole(const Scenario& scenario);
/// Client, topic and broker settings against the tables of core/scenario/*_settings.h. Throws ScenarioError.
void check_settings(const Scenario& scenario);

}  // namespace mqlab
