#include "live/worker/feeder.h"

#include <algorithm>

namespace mqlab::live {

Feeder::Feeder(const Scenario& scenario, const ProcessInfo& process, std::uint64_t seed,
               Incarnation incarnation, std::vector<MessageId> masked)
    : generator_(scenario, process.index),
      seed_(seed),
      producers_(scenario.workloads[process.index].producers),
      instance_(process.instance),
      masked_(std::move(masked)),
      skip_past_(incarnation > 0) {
  advance();
}

void Feeder::advance() {
  while (index_ < generator_.count()) {
    const std::uint64_t index = index_++;
    arrival_ = generator_.at(seed_, index, arrival_);
    if (index % producers_ == instance_ && !std::ranges::binary_search(masked_, arrival_.id)) return;
  }
  done_ = true;
}

Instant Feeder::next(std::int64_t begin_ns, Instant now) const {
  if (done_) return Instant::never();
  if (begin_ns == 0) return now + Duration::millis(1);
  return Instant{begin_ns} + Duration{arrival_.intended.ns};
}

bool Feeder::feed(std::int64_t begin_ns, Instant now, const std::function<void(const Event&)>& drive) {
  if (begin_ns == 0) return false;
  while (skip_past_ && !done_ && next(begin_ns, now) < now) advance();
  skip_past_ = false;
  if (done_ || next(begin_ns, now) > now) return false;
  Message message;
  message.id = arrival_.id;
  message.key = arrival_.key;
  message.size = arrival_.size;
  message.digest = arrival_.digest;
  Event event;
  event.kind = EventKind::invoke;
  event.at = next(begin_ns, now);
  event.messages = {&message, 1};
  advance();
  drive(event);
  return true;
}

}  // namespace mqlab::live
