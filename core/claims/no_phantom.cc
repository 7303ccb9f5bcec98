// no_phantom: each effect's id was invoked, its sending not failed or aborted, its content what was
// published.
#include "core/claims/delivery.h"
#include "core/claims/makers.h"

namespace mqlab {

std::unique_ptr<Checker> make_no_phantom(const ClaimSpec& claim, const Scenario& scenario,
                                         const Topology& topology) {
  const Parameters parameters(claim, scenario, {"deliveries", "stage"});
  return std::make_unique<DeliveryChecker>(resolve_scope(claim, scenario, topology, parameters),
                                           DeliveryParts{.phantoms = true});
}

}  // namespace mqlab
