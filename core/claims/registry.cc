#include <algorithm>
#include <array>

#include "core/claims/claim.h"
#include "core/claims/makers.h"
#include "core/scenario/error.h"
#include "core/scenario/text.h"

namespace mqlab {
namespace {

constexpr std::string_view delivery_parameters = "of, in, as, deliveries = false, stage";

constexpr std::array claims = {
    ClaimInfo{"no_loss", "each acked id has at least one effect; a dead letter counts", true,
              delivery_parameters, make_no_loss},
    ClaimInfo{"no_duplicates", "no id has more than one effect", true, delivery_parameters,
              make_no_duplicates},
    ClaimInfo{"no_phantom", "each effect's id was invoked, not failed or aborted, its digest equal", false,
              delivery_parameters, make_no_phantom},
    ClaimInfo{"exactly_once", "no loss, no duplicate, no phantom; an unknown sending has none or one effect",
              true, delivery_parameters, make_exactly_once},
    ClaimInfo{"order.partition",
              "per producer incarnation, first occurrences in a partition follow send order", false,
              "in, as, repeats = allowed | strict", make_order_partition},
    ClaimInfo{"order.key", "per key and producer, first effects follow send order, across consumers", false,
              delivery_parameters, make_order_key},
};

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::violated:
      return "violated";
    case Verdict::undecided:
      return "undecided";
  }
  return "";
}

std::span<const ClaimInfo> all_claims() { return claims; }

std::unique_ptr<Checker> make_checker(const ClaimSpec& spec, const Scenario& scenario,
                                      const Topology& topology) {
  const auto fail = [&](std::string_view key, const std::string& problem) {
    throw ScenarioError(scenario.file, spec.line, "claims." + spec.id + std::string(key), problem);
  };
  const auto found =
      std::find_if(claims.begin(), claims.end(), [&](const ClaimInfo& c) { return c.id == spec.id; });
  if (found == claims.end()) {
    std::vector<std::string> names;
    for (const ClaimInfo& claim : claims) names.emplace_back(claim.id);
    fail("", "there is no such claim; " + suggestion(spec.id, names));
  }
  if (!spec.excused.empty()) {
    fail(".excused", "nothing can be excused here: what retention or max-deliver removes counts as lost");
  }
  return found->make(spec, scenario, topology);
}

}  // namespace mqlab
