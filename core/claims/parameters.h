// A claim's own parameters, read from the text the scenario holds them as. Every way to get one wrong is a
// ScenarioError that names file, line and key, and what would be right.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/scenario/scenario.h"

namespace mqlab {

class Parameters {
 public:
  /// Throws when the claim has a key that is not `known`; those that every claim has are known.
  Parameters(const ClaimSpec& claim, const Scenario& scenario, std::vector<std::string> known);

  std::string text(std::string_view key, std::string_view default_value = "") const;
  bool truth(std::string_view key) const;  ///< false when absent
  /// One of `words`; the first when absent.
  std::string word(std::string_view key, const std::vector<std::string>& words) const;
  std::optional<Duration> duration(std::string_view key) const;
  std::optional<double> rate(std::string_view key) const;  ///< per second
  std::optional<std::uint64_t> count(std::string_view key) const;
  std::optional<std::uint64_t> bytes(std::string_view key) const;
  /// From 0 to 1; also as "5%".
  double share(std::string_view key, double default_value) const;

  /// Key "" = the claim as a whole; "of", "in", "as" as well.
  [[noreturn]] void fail(std::string_view key, const std::string& problem) const;

 private:
  const Property* find(std::string_view key) const { return mqlab::find(claim_->parameters, key); }

  const ClaimSpec* claim_;
  const Scenario* scenario_;
};

}  // namespace mqlab
