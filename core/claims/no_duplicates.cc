// no_duplicates: no id has more than one effect (of = "deliveries": more than one handler start).
#include "core/claims/delivery.h"
#include "core/claims/makers.h"

namespace mqlab {

std::unique_ptr<Checker> make_no_duplicates(const ClaimSpec& claim, const Scenario& scenario,
                                            const Topology& topology) {
  return make_delivery_checker(claim, scenario, topology, {.duplicates = true});
}

}  // namespace mqlab
