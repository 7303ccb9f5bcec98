// Quotas of Kafka's clients (KIP-13): what they come to for one process, and how long a client may have to
// wait.
#pragma once
#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/scenario/kafka_settings.h"
#include "core/scenario/topology.h"

namespace mqlab {

/// In bytes per second at each node; 0 = none.
struct ClientQuota {
  std::uint64_t produce = 0;
  std::uint64_t consume = 0;

  bool any() const { return produce != 0 || consume != 0; }
};

/// By process; empty when there are no quotas at all. Kafka's order: what names the client itself before what
/// is for all, each of the two rates by itself. [kafka: ClientQuotaManager.DefaultQuotaCallback]
std::vector<ClientQuota> client_quotas(const BrokerSpec& broker, const Topology& topology);

/// The longest that a node may keep a client waiting that was just within its quotas: no request or answer is
/// larger than a batch may be, nor than all the workloads together. 0 without quotas.
Duration longest_throttle(const Scenario& scenario, const BrokerSpec& broker,
                          const std::vector<ClientQuota>& quotas);

}  // namespace mqlab
