#include "core/scenario/kafka_quotas.h"

#include <algorithm>

namespace mqlab {
namespace {

constexpr std::uint64_t frame_bytes = 200;  // a message's own in a request: header, topic, batch

/// What names the process beats what names its group.
void overlay(const QuotaSpec& spec, ClientQuota& quota) {
  if (spec.producer_byte_rate != 0) quota.produce = spec.producer_byte_rate;
  if (spec.consumer_byte_rate != 0) quota.consume = spec.consumer_byte_rate;
}

bool application(Role role) {
  return role == Role::workload || role == Role::stage || role == Role::observer;
}

}  // namespace

std::vector<ClientQuota> client_quotas(const BrokerSpec& broker, const Topology& topology) {
  if (broker.quotas.empty()) return {};
  std::vector<ClientQuota> quotas(topology.processes.size());
  for (std::size_t p = 0; p < quotas.size(); ++p) {
    const ProcessInfo& process = topology.processes[p];
    if (!application(process.role)) continue;
    const auto apply = [&](auto names) {
      for (const QuotaSpec& spec : broker.quotas) {
        if (names(spec.client)) overlay(spec, quotas[p]);
      }
    };
    apply([](const std::string& client) { return client.empty(); });
    apply([&](const std::string& client) { return client == process.group; });
    apply([&](const std::string& client) { return client == process.name; });
  }
  return quotas;
}

Duration longest_throttle(const Scenario& scenario, const BrokerSpec& broker,
                          const std::vector<ClientQuota>& quotas) {
  std::uint64_t least = 0;
  for (const ClientQuota& quota : quotas) {
    for (const std::uint64_t rate : {quota.produce, quota.consume}) {
      if (rate != 0) least = least == 0 ? rate : std::min(least, rate);
    }
  }
  if (least == 0) return {};
  const KafkaBroker values = resolve_broker(scenario, broker);
  std::uint64_t everything = 0;
  for (const WorkloadSpec& w : scenario.workloads) everything += w.messages * (w.size.high + frame_bytes);
  const std::uint64_t largest = std::min<std::uint64_t>(everything, values.message_max_bytes);
  const auto beyond = static_cast<std::int64_t>(largest / least + 1);
  return values.quota_window * (values.quota_samples + 1) + Duration::seconds(beyond);
}

}  // namespace mqlab
