#include "live/event_queue.h"

namespace mqlab::live {

void EventQueue::push(OwnedEvent event) {
  bool wanted = false;
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    wanted = waiting_;
  }
  if (wanted) ready_.notify_one();
}

void EventQueue::settle(const Settlement& settlement) {
  bool wanted = false;
  {
    const std::lock_guard lock(mutex_);
    wanted = waiting_;
    if (events_.empty() || events_.back().kind != EventKind::settled || !events_.back().blocks.empty()) {
      events_.emplace_back().kind = EventKind::settled;
    }
    events_.back().settlements.push_back(settlement);
  }
  if (wanted) ready_.notify_one();
}

bool EventQueue::pop(OwnedEvent& event, std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  if (events_.empty() && !woken_) {
    waiting_ = true;
    ready_.wait_until(lock, deadline, [&] { return woken_ || !events_.empty(); });
    waiting_ = false;
  }
  woken_ = false;
  return take(event);
}

bool EventQueue::try_pop(OwnedEvent& event) {
  const std::lock_guard lock(mutex_);
  return take(event);
}

bool EventQueue::take(OwnedEvent& event) {
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
