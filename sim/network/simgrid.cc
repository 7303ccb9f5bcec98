#include "sim/network/simgrid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <deque>
#include <limits>
#include <optional>
#include <string>

#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/s4u.hpp>

#include "core/base/check.h"
#include "core/scenario/error.h"
#include "sim/network/simgrid_platform.h"

namespace mqlab::sim {
namespace {
namespace sg = simgrid::s4u;
using simgrid::kernel::resource::Action;

/// As TCP's least on Linux; see sim/network/network.cc.
constexpr double resend_after = 0.2;
/// Longer than any run; the engine runs only while some actor lives.
constexpr double beyond_any_run = 1e9;

/// SimGrid takes these signals for itself when an engine is made (src/simix/smx_global.cpp).
class KeptSignals {
 public:
  KeptSignals() {
    for (std::size_t i = 0; i < taken.size(); ++i) sigaction(taken[i], nullptr, &kept_[i]);
  }
  ~KeptSignals() {
    for (std::size_t i = 0; i < taken.size(); ++i) sigaction(taken[i], &kept_[i], nullptr);
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  static constexpr std::array taken = {SIGINT, SIGSEGV, SIGBUS};
  std::array<struct sigaction, taken.size()> kept_;
};

sg::Engine& engine() {
  MQLAB_CHECK(!sg::Engine::has_instance());
  static std::string arguments[] = {
      "mqlab", "--log=root.thres:critical",
      "--cfg=network/model:CM02",      // plain max-min shares: no TCP corrections
      "--cfg=network/crosstraffic:0",  // answers do not eat 5 % of the way there
      "--cfg=surf/precision:1e-12"};   // seconds: below our nanosecond
  static char* pointers[std::size(arguments) + 1] = {};
  for (std::size_t i = 0; i < std::size(arguments); ++i) pointers[i] = arguments[i].data();
  int count = static_cast<int>(std::size(arguments));
  const KeptSignals kept;
  return *sg::Engine::get_instance(&count, pointers);
}

std::vector<std::string> load(sg::Engine& engine, const Scenario& scenario) {
  const NetworkSpec& network = scenario.network;
  if (network.racks) return build_racks(*network.racks);
  try {
    const std::size_t slash = scenario.file.rfind('/');
    const bool absolute = network.platform.starts_with('/') || slash == std::string::npos;
    engine.load_platform(absolute ? network.platform : scenario.file.substr(0, slash + 1) + network.platform);
  } catch (const std::exception& e) {
    throw ScenarioError(scenario.file, 0, "network.platform", "\"" + network.platform + "\": " + e.what());
  }
  std::vector<std::string> names;
  for (const sg::Host* host : engine.get_all_hosts()) names.push_back(host->get_name());
  if (names.empty()) {
    throw ScenarioError(scenario.file, 0, "network.platform", "\"" + network.platform + "\" has no hosts");
  }
  return names;
}

class SimGridFabric final : public Fabric {
 public:
  explicit SimGridFabric(const Scenario& scenario) : engine_(engine()) {
    const Topology topology(scenario);
    for (const std::string& host : placed(scenario, topology, load(engine_, scenario)))
      hosts_.push_back(sg::Host::by_name(host));
    measure(scenario);
    sg::Actor::create("keep", hosts_.front(), [] { sg::this_actor::sleep_for(beyond_any_run); });
    sg::Link::on_communication_state_change_cb(
        [this](simgrid::kernel::resource::NetworkAction& action, Action::State) {
          // The class itself is not among SimGrid's public headers; Action is its first base.
          changed(reinterpret_cast<Action&>(action));
        });
    run_until(0);
  }

  Duration latency(ProcessId from, ProcessId to) const override {
    return latency_[from * hosts_.size() + to];
  }
  bool local(ProcessId from, ProcessId to) const override { return hosts_[from] == hosts_[to]; }

  void begin(Instant now, std::uint64_t flow, ProcessId from, ProcessId to, std::uint32_t bytes) override {
    run_until(static_cast<double>(now.ns) * 1e-9);
    start({flow, from, to, bytes});
  }

  void abandon(Instant now, std::uint64_t flow) override {
    run_until(static_cast<double>(now.ns) * 1e-9);
    std::erase_if(resend_, [&](const Resend& r) { return r.flow.number == flow; });
    std::erase_if(ended_, [&](const Ended& e) { return e.flow == flow; });
    const auto at = std::ranges::find(under_way_, flow, [](const UnderWay& u) { return u.flow.number; });
    if (at == under_way_.end()) return;
    const sg::CommPtr stopped = at->comm;
    under_way_.erase(at);  // first: cancelling reports a change
    stopped->suspend();    // gives its shares back at once; a cancelled one keeps them up to the next change
    stopped->cancel();
  }

  Ended next(Instant until) override {
    const double limit = static_cast<double>(until.ns) * 1e-9;
    while (ended_.empty()) {
      // In steps that no resend can fall into, since a profile may end flows at any time.
      const double step = sg::Engine::get_clock() + resend_after;
      const double next = std::min({next_change(), step, resend_.empty() ? step : resend_.front().at});
      if (under_way_.empty() && resend_.empty()) break;
      if (next > limit) break;
      run_until(next);
      for (; !resend_.empty() && resend_.front().at <= next; resend_.pop_front()) start(resend_.front().flow);
      if (next >= limit) break;
    }
    if (ended_.empty() || ended_.front().at > until) return {};
    const Ended first = ended_.front();
    ended_.pop_front();
    return first;
  }

 private:
  struct Flow {
    std::uint64_t number;
    ProcessId from, to;
    std::uint32_t bytes;
  };
  struct UnderWay {
    Flow flow;
    sg::CommPtr comm;
  };
  struct Resend {
    double at;
    Flow flow;
  };

  /// Latencies, once; then the links have none: a flow is only the sending of bytes, so that the next message
  /// of a connection need not wait until this one is there.
  void measure(const Scenario& scenario) {
    latency_.resize(hosts_.size() * hosts_.size());
    for (std::size_t a = 0; a < hosts_.size(); ++a) {
      for (std::size_t b = 0; b < hosts_.size(); ++b) {
        if (hosts_[a] != hosts_[b]) latency_[a * hosts_.size() + b] = route(scenario, *hosts_[a], *hosts_[b]);
      }
    }
    for (sg::Link* link : engine_.get_all_links()) link->set_latency(0.0);
  }

  static Duration route(const Scenario& scenario, const sg::Host& from, const sg::Host& to) {
    std::vector<sg::Link*> links;
    double seconds = 0;
    try {
      from.route_to(&to, links, &seconds);
    } catch (const std::exception& e) {
      links.clear();
    }
    if (links.empty()) {
      throw ScenarioError(scenario.file, 0, "network.platform",
                          "no route from " + from.get_name() + " to " + to.get_name());
    }
    return {std::llround(seconds * 1e9)};
  }

  void run_until(double seconds) {
    if (seconds > sg::Engine::get_clock()) engine_.run_until(seconds);
  }

  /// When SimGrid's models next change by themselves.
  double next_change() const {
    double soonest = std::numeric_limits<double>::infinity();
    const double now = sg::Engine::get_clock();
    for (simgrid::kernel::resource::Model* model : engine_.get_all_models()) {
      if (under_way_.empty()) break;
      const double wait = model->next_occurring_event(now);
      if (wait >= 0) soonest = std::min(soonest, now + wait);
    }
    return soonest;
  }

  void start(const Flow& flow) {
    const sg::CommPtr comm = sg::Comm::sendto_init(hosts_[flow.from], hosts_[flow.to]);
    comm->set_payload_size(flow.bytes);
    comm->detach();
    under_way_.push_back({flow, comm});
  }

  void changed(const Action& action) {
    const auto at = std::ranges::find(under_way_, action.get_activity(),
                                      [](const UnderWay& u) { return u.comm->get_impl(); });
    if (at == under_way_.end()) return;
    const double now = sg::Engine::get_clock();
    const Flow flow = at->flow;
    if (action.get_state() == Action::State::FINISHED) {
      ended_.push_back({flow.number, {std::llround(now * 1e9)}});
    } else if (action.get_state() == Action::State::FAILED) {
      resend_.push_back({now + resend_after, flow});
    } else {
      return;
    }
    under_way_.erase(at);
  }

  sg::Engine& engine_;
  std::vector<sg::Host*> hosts_;   // by process
  std::vector<Duration> latency_;  // by process and process
  std::vector<UnderWay> under_way_;
  std::deque<Ended> ended_;    // not told yet
  std::deque<Resend> resend_;  // soonest first
};

}  // namespace

std::unique_ptr<Fabric> simgrid_fabric(const Scenario& scenario) {
  return std::make_unique<SimGridFabric>(scenario);
}

}  // namespace mqlab::sim
