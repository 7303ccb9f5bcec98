// [live]
#include <algorithm>
#include <array>
#include <cctype>

#include "core/scenario/sections.h"
#include "core/scenario/text.h"

namespace mqlab {
namespace {

/// Settings whose value nobody but the cluster may see (librdkafka's CONFIGURATION.md, nats.c's options).
bool secret(std::string_view key) {
  constexpr auto words =
      std::to_array<std::string_view>({"password", "secret", "token", "key.pem", "oauthbearer.config"});
  return std::ranges::any_of(words,
                             [&](std::string_view word) { return key.find(word) != std::string_view::npos; });
}

/// "${NAME}": the value comes from the environment of the process that connects.
bool from_environment(std::string_view value) {
  if (value.size() < 4 || !value.starts_with("${") || !value.ends_with("}")) return false;
  return std::ranges::all_of(value.substr(2, value.size() - 3),
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

}  // namespace

void read_live(const Node& root, Scenario& scenario, const SourceFile& file) {
  const Node* table = root.child("live");
  if (table == nullptr) return;
  const Section s(*table, "live", "live", file);
  LiveSpec& live = scenario.live;
  live.address = s.required("address");
  if (live.address.find('@') != std::string::npos)
    s.fail("address",
           "a password does not belong in an address; give it among the properties, as \"${NAME}\"");
  live.properties = s.properties("properties");
  for (const Property& p : live.properties) {
    if (secret(p.key) && !from_environment(p.value))
      fail_at(file.name, p.line, "live.properties." + p.key,
              "a secret does not belong in a scenario; write \"${NAME}\" and set that environment variable");
  }
}

}  // namespace mqlab
