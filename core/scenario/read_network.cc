// [network], [limits]
#include "core/scenario/sections.h"
#include "core/scenario/text.h"
#include "core/scenario/units.h"

namespace mqlab {
namespace {

void read_limits(const Section& s, LimitsSpec& limits) {
  limits.horizon = s.duration("horizon", limits.horizon);
  limits.live_timeout = s.duration("live_timeout", limits.live_timeout);
  if (limits.horizon.ns <= 0) s.fail("horizon", "must be more than 0");
  if (limits.live_timeout.ns <= 0) s.fail("live_timeout", "must be more than 0");
}

std::uint64_t byte_rate(const Section& s, std::string_view key, std::uint64_t otherwise) {
  const std::string written = s.text(key, "");
  if (written.empty()) return otherwise;
  const auto rate = parse_byte_rate(written);
  if (!rate || *rate == 0) s.fail(key, quoted(written) + " is no byte rate, as \"125MB/s\"");
  return *rate;
}

RacksSpec read_racks(const Section& s) {
  RacksSpec out;
  out.zones = static_cast<std::uint32_t>(s.integer("zones", out.zones, 1, 64));
  out.racks = static_cast<std::uint32_t>(s.integer("racks", out.racks, 1, 64));
  out.hosts = static_cast<std::uint32_t>(s.integer("hosts", out.hosts, 1, 64));
  if (out.zones * out.racks * out.hosts > 1024) s.fail("hosts", "makes more than 1,024 hosts in all");
  const auto link = [&s](const std::string& name, RacksSpec::Link& of) {
    of.bytes_per_second = byte_rate(s, name, of.bytes_per_second);
    of.latency = s.duration(name + "_latency", of.latency);
  };
  link("host", out.host);
  link("rack", out.rack);
  link("zone", out.zone);
  return out;
}

/// What comes from a platform's links cannot be said beside it.
void check_platform(const Section& s, const NetworkSpec& network) {
  if (!network.shared()) {
    if (s.has("place")) s.fail("place", "needs a `platform` or `racks` whose hosts it could name");
    return;
  }
  if (!network.platform.empty() && network.racks)
    s.fail("racks", "there is a `platform` already: leave one out");
  for (const char* key : {"latency", "bandwidth"}) {
    if (s.has(key)) s.fail(key, "comes from the links of the platform: leave it out");
  }
}

}  // namespace

void read_network(const Node& root, Scenario& scenario, const SourceFile& file) {
  if (const Node* table = root.child("network")) {
    const Section s(*table, "network", "network", file);
    NetworkSpec& network = scenario.network;
    network.latency = s.distribution("latency", network.latency);
    network.loss = s.number("loss", 0, 0, 0.9);
    network.bytes_per_second = byte_rate(s, "bandwidth", 0);
    network.platform = s.text("platform", "");
    if (s.has("racks")) network.racks = read_racks(s.below("racks", "network.racks"));
    network.place = s.properties("place");
    for (const Property& p : network.place) check_process(s, "place." + p.key, p.key, scenario);
    check_platform(s, network);
  }
  if (const Node* limits = root.child("limits")) {
    read_limits(Section(*limits, "limits", "limits", file), scenario.limits);
  }
}

}  // namespace mqlab
