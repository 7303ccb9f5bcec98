#include "core/claims/parameters.h"

#include <algorithm>

#include "core/scenario/error.h"
#include "core/scenario/text.h"
#include "core/scenario/units.h"

namespace mqlab {

Parameters::Parameters(const ClaimSpec& claim, const Scenario& scenario, std::vector<std::string> known)
    : claim_(&claim), scenario_(&scenario) {
  known.insert(known.end(), {"observed_at_least", "unknown_at_most", "under_faults"});
  for (const Property& property : claim.parameters) {
    if (std::find(known.begin(), known.end(), property.key) != known.end()) continue;
    known.insert(known.end(), {"of", "in", "as", "expect", "excused"});
    fail(property.key, "no such parameter of " + claim.id + "; " + suggestion(property.key, known));
  }
}

std::string Parameters::text(std::string_view key, std::string_view default_value) const {
  const Property* property = find(key);
  return property != nullptr ? property->value : std::string(default_value);
}

bool Parameters::truth(std::string_view key) const {
  const Property* property = find(key);
  if (property == nullptr || property->value == "false") return false;
  if (property->value != "true") fail(key, "must be true or false, not " + quoted(property->value));
  return true;
}

std::string Parameters::word(std::string_view key, const std::vector<std::string>& words) const {
  const Property* property = find(key);
  if (property == nullptr) return words.front();
  if (std::find(words.begin(), words.end(), property->value) == words.end()) {
    fail(key, quoted(property->value) + " is not among its values; " + suggestion(property->value, words));
  }
  return property->value;
}

std::optional<Duration> Parameters::duration(std::string_view key) const {
  const Property* property = find(key);
  if (property == nullptr) return std::nullopt;
  const std::optional<Duration> value = parse_duration(property->value);
  if (!value) fail(key, quoted(property->value) + " is no duration; write it like \"15ms\"");
  return value;
}

std::optional<double> Parameters::rate(std::string_view key) const {
  const Property* property = find(key);
  if (property == nullptr) return std::nullopt;
  const std::optional<double> value = parse_rate(property->value);
  if (!value || *value < 0) fail(key, quoted(property->value) + " is no rate; write it like \"1000/s\"");
  return value;
}

std::optional<std::uint64_t> Parameters::count(std::string_view key) const {
  const Property* property = find(key);
  if (property == nullptr) return std::nullopt;
  const std::optional<std::int64_t> value = parse_integer(property->value);
  if (!value || *value < 0)
    fail(key, quoted(property->value) + " is no count; write a whole number, 0 or more");
  return static_cast<std::uint64_t>(*value);
}

std::optional<std::uint64_t> Parameters::bytes(std::string_view key) const {
  const Property* property = find(key);
  if (property == nullptr) return std::nullopt;
  const std::optional<std::uint64_t> value = parse_bytes(property->value);
  if (!value) fail(key, quoted(property->value) + " is no size; write it like \"64MiB\"");
  return value;
}

double Parameters::share(std::string_view key, double default_value) const {
  const Property* property = find(key);
  if (property == nullptr) return default_value;
  std::string_view text = property->value;
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  const std::optional<double> number = parse_number(text);
  const double value = number ? *number / (percent ? 100 : 1) : -1;
  if (value < 0 || value > 1) fail(key, quoted(property->value) + " is no share; write a number from 0 to 1");
  return value;
}

void Parameters::fail(std::string_view key, const std::string& problem) const {
  const Property* property = find(key);
  const int line = property != nullptr && property->line > 0 ? property->line : claim_->line;
  const std::string path = "claims." + claim_->id + (key.empty() ? "" : "." + std::string(key));
  throw ScenarioError(scenario_->file, line, path, problem);
}

}  // namespace mqlab
