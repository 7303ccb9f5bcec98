// What one writes by hand in an afternoon: closures in a binary heap, time in floating point. The yardstick
// beside which the lab's engine is measured, on the same model and in the same run.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace mqlab::bench {

class PlainEngine {
 public:
  void after(double delay, std::function<void()> action) {
    heap_.push_back({now_ + delay, sequence_++, std::move(action)});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  void run() {
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      Due due = std::move(heap_.back());
      heap_.pop_back();
      now_ = due.at;
      due.action();
    }
  }
  double now() const { return now_; }

 private:
  struct Due {
    double at;
    std::uint64_t sequence;
    std::function<void()> action;
  };
  static bool later(const Due& a, const Due& b) {
    return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
  }
  std::vector<Due> heap_;
  std::uint64_t sequence_ = 0;
  double now_ = 0;
};

/// The model of bench_engine.cc; seconds. Returns the latencies.
class PlainModel {
 public:
  PlainModel(std::uint32_t n, std::uint32_t batch, std::vector<double> service)
      : n_(n), batch_(batch), service_(std::move(service)) {
    latency_.reserve(n);
  }
  const std::vector<double>& run() {
    engine_.after(0, [this] { produce(); });
    engine_.after(hop, [this] { request(); });
    engine_.run();
    return latency_;
  }

 private:
  static constexpr double period = 100e-6, to_broker = 500e-6, hop = 250e-6, processing = 40e-6;

  void produce() {
    const std::uint32_t made = ++made_;
    if (made % batch_ == 0 || made == n_) {
      engine_.after(to_broker, [this, j = (made - 1) / batch_] {
        waiting_.push_back(j);
        if (waiting_.size() == 1) serve();
      });
    }
    if (made < n_) engine_.after(period, [this] { produce(); });
  }
  void serve() {
    engine_.after(service_[waiting_.front()], [this] {
      log_end_ = std::min(n_, (waiting_.front() + 1) * batch_);
      waiting_.pop_front();
      if (parked_) {
        parked_ = false;
        respond();
      }
      if (!waiting_.empty()) serve();
    });
  }
  void request() {
    if (position_ == log_end_) {
      parked_ = true;
    } else {
      respond();
    }
  }
  void respond() {
    answer_end_ = std::min(log_end_, position_ + 50);
    engine_.after(hop, [this] { engine_.after(processing, [this] { processed(); }); });
  }
  void processed() {
    latency_.push_back(engine_.now() - position_ * period);
    if (++position_ < answer_end_) {
      engine_.after(processing, [this] { processed(); });
    } else if (position_ < n_) {
      engine_.after(hop, [this] { request(); });
    }
  }

  std::uint32_t n_, batch_;
  std::vector<double> service_, latency_;
  std::deque<std::uint32_t> waiting_;
  std::uint32_t made_ = 0, log_end_ = 0, position_ = 0, answer_end_ = 0;
  bool parked_ = false;
  PlainEngine engine_;
};

}  // namespace mqlab::bench
