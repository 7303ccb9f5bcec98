// The engine alone, on a small broker model: one producer, one broker that serves batches first come first
// served, one consumer with long polls. Same work as simulations of it in other engines, so rates compare.
//
// Producer: message i at i × 100 us, batches of B sent when full, 500 us to the broker. Broker: batch j of k
// messages takes (50 us + k × 20 us) × (0.5 + u_j), u_j a fixed hash. Consumer: request 250 us, at most 50
// messages, answer 250 us, 40 us a message. Latency: end of processing less creation.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "sim/world.h"
#include "tests/bench/plain_engine.h"

namespace {

using namespace mqlab;
using namespace mqlab::sim;

/// The model's clock ticks in 10 fs, so that its latencies agree with engines in floating point to the last
/// printed digit; the engine only sees integers.
constexpr std::int64_t ticks_per_us = 100'000'000;
constexpr Duration period{100 * ticks_per_us}, to_broker{500 * ticks_per_us}, hop{250 * ticks_per_us},
    processing{40 * ticks_per_us};
constexpr std::uint32_t poll_at_most = 50;

std::vector<Duration> service_times(std::uint32_t n, std::uint32_t batch) {
  std::vector<Duration> out;
  for (std::uint32_t j = 0; j * batch < n; ++j) {
    const std::uint32_t k = std::min(batch, n - j * batch);
    auto x = static_cast<std::uint32_t>(std::uint64_t{j} * 2654435761ULL + 12345ULL);
    x ^= x >> 15;
    x *= 2246822519U;
    x ^= x >> 13;
    out.push_back({static_cast<std::int64_t>((50 + k * 20) * (0.5 + x / 4294967296.0) * ticks_per_us + 0.5)});
  }
  return out;
}

/// Batches are ranges of message numbers: no message is ever stored.
class Model final : public Component {
 public:
  enum : std::uint16_t { produce, arrive, served, request, answer, processed };
  Model(World& world, std::uint32_t n, std::uint32_t batch)
      : world_(world), n_(n), batch_(batch), service_(service_times(n, batch)), waiting_(world.arena()) {
    latency.reserve(n);
  }
  void begin() {
    world_.after({}, *this, produce);
    world_.after(hop, *this, request);
  }

  void on(const SimEvent& event) override {
    switch (event.kind) {
      case produce: {
        const std::uint32_t made = ++made_;
        if (made % batch_ == 0 || made == n_) world_.after(to_broker, *this, arrive, 0, (made - 1) / batch_);
        if (made < n_) world_.after(period, *this, produce);
        return;
      }
      case arrive:
        waiting_.push_back(event.x);
        if (waiting_.size() == 1) serve();
        return;
      case served: {
        log_end_ = std::min(n_, (waiting_.front() + 1) * batch_);
        waiting_.pop_front();
        if (parked_) {
          parked_ = false;
          respond();
        }
        if (!waiting_.empty()) serve();
        return;
      }
      case request:
        if (position_ == log_end_) {
          parked_ = true;
        } else {
          respond();
        }
        return;
      case answer:
        world_.after(processing, *this, processed);
        return;
      case processed:
        latency.push_back(world_.now().ns - position_ * period.ns);
        if (++position_ < answer_end_) {
          world_.after(processing, *this, processed);
        } else if (position_ < n_) {
          world_.after(hop, *this, request);
        }
        return;
      default:
        return;
    }
  }

  std::vector<std::int64_t> latency;  ///< ticks

 private:
  void serve() { world_.after(service_[waiting_.front()], *this, served); }
  void respond() {
    answer_end_ = std::min(log_end_, position_ + poll_at_most);
    world_.after(hop, *this, answer);
  }

  World& world_;
  std::uint32_t n_, batch_;
  std::vector<Duration> service_;
  Ring<std::uint32_t> waiting_;
  std::uint32_t made_ = 0, log_end_ = 0, position_ = 0, answer_end_ = 0;
  bool parked_ = false;
};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Result {
  double rate, mean_us, p99_us, max_us;
};

template <class Ticks>
Result summary(std::vector<Ticks> latency, double ticks_per_us_, double cpu) {
  double sum = 0;
  for (const Ticks t : latency) sum += static_cast<double>(t);
  std::sort(latency.begin(), latency.end());
  const auto n = static_cast<double>(latency.size());
  return {n / cpu, sum / n / ticks_per_us_,
          static_cast<double>(latency[static_cast<std::size_t>(0.99 * (n - 1))]) / ticks_per_us_,
          static_cast<double>(latency.back()) / ticks_per_us_};
}

Result ours(std::uint32_t n, std::uint32_t batch) {
  Scenario scenario;
  scenario.limits.horizon = Duration::forever();
  sim::Setup setup(std::move(scenario));
  setup.settle = Duration::forever();
  World world(setup);
  const Schedule schedule;
  world.begin(schedule, {});
  Model model(world, n, batch);
  world.add(model, setup.topology.lab);
  const double begin = cpu_seconds();
  model.begin();
  world.run();
  return summary(model.latency, ticks_per_us, cpu_seconds() - begin);
}

Result plain(std::uint32_t n, std::uint32_t batch) {
  std::vector<double> service;
  for (const Duration d : service_times(n, batch))
    service.push_back(static_cast<double>(d.ns) / (1e6 * ticks_per_us));
  bench::PlainModel model(n, batch, std::move(service));
  const double begin = cpu_seconds();
  const std::vector<double>& latency = model.run();
  return summary(latency, 1e-6, cpu_seconds() - begin);
}

}  // namespace

int main() {
  constexpr std::uint32_t n = 1'000'000;
  for (const std::uint32_t batch : {1u, 10u}) {
    const Result a = ours(n, batch), b = plain(n, batch);
    std::printf(
        "{\"name\": \"engine.batch_%u\", \"value\": %.0f, \"unit\": \"messages/s of CPU\", "
        "\"peer\": \"hand-written heap of closures\", \"peer_value\": %.0f}\n",
        batch, a.rate, b.rate);
    std::fprintf(stderr, "batch %u: mean %.3f us (%.3f), p99 %.3f (%.3f), max %.3f (%.3f)\n", batch,
                 a.mean_us, b.mean_us, a.p99_us, b.p99_us, a.max_us, b.max_us);
    if (std::abs(a.mean_us - b.mean_us) > 0.01 || std::abs(a.max_us - b.max_us) > 0.01)
      return 1;  // not the same work
  }
}
