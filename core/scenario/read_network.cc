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

}  // namespace

void read_network(const Node& root, Scenario& scenario, const SourceFile& file) {
  if (const Node* network = root.child("network")) {
    const Section s(*network, "network", "network", file);
    scenario.network.latency = s.distribution("latency", scenario.network.latency);
    scenario.network.loss = s.number("loss", 0, 0, 0.9);
    const std::string bandwidth = s.text("bandwidth", "");
    if (!bandwidth.empty()) {
      const auto rate = parse_byte_rate(bandwidth);
      if (!rate || *rate == 0) s.fail("bandwidth", quoted(bandwidth) + " is no byte rate, as \"125MB/s\"");
      scenario.network.bytes_per_second = *rate;
    }
    scenario.network.platform = s.text("platform", "");
  }
  if (const Node* limits = root.child("limits")) {
    read_limits(Section(*limits, "limits", "limits", file), scenario.limits);
  }
}

}  // namespace mqlab
