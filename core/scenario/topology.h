// The things of a scenario by number: processes, topics, places. Both worlds number them from here, in file
// order, so rows of a simulated and a live run compare.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/scenario/scenario.h"

namespace mqlab {

enum class Role : std::uint8_t { broker, workload, stage, observer, auditor, lab };

/// Order: broker nodes, workload producers, stage instances, observers, the auditor, the lab (faults).
struct ProcessInfo {
  std::string name;   ///< "kafka-1", "api" ("api-0" when several), "embed-0"; unique
  std::string group;  ///< the broker's, workload's, stage's or observer's name
  Role role = Role::stage;
  std::uint32_t index = 0;     ///< into Scenario::brokers, workloads, stages or observers
  std::uint32_t instance = 0;  ///< within the group, from 0
  bool spare = false;          ///< begins when scaled out
};

enum class TopicKind : std::uint8_t { topic, stream, store };

struct TopicInfo {
  std::string name;
  TopicKind kind = TopicKind::topic;
  std::uint32_t broker = 0;  ///< into Scenario::brokers
  std::uint32_t index = 0;   ///< into Scenario::topics; not for stores
  PlaceId first_place = 0;
  std::uint32_t partitions = 1;  ///< once all have been made
  std::uint32_t at_first = 1;    ///< of them, when a run begins

  bool grows() const { return at_first < partitions; }
};

struct PlaceInfo {
  std::string name;  ///< "requests/3"; a stream or store: its name
  TopicId topic = 0;
  std::uint32_t partition = 0;
};

std::string_view name_of(Role role);

struct Topology {
  explicit Topology(const Scenario& scenario);

  std::vector<ProcessInfo> processes;
  std::vector<TopicInfo> topics;
  std::vector<PlaceInfo> places;
  ProcessId auditor = no_process;
  ProcessId lab = no_process;

  TopicId topic(std::string_view name) const;      ///< no_topic when absent
  ProcessId process(std::string_view name) const;  ///< no_process when absent
  /// Processes of a group ("embed"), or the one process so named ("embed-0"); empty when absent.
  std::vector<ProcessId> group(std::string_view name) const;
  ProcessId first_of(Role role, std::uint32_t index) const;
};

}  // namespace mqlab
