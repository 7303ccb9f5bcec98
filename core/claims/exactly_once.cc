// exactly_once: no loss, no duplicate, no phantom among the effects; an unknown sending has none or one.
#include "core/claims/delivery.h"
#include "core/claims/makers.h"

namespace mqlab {

std::unique_ptr<Checker> make_exactly_once(const ClaimSpec& claim, const Scenario& scenario,
                                           const Topology& topology) {
  const Parameters parameters(claim, scenario, {"deliveries", "stage"});
  return std::make_unique<DeliveryChecker>(resolve_scope(claim, scenario, topology, parameters),
                                           DeliveryParts{.loss = true, .duplicates = true, .phantoms = true});
}

}  // namespace mqlab
