// A Kafka broker's settings, read and checked once for all runs of a scenario.
#pragma once
#include <memory>
#include <vector>

#include "core/scenario/kafka_quotas.h"
#include "core/scenario/kafka_settings.h"
#include "sim/clients/kafka/plan.h"
#include "sim/cluster.h"

namespace mqlab::sim {

/// Throws ScenarioError for settings that do not exist or contradict each other.
std::unique_ptr<ClusterPlan> plan_kafka(const Scenario& scenario, const Topology& topology,
                                        std::uint32_t broker);

namespace kafka {

class KafkaPlan final : public ClusterPlan {
 public:
  KafkaPlan(const Scenario& scenario, const Topology& topology, std::uint32_t broker);

  Cluster* make(World& world) const override;
  Capabilities capabilities(ProcessId process) const override;
  Duration settle() const override { return settle_; }

  std::uint32_t broker() const { return broker_; }
  const KafkaBroker& values() const { return values_; }
  const std::vector<ProcessId>& processes() const { return processes_; }
  /// By TopicId; defaults for topics of other brokers.
  const std::vector<KafkaTopic>& topics() const { return topics_; }
  const client::ClientPlans& clients() const { return clients_; }
  ClientQuota quota(ProcessId process) const {
    return process < quotas_.size() ? quotas_[process] : ClientQuota{};
  }

 private:
  std::uint32_t broker_;
  KafkaBroker values_;
  std::vector<ProcessId> processes_;
  std::vector<KafkaTopic> topics_;
  client::ClientPlans clients_;
  std::vector<ClientQuota> quotas_;  ///< by process; empty without
  Duration settle_ = {};
};

}  // namespace kafka
}  // namespace mqlab::sim
