#include "sim/network/network.h"

#include <algorithm>

#include "sim/world.h"

namespace mqlab::sim {
namespace {
/// TCP's least retransmission timeout on Linux; a lost segment costs this, doubled for each loss in a row.
constexpr Duration retransmission = Duration::millis(200);
constexpr unsigned retransmissions_at_most = 8;
}  // namespace

Network::Network(World& world, std::uint32_t processes)
    : world_(world),
      processes_(processes),
      cut_(world.arena()),
      last_(world.arena()),
      sent_(world.arena()),
      held_(world.arena()) {
  const std::size_t connections = std::size_t{processes} * processes;
  cut_.resize(connections, 0);
  last_.resize(connections);
  sent_.resize(connections, 0);
  if (Fabric* fabric = world.setup().fabric) {
    flows_ = world.arena().make<Flows>(world, *fabric, processes);
  }
}

void Network::send(ProcessId from, Component& to, std::uint32_t bytes, std::uint16_t kind, std::uint64_t a,
                   std::uint32_t x, std::uint32_t y, Duration extra) {
  if (!world_.alive(to.owner)) return;
  SimEvent event = world_.make(world_.now(), to, kind, a, x, y);
  event.sent_by(from);
  if (!reachable(from, to.owner)) {
    held_.push_back({event, bytes, from, to.owner});
  } else {
    transmit(from, to.owner, bytes, event, extra);
  }
}

Duration Network::latency(ProcessId from, ProcessId to, std::size_t connection, std::uint32_t n) const {
  const Setup& setup = world_.setup();
  if (setup.fabric != nullptr) return setup.fabric->latency(from, to);
  if (world_.zero_jitter()) return setup.latency.median();
  return setup.latency.sample(world_.draw(Purpose::network_latency, connection, n));
}

Duration Network::delay(ProcessId from, ProcessId to) {
  const double loss = world_.setup().scenario.network.loss;
  const std::size_t connection = index(from, to);
  const std::uint32_t n = world_.zero_jitter() ? 0 : sent_[connection]++;
  Duration delay = latency(from, to, connection, n);
  if (loss > 0 && !world_.zero_jitter()) {
    const auto threshold = static_cast<std::uint64_t>(loss * 18446744073709549568.0);
    Duration wait = retransmission;
    for (unsigned i = 0; i < retransmissions_at_most; ++i, wait = wait * 2) {
      if (world_.draw(Purpose::network_loss, connection, n, i) >= threshold) break;
      delay = delay + wait;
    }
  }
  return delay;
}

void Network::transmit(ProcessId from, ProcessId to, std::uint32_t bytes, SimEvent event, Duration extra) {
  extra = extra + world_.lag(to);
  if (flows_ != nullptr && !world_.setup().fabric->local(from, to)) {
    const Duration lost = delay(from, to) - world_.setup().fabric->latency(from, to);
    return flows_->send(from, to, bytes, event, lost + extra);
  }
  const std::uint64_t rate = world_.setup().scenario.network.bytes_per_second;
  const Duration sending =
      rate == 0 ? Duration{} : Duration{static_cast<std::int64_t>(bytes * 1'000'000'000ull / rate)};
  Instant& last = last_[index(from, to)];
  const Instant arrives = world_.now() + delay(from, to) + extra;
  last = std::max(arrives, last) + sending;
  event.at = last;
  world_.push(event);
}

void Network::cut(ProcessId from, ProcessId to) {
  ++cut_[index(from, to)];
  if (flows_ == nullptr) return;
  flows_->stop(from, to, [&](const Flows::Message& m) { held_.push_back({m.event, m.bytes, from, to}); });
}

void Network::reconnected(ProcessId from, ProcessId to) {
  last_[index(from, to)] = {};
  if (flows_ != nullptr) flows_->reconnected(from, to);
}

void Network::died(ProcessId process, bool power_loss) {
  if (flows_ == nullptr) return;
  const auto drop = [](const Flows::Message&) {};
  for (ProcessId other = 0; other < processes_; ++other) {
    flows_->stop(other, process, drop);
    if (power_loss) flows_->stop(process, other, drop);
  }
}

void Network::join(ProcessId from, ProcessId to) {
  if (--cut_[index(from, to)] > 0) return;
  for (std::uint32_t i = held_.size(); i > 0; --i) {
    const Held held = held_.front();
    held_.pop_front();
    if (held.from == from && held.to == to) {
      transmit(from, to, held.bytes, held.event, {});
    } else {
      held_.push_back(held);
    }
  }
}

}  // namespace mqlab::sim
