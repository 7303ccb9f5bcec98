// no_phantom: each effect's id was invoked, its sending not failed or aborted, its content what was
// published.
#include "core/claims/delivery.h"
#include "core/claims/makers.h"

namespace mqlab {

std::unique_ptr<Checker> make_no_phantom(const ClaimSpec& claim, const Scenario& scenario,
                                         const Topology& topology) {
  return make_delivery_checker(claim, scenario, topology, {.phantoms = true});
}

}  // namespace mqlab
