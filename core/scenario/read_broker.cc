// [broker] / [[brokers]], [client]
#include "core/base/limits.h"
#include "core/scenario/sections.h"
#include "core/scenario/text.h"
#include "core/scenario/version.h"

namespace mqlab {
namespace {

/// The kinds this build can run, in the order of BrokerKind.
std::vector<std::string> kinds() { return {"kafka", "nats"}; }

BrokerKind read_kind(const Section& s) {
  if (!s.has("kind")) s.fail("kind", "missing: kafka or nats");
  return s.word("kind", 0, kinds()) == 0 ? BrokerKind::kafka : BrokerKind::nats;
}

std::string read_version(const Section& s, BrokerKind kind) {
  const bool kafka = kind == BrokerKind::kafka;
  if (s.has("version") && s.node("version")->type == Node::Type::real && s.node("version")->text.empty()) {
    s.fail("version", "must be a string in quotes, as \"4.1\"");
  }
  const std::string text = s.text("version", kafka ? "4.1" : "2.12");
  const auto version = parse_version(text);
  if (!version) s.fail("version", quoted(text) + " is no version: numbers and dots, as \"4.1\" or \"4.1.0\"");
  const Version low = kafka ? Version{3, 0} : Version{2, 9};
  const Version high = kafka ? Version{5, 0} : Version{3, 0};
  if (*version < low || !(*version < high)) {
    s.fail("version", quoted(text) + " is not covered: " + (kafka ? "Kafka 3.0 to 4.x" : "NATS 2.9 to 2.x"));
  }
  return text;
}

Flavour read_flavour(const Node& root, const Scenario& scenario, const SourceFile& file) {
  bool kafka = false;
  for (const BrokerSpec& broker : scenario.brokers) kafka = kafka || broker.kind == BrokerKind::kafka;
  const Flavour otherwise = kafka || scenario.brokers.empty() ? Flavour::librdkafka : Flavour::nats_c;
  const Node* client = root.child("client");
  if (client == nullptr) return otherwise;
  const Section s(*client, "client", "client", file);
  const auto flavour = static_cast<Flavour>(
      s.word("flavour", static_cast<std::size_t>(otherwise), {"java", "librdkafka", "nats.c"}));
  if (kafka && flavour == Flavour::nats_c)
    s.fail("flavour", "\"nats.c\" does not speak to Kafka; java or librdkafka");
  if (!kafka && flavour != Flavour::nats_c) {
    s.fail("flavour", quoted(name_of(flavour)) + " does not speak to NATS; nats.c");
  }
  return flavour;
}

}  // namespace

void read_brokers(const Node& root, Scenario& scenario, const SourceFile& file) {
  for (const Element& element : elements(root, "broker", "brokers", file)) {
    const Section s(*element.table, element.path, "broker", file);
    BrokerSpec broker;
    broker.kind = read_kind(s);
    broker.name = s.name("name", name_of(broker.kind));
    check_new_group(s, broker.name, scenario);
    broker.version = read_version(s, broker.kind);
    broker.nodes = static_cast<std::uint32_t>(s.integer("nodes", 1, 1, limits::nodes));
    broker.properties = s.properties("properties");
    broker.quotas = read_quotas(s, broker.kind);
    broker.line = s.line();
    scenario.brokers.push_back(std::move(broker));
  }
  if (scenario.brokers.empty())
    fail_at(file.name, 0, "broker", "missing: [broker] with kind = \"kafka\" or \"nats\"");
  scenario.flavour = read_flavour(root, scenario, file);
}

}  // namespace mqlab
