// [broker.quotas]
#include <algorithm>

#include "core/base/limits.h"
#include "core/scenario/sections.h"
#include "core/scenario/text.h"
#include "core/scenario/topology.h"
#include "core/scenario/units.h"

namespace mqlab {
namespace {

constexpr std::uint64_t most = 1'000'000'000'000;  // bytes per second

/// A number as Kafka has it, or "20KiB/s". 0 when it is absent.
std::uint64_t byte_rate(const Section& s, std::string_view key) {
  const Node* node = s.node(key);
  if (node == nullptr) return 0;
  std::optional<std::uint64_t> rate;
  if (node->type == Node::Type::text) rate = parse_byte_rate(node->text);
  if (node->type == Node::Type::integer && node->integer > 0)
    rate = static_cast<std::uint64_t>(node->integer);
  if (!rate || *rate == 0 || *rate > most)
    s.fail(key, "must be bytes per second, 1 to " + std::to_string(most) + ", as 20480 or \"20KiB/s\"");
  return *rate;
}

void read_quota(const Section& s, const std::string& client, std::vector<QuotaSpec>& quotas) {
  const QuotaSpec quota{client, byte_rate(s, "producer_byte_rate"), byte_rate(s, "consumer_byte_rate"),
                        s.line()};
  const bool any = quota.producer_byte_rate != 0 || quota.consumer_byte_rate != 0;
  if (any) quotas.push_back(quota);
  if (!any && !client.empty()) s.fail("says no producer_byte_rate and no consumer_byte_rate");
}

}  // namespace

std::vector<QuotaSpec> read_quotas(const Section& broker, BrokerKind kind) {
  if (!broker.has("quotas")) return {};
  if (kind != BrokerKind::kafka) broker.fail("quotas", "only Kafka has quotas for its clients");
  std::vector<QuotaSpec> quotas;
  const Section s = broker.below("quotas", "broker.quotas");
  read_quota(s, "", quotas);
  const Node* clients = s.node("clients");
  if (clients != nullptr && !clients->is_table()) s.fail("clients", "must be a table of tables, by client");
  if (clients != nullptr && clients->children.size() > limits::scenario_list)
    s.fail("clients", "more than " + std::to_string(limits::scenario_list) + " of them");
  for (std::size_t i = 0; clients != nullptr && i < clients->children.size(); ++i) {
    const Node& client = clients->children[i];
    const std::string path = s.path() + ".clients." + client.key;
    if (!client.is_table())
      fail_at(s.file().name, client.line, path,
              "must be a table with producer_byte_rate, consumer_byte_rate");
    read_quota(Section(client, path, "broker.quotas.client", s.file()), client.key, quotas);
  }
  return quotas;
}

void check_quotas(const Scenario& scenario, const Topology& topology) {
  std::vector<std::string> names;
  for (const ProcessInfo& process : topology.processes) {
    const bool client =
        process.role != Role::broker && process.role != Role::auditor && process.role != Role::lab;
    if (client && process.instance == 0 && process.name != process.group) names.push_back(process.group);
    if (client) names.push_back(process.name);
  }
  for (const BrokerSpec& broker : scenario.brokers) {
    for (const QuotaSpec& quota : broker.quotas) {
      if (quota.client.empty() || std::find(names.begin(), names.end(), quota.client) != names.end())
        continue;
      const std::string path = scenario.brokers.size() == 1 ? "broker" : "brokers." + broker.name;
      fail_at(scenario.file, quota.line, path + ".quotas.clients." + quota.client,
              "there is no such client; " + suggestion(quota.client, names));
    }
  }
}

}  // namespace mqlab
