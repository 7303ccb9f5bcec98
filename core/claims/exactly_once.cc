// exactly_once: no loss, no duplicate, no phantom among the effects; an unknown sending has none or one.
#include "core/claims/delivery.h"
#include "core/claims/makers.h"

namespace mqlab {

std::unique_ptr<Checker> make_exactly_once(const ClaimSpec& claim, const Scenario& scenario,
                                           const Topology& topology) {
  return make_delivery_checker(claim, scenario, topology,
                               {.loss = true, .duplicates = true, .phantoms = true});
}

}  // namespace mqlab
