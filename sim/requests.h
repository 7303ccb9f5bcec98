// The requests a workload makes of one producer process, one after another; trivially copyable.
#pragma once
#include <algorithm>
#include <span>

#include "core/base/limits.h"
#include "core/seam/message.h"
#include "core/workload/generator.h"

namespace mqlab::sim {

class Requests {
 public:
  Requests() = default;
  /// Every `stride`-th request of the generator, from `first` on. `generator` must outlive this.
  Requests(const Generator* generator, std::uint64_t seed, std::uint32_t first, std::uint32_t stride);

  bool active() const { return index_ < count_; }
  /// On the run's clock. Workloads begin limits::workload_start into the run, when consumers are in their
  /// groups.
  Instant intended() const { return current_.intended + limits::workload_start; }
  bool masked(std::span<const MessageId> ids) const {
    return std::binary_search(ids.begin(), ids.end(), current_.id);
  }
  Message message() const;
  void advance();

 private:
  void step();
  void load();

  const Generator* generator_ = nullptr;
  std::uint64_t seed_ = 0;
  std::uint64_t index_ = 0, count_ = 0;
  std::uint32_t first_ = 0, stride_ = 1;
  Arrival current_ = {};
};

}  // namespace mqlab::sim
