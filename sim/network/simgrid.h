// The fabric of SimGrid (https://simgrid.org): max-min fair shares of every link, platform files with their
// profiles. One in a process's life: a second engine would begin at the first one's clock.
#pragma once
#include <memory>

#include "core/scenario/scenario.h"
#include "sim/network/fabric.h"

namespace mqlab::sim {

/// Of a scenario whose network has a platform or racks. Throws ScenarioError when the platform cannot be
/// read, a place is no host of it, or two hosts in use have no route.
///
/// Latencies are those of the links, summed; a message's bytes share each link of the route by max-min
/// fairness, whatever the round-trip times (SimGrid's CM02 without its TCP corrections). What a host or link
/// that a profile turns off had under way is sent anew every 200 ms until it gets through.
std::unique_ptr<Fabric> simgrid_fabric(const Scenario& scenario);

}  // namespace mqlab::sim
