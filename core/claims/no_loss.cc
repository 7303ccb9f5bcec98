// no_loss: each acked id has at least one effect; a dead letter of a stage that reads it counts.
#include "core/claims/delivery.h"
#include "core/claims/makers.h"

namespace mqlab {

std::unique_ptr<Checker> make_no_loss(const ClaimSpec& claim, const Scenario& scenario,
                                      const Topology& topology) {
  return make_delivery_checker(claim, scenario, topology, {.loss = true});
}

}  // namespace mqlab
