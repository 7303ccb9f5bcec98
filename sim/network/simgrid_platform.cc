#include "sim/network/simgrid_platform.h"

#include <algorithm>

#include <simgrid/s4u.hpp>

#include "core/scenario/error.h"
#include "core/scenario/text.h"

namespace mqlab::sim {
namespace {
namespace sg = simgrid::s4u;

/// One link, each way apart.
struct Ways {
  sg::Link* up;
  sg::Link* down;
};

Ways link(sg::NetZone& in, const std::string& name, const RacksSpec::Link& spec) {
  const auto way = [&](const char* direction) {
    return in.create_link(name + direction, static_cast<double>(spec.bytes_per_second))
        ->set_latency(static_cast<double>(spec.latency.ns) * 1e-9)
        ->seal();
  };
  return {way("-up"), way("-down")};
}

struct Place {
  std::uint32_t zone, rack;
  sg::Host* host;
  Ways link;
};

std::string numbered(const char* what, std::uint32_t i) { return what + std::to_string(i + 1); }

}  // namespace

std::vector<std::string> build_racks(const RacksSpec& spec) {
  sg::NetZone& whole = *sg::create_full_zone("racks");
  std::vector<Ways> zones, racks;
  for (std::uint32_t z = 0; z < spec.zones; ++z) {
    zones.push_back(link(whole, numbered("zone", z), spec.zone));
    for (std::uint32_t r = 0; r < spec.racks; ++r)
      racks.push_back(link(whole, numbered("zone", z) + numbered("-rack", r), spec.rack));
  }
  std::vector<Place> places;
  for (std::uint32_t h = 0; h < spec.hosts; ++h) {
    for (std::uint32_t r = 0; r < spec.racks; ++r) {
      for (std::uint32_t z = 0; z < spec.zones; ++z) {
        const std::string name = numbered("zone", z) + numbered("-rack", r) + numbered("-host", h);
        places.push_back(
            {z, z * spec.racks + r, whole.create_host(name, 1e9)->seal(), link(whole, name, spec.host)});
      }
    }
  }
  for (const Place& a : places) {
    for (const Place& b : places) {
      if (a.host == b.host) continue;
      std::vector<sg::LinkInRoute> route = {sg::LinkInRoute(a.link.up)};
      if (a.rack != b.rack) route.emplace_back(racks[a.rack].up);
      if (a.zone != b.zone) {
        route.emplace_back(zones[a.zone].up);
        route.emplace_back(zones[b.zone].down);
      }
      if (a.rack != b.rack) route.emplace_back(racks[b.rack].down);
      route.emplace_back(b.link.down);
      whole.add_route(a.host->get_netpoint(), b.host->get_netpoint(), nullptr, nullptr, route, false);
    }
  }
  whole.seal();
  std::vector<std::string> names;
  for (const Place& p : places) names.push_back(p.host->get_name());
  return names;
}

std::vector<std::string> placed(const Scenario& scenario, const Topology& topology,
                                const std::vector<std::string>& hosts) {
  const auto known = [&](const std::string& name) { return std::ranges::find(hosts, name) != hosts.end(); };
  std::vector<std::string> where(topology.processes.size());
  for (const Property& p : scenario.network.place) {
    if (!known(p.value)) {
      throw ScenarioError(scenario.file, p.line, "network.place." + p.key,
                          quoted(p.value) + " is no host of the platform" + suggestion(p.value, hosts));
    }
  }
  for (std::size_t i = 0; i < where.size(); ++i) {
    const ProcessInfo& process = topology.processes[i];
    const Property* own = find(scenario.network.place, process.name);
    if (own == nullptr) own = find(scenario.network.place, process.group);
    if (own != nullptr) {
      where[i] = own->value;
    } else if (known(process.name)) {
      where[i] = process.name;
    }
  }
  std::vector<std::string> free;
  std::ranges::copy_if(hosts, std::back_inserter(free),
                       [&](const std::string& h) { return std::ranges::find(where, h) == where.end(); });
  if (free.empty()) free = hosts;
  std::size_t next = 0;
  for (std::string& host : where) {
    if (host.empty()) host = free[next++ % free.size()];
  }
  return where;
}

}  // namespace mqlab::sim
