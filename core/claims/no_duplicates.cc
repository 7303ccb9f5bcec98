// no_duplicates: no id has more than one effect (of = "deliveries": more than one handler start).
#include "core/claims/delivery.h"
#include "core/claims/makers.h"

namespace mqlab {

std::unique_ptr<Checker> make_no_duplicates(const ClaimSpec& claim, const Scenario& scenario,
                                            const Topology& topology) {
  const Parameters parameters(claim, scenario, {"deliveries", "stage"});
  return std::make_unique<DeliveryChecker>(resolve_scope(claim, scenario, topology, parameters),
                                           DeliveryParts{.duplicates = true});
}

}  // namespace mqlab
