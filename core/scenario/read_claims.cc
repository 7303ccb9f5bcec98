// [claims]
#include "core/base/limits.h"
#include "core/scenario/sections.h"
#include "core/scenario/text.h"

namespace mqlab {
namespace {

/// `of = "deliveries"`: the population is what the only workload sends, counted where it is handled.
void deliveries_of_all(const Section& s, ClaimSpec& claim, const Scenario& scenario) {
  if (claim.of != "deliveries") return;
  for (const TopicSpec& topic : scenario.topics) {
    if (topic.name == claim.of) return;
  }
  if (scenario.workloads.size() != 1) {
    s.fail("of", "\"deliveries\" of what? write of = \"TOPIC\", deliveries = true");
  }
  claim.of = scenario.workloads.front().topic;
  if (mqlab::find(claim.parameters, "deliveries") == nullptr) {
    claim.parameters.push_back({"deliveries", "true", s.line("of")});
  }
}

ClaimSpec read_claim(const std::string& id, const Section& s, const Scenario& scenario) {
  ClaimSpec claim;
  claim.id = id;
  claim.of = s.text("of", "");
  claim.in = s.text("in", "");
  claim.as = s.text("as", "");
  claim.expect_violated = s.word("expect", 0, {"holds", "violated"}) == 1;
  claim.excused = s.texts("excused");
  claim.parameters = s.rest();
  claim.line = s.line();
  deliveries_of_all(s, claim, scenario);
  check_claim(s, claim, scenario);
  return claim;
}

void read_value(const Node& value, Scenario& scenario, const SourceFile& file) {
  const std::string path = "claims." + one_line(value.key, 100);
  if (value.type == Node::Type::boolean) {
    ClaimSpec claim;
    claim.id = value.key;
    claim.line = value.line;
    if (value.boolean) scenario.claims.push_back(std::move(claim));  // false: not claimed
    return;
  }
  if (value.is_table()) {
    scenario.claims.push_back(read_claim(value.key, Section(value, path, "claim", file, true), scenario));
    return;
  }
  if (!value.is_array() || value.children.empty() || value.children.size() > limits::scenario_list) {
    fail_at(file.name, value.line, path, "must be true, a table of parameters, or a list of such tables");
  }
  for (std::size_t i = 0; i < value.children.size(); ++i) {
    const std::string each = value.children.size() == 1 ? path : path + "[" + std::to_string(i) + "]";
    scenario.claims.push_back(
        read_claim(value.key, Section(value.children[i], each, "claim", file, true), scenario));
  }
}

}  // namespace

void read_claims(const Node& root, Scenario& scenario, const SourceFile& file) {
  const Node* claims = root.child("claims");
  if (claims == nullptr) return;
  if (!claims->is_table()) fail_at(file.name, claims->line, "claims", "must be a table: CLAIM = { … }");
  for (const Node& value : claims->children) read_value(value, scenario, file);
}

}  // namespace mqlab
