// [workload] / [[workloads]]
#include <algorithm>

#include "core/base/limits.h"
#include "core/scenario/sections.h"
#include "core/scenario/text.h"
#include "core/scenario/units.h"

namespace mqlab {
namespace {

constexpr double longest_seconds = 1e9;  // instants are 64-bit nanoseconds: 292 years
constexpr double most_per_second = 1e9;  // one message per nanosecond, the resolution of time

double read_rate(const Section& s, double otherwise) {
  const Node* node = s.node("rate");
  if (node == nullptr) return otherwise;
  std::optional<double> rate;
  if (node->type == Node::Type::text) rate = parse_rate(node->text);
  if (node->type == Node::Type::integer) rate = static_cast<double>(node->integer);
  if (node->type == Node::Type::real && node->real - node->real == 0) rate = node->real;
  if (!rate) s.fail("rate", "must be messages per time, as \"2000/s\", \"90/m\" or 2000");
  // One a day at least, so that a run's times stay far below the end of the clock.
  if (!(*rate > 1.0 / 86'400) || *rate > most_per_second) {
    s.fail("rate", format_number(*rate) + "/s: must be more than one a day and at most 1e9/s");
  }
  return *rate;
}

std::uint64_t read_messages(const Section& s, double rate) {
  if (s.has("messages") && s.has("duration")) s.fail("duration", "messages is set too; one of them");
  if (s.has("messages")) return s.integer("messages", 1, 1, limits::messages);
  if (!s.has("duration")) s.fail("messages", "missing: how many messages, or duration = \"60s\"");
  const double messages = s.duration("duration", {}).in_seconds() * rate;
  if (messages < 1) s.fail("duration", "less than one message at this rate");
  if (messages > static_cast<double>(limits::messages)) {
    s.fail("duration", "more than " + std::to_string(limits::messages) + " messages at this rate");
  }
  return static_cast<std::uint64_t>(messages);
}

SizeSpec read_size(const Section& s, SizeSpec otherwise) {
  const Node* node = s.node("size");
  if (node == nullptr) return otherwise;
  const auto bytes = [](const Section& of, std::string_view key) {
    if (!of.has(key)) of.fail(key, "missing");
    return static_cast<std::uint32_t>(of.bytes(key, 0, limits::message_bytes_min, limits::message_bytes));
  };
  if (!node->is_table()) return {bytes(s, "size"), bytes(s, "size")};
  const Section range = s.below("size", "workload.size");
  const SizeSpec size{bytes(range, "low"), bytes(range, "high")};
  if (size.high < size.low) range.fail("high", "must be at least low");
  return size;
}

double read_tombstones(const Section& s, const Scenario& scenario, const std::string& name) {
  const double share = s.number("tombstones", 0, 0, 1);
  const auto topic = std::find_if(scenario.topics.begin(), scenario.topics.end(),
                                  [&](const TopicSpec& t) { return t.name == name; });
  if (share > 0 && topic != scenario.topics.end() && topic->stream)
    s.fail("tombstones", "only topics of Kafka have messages without value");
  return share;
}

ArrivalSpec read_arrival(const Section& s) {
  using Kind = ArrivalSpec::Kind;
  const Node* node = s.node("arrival");
  if (node == nullptr) return {};
  const std::vector<std::string> kinds = {"constant", "poisson", "bursts"};
  if (!node->is_table()) {
    const auto kind = static_cast<Kind>(s.word("arrival", 0, kinds));
    if (kind == Kind::bursts) s.fail("arrival", "bursts need a size: { kind = \"bursts\", burst = 10 }");
    return {kind, 1};
  }
  const Section a = s.below("arrival", "workload.arrival");
  if (!a.has("kind")) a.fail("kind", "missing: constant, poisson or bursts");
  ArrivalSpec arrival;
  arrival.kind = static_cast<Kind>(a.word("kind", 0, kinds));
  arrival.burst = static_cast<std::uint32_t>(a.integer("burst", 1, 1, 1'000'000));
  if (arrival.kind != Kind::bursts && a.has("burst")) a.fail("burst", "only kind = \"bursts\" has it");
  if (arrival.kind == Kind::bursts && !a.has("burst"))
    a.fail("burst", "missing: messages that come together");
  return arrival;
}

KeySpec read_keys(const Section& s) {
  using Kind = KeySpec::Kind;
  const Node* node = s.node("keys");
  if (node == nullptr) return {};
  const std::vector<std::string> kinds = {"none", "round_robin", "uniform", "zipf"};
  if (!node->is_table()) {
    if (s.word("keys", 0, kinds) != 0)
      s.fail("keys", "needs a count: { kind = " + quoted(s.text("keys", "")) + ", count = 1000 }");
    return {};
  }
  const Section k = s.below("keys", "workload.keys");
  if (!k.has("kind")) k.fail("kind", "missing: none, round_robin, uniform or zipf");
  KeySpec keys;
  keys.kind = static_cast<Kind>(k.word("kind", 0, kinds));
  if (keys.kind == Kind::none && k.has("count")) k.fail("count", "there are no keys with kind = \"none\"");
  if (keys.kind != Kind::none && !k.has("count")) k.fail("count", "missing: how many distinct keys");
  keys.count = static_cast<std::uint32_t>(k.integer("count", 1, 1, limits::keys));
  if (keys.kind != Kind::zipf && k.has("skew")) k.fail("skew", "only kind = \"zipf\" has it");
  keys.skew = k.number("skew", 1.0, 0, 10);
  return keys;
}

}  // namespace

void read_workloads(const Node& root, Scenario& scenario, const SourceFile& file,
                    const ModuleCatalog& modules) {
  const std::vector<Element> list = elements(root, "workload", "workloads", file);
  for (const Element& element : list) {
    const Section s(*element.table, element.path, "workload", file, true);
    WorkloadSpec workload;
    if (list.size() > 1 && !s.has("name")) s.fail("name", "missing: there are several workloads");
    workload.name = s.name("name", "producer");
    check_new_group(s, workload.name, scenario);
    workload.settings = module_settings(s, "producer", modules);
    workload.topic = read_topic_name(s, scenario);
    workload.rate = read_rate(s, workload.rate);
    workload.messages = read_messages(s, workload.rate);
    if (static_cast<double>(workload.messages) / workload.rate > longest_seconds) {
      s.fail("rate", "at this rate the messages take more than 30 years");
    }
    workload.size = read_size(s, workload.size);
    workload.tombstones = read_tombstones(s, scenario, workload.topic);
    workload.arrival = read_arrival(s);
    workload.keys = read_keys(s);
    workload.producers = static_cast<std::uint32_t>(s.integer("producers", 1, 1, limits::instances));
    workload.producer = s.properties("producer");
    workload.line = s.line();
    scenario.workloads.push_back(std::move(workload));
  }
}

}  // namespace mqlab
