#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/base/limits.h"
#include "core/faults/anchor.h"
#include "core/scenario/kafka_quotas.h"
#include "core/scenario/topology.h"
#include "core/scenario/units.h"
#include "live/worker/lab.h"

namespace mqlab::live {
namespace {

using nlohmann::json;

json pairs(const Properties& properties) {
  json list = json::object();
  for (const Property& p : properties) list[p.key] = p.value;
  return list;
}

std::int64_t milliseconds(const Properties& properties, std::string_view key, std::int64_t otherwise) {
  const Property* property = find(properties, key);
  return parse_integer(property == nullptr ? "" : property->value).value_or(otherwise) * 1'000'000;
}

/// How long a Kafka client takes to commit by itself; 0 where it does not.
std::int64_t auto_commit_ns(BrokerKind kind, const Properties& consumer) {
  if (kind != BrokerKind::kafka) return 0;
  const Property* enabled = find(consumer, "enable.auto.commit");
  return enabled != nullptr && enabled->value != "true"
             ? 0
             : milliseconds(consumer, "auto.commit.interval.ms", 5000);
}

/// A busy machine is late: with 1 s a run was once taken for over before a redelivery came.
constexpr std::int64_t margin = 3'000'000'000;

/// Idle for so long, nothing comes any more, whatever the broker says: a dead member's session is over, a
/// message whose acknowledgement was lost has been delivered again.
std::int64_t settle_ns(BrokerKind kind, const Properties& consumer) {
  if (kind == BrokerKind::kafka) return milliseconds(consumer, "session.timeout.ms", 45'000) + margin;
  const Property* wait = find(consumer, "ack_wait");
  const auto given = parse_duration(wait == nullptr ? "30s" : wait->value);
  return given.value_or(Duration::seconds(30)).ns + margin;
}

json readers(const Scenario& s) {
  const BrokerKind kind = s.brokers.front().kind;
  json out = {{"stages", json::array()}, {"observers", json::array()}};
  std::int64_t settle = 0;
  for (const StageSpec& g : s.stages) {
    out["stages"].push_back({{"name", g.name},
                             {"module", g.module},
                             {"inputs", g.inputs},
                             {"transactional", find(g.producer, "transactional.id") != nullptr},
                             {"auto_commit", auto_commit_ns(kind, g.consumer)}});
    if (!g.inputs.empty()) settle = std::max(settle, settle_ns(kind, g.consumer));
    for (const std::string& input : g.inputs) {  // what was added to it is read from the next look at it on
      const auto grows = [&](const TopicSpec& t) { return t.name == input && t.more_partitions > 0; };
      if (std::ranges::any_of(s.topics, grows))
        settle = std::max(settle,
                          margin + milliseconds(g.consumer, "topic.metadata.refresh.interval.ms", 300'000));
    }
  }
  for (const ObserverSpec& o : s.observers)
    out["observers"].push_back({{"name", o.name}, {"topic", o.topic}});
  out["settle"] = settle;
  const BrokerSpec& broker = s.brokers.front();
  out["throttle"] = longest_throttle(s, broker, client_quotas(broker, Topology(s))).ns;
  return out;
}

/// By client, as Kafka takes them: a process's client.id is its name.
json quotas(const BrokerSpec& broker, const Topology& topology) {
  json out = json::object();
  const std::vector<ClientQuota> all = client_quotas(broker, topology);
  for (std::size_t p = 0; p < all.size(); ++p) {
    if (!all[p].any()) continue;
    json& of = out[topology.processes[p].name];
    if (all[p].produce != 0) of["producer_byte_rate"] = all[p].produce;
    if (all[p].consume != 0) of["consumer_byte_rate"] = all[p].consume;
  }
  return out;
}

json faults(const Scenario& scenario, const Topology& topology) {
  json list = json::array();
  for (const FaultSpec& spec : scenario.faults) {
    const Fault fault = bind(spec, scenario, topology);
    list.push_back({{"timed", fault.timed},
                    {"time", fault.time.ns},
                    {"action", mqlab::name_of(fault.action)},
                    {"action_number", static_cast<int>(fault.action)},
                    {"targets", fault.targets},
                    {"grown", fault.grown == no_topic ? json() : json(fault.grown)},
                    {"leader_of", fault.leader_of == no_place ? json() : json(fault.leader_of)},
                    {"side_a", fault.side_a},
                    {"side_b", fault.side_b},
                    {"heal", fault.heal.ns},
                    {"nth", fault.nth},
                    {"anchored", fault.anchored},
                    {"line", spec.line},
                    {"step", fault.timed ? "" : mqlab::name_of(fault.step)},
                    {"portable", fault.timed || portable(fault.step)}});
  }
  return list;
}

}  // namespace

int describe(const Options& options) {
  const Scenario s = options.scenario();
  const Topology topology(s);
  json out;
  out["name"] = s.name;
  out["address"] = s.live.address;
  out["horizon"] = s.limits.horizon.ns;
  out["supervisor_delay"] = limits::supervisor_delay.ns;
  out["watch_disk"] = std::any_of(s.claims.begin(), s.claims.end(),
                                  [](const ClaimSpec& claim) { return claim.id == "disk.bounded"; });
  out["live_timeout"] = s.limits.live_timeout.ns;
  for (const ProcessInfo& p : topology.processes) {
    out["processes"].push_back({{"name", p.name},
                                {"group", p.group},
                                {"role", mqlab::name_of(p.role)},
                                {"index", p.index},
                                {"instance", p.instance},
                                {"spare", p.spare}});
  }
  for (const TopicInfo& t : topology.topics) {
    out["topics"].push_back({{"name", t.name},
                             {"store", t.kind == TopicKind::store},
                             {"broker", t.broker},
                             {"first_place", t.first_place},
                             {"partitions", t.partitions},
                             {"at_first", t.at_first}});
  }
  for (const PlaceInfo& p : topology.places) out["places"].push_back(p.name);
  for (const BrokerSpec& b : s.brokers) {
    out["brokers"].push_back({{"name", b.name},
                              {"kind", mqlab::name_of(b.kind)},
                              {"version", b.version},
                              {"nodes", b.nodes},
                              {"properties", pairs(b.properties)},
                              {"quotas", quotas(b, topology)}});
  }
  out.update(readers(s));
  for (const WorkloadSpec& w : s.workloads) {
    out["workloads"].push_back({{"name", w.name}, {"messages", w.messages}, {"rate", w.rate}});
  }
  out["faults"] = faults(s, topology);
  std::printf("%s\n", out.dump().c_str());
  return 0;
}

}  // namespace mqlab::live
