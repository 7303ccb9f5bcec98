#include "live/event_queue.h"

namespace mqlab::live {

void EventQueue::push(OwnedEvent event) {
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  ready_.notify_one();
}

void EventQueue::settle(const Settlement& settlement) {
  {
    const std::lock_guard lock(mutex_);
    if (events_.empty() || events_.back().kind != EventKind::settled || !events_.back().blocks.empty()) {
      events_.emplace_back().kind = EventKind::settled;
    }
    events_.back().settlements.push_back(settlement);
  }
  ready_.notify_one();
}

bool EventQueue::pop(OwnedEvent& event, std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  ready_.wait_until(lock, deadline, [&] { return woken_ || !events_.empty(); });
  woken_ = false;
  if (events_.empty()) return false;
  event = std::move(events_.front());
  events_.pop_front();
  return true;
}

void EventQueue::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  ready_.notify_one();
}

}  // namespace mqlab::live
