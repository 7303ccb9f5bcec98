// Events on their way from a port's threads to the loop that runs the module.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "core/seam/event.h"

namespace mqlab::live {

/// An event that owns everything it points to.
struct OwnedEvent {
  EventKind kind = EventKind::tick;
  bool lost = false;
  OpId op = 0;
  std::uint32_t generation = 0;
  Instant at = {};
  std::vector<Message> messages;
  std::vector<Settlement> settlements;
  std::vector<PlacePosition> places;
  std::vector<std::unique_ptr<std::byte[]>> blocks;  ///< payloads and values

  Event view() const {
    Event event;
    event.kind = kind;
    event.lost = lost;
    event.op = op;
    event.generation = generation;
    event.at = at;
    event.messages = messages;
    event.settlements = settlements;
    event.places = places;
    return event;
  }
  /// Copies bytes into the event.
  Bytes keep(Bytes bytes) {
    if (bytes.size == 0) return {};
    blocks.push_back(std::make_unique<std::byte[]>(bytes.size));
    std::memcpy(blocks.back().get(), bytes.data, bytes.size);
    return {blocks.back().get(), bytes.size};
  }
};

/// Many threads push, one pops. Settlements that wait together are handed over together.
class EventQueue {
 public:
  void push(OwnedEvent event);
  void settle(const Settlement& settlement);
  /// Waits at most until `deadline` (steady clock). False when nothing came.
  bool pop(OwnedEvent& event, std::chrono::steady_clock::time_point deadline);
  /// Does not wait: a wait that is over before it begins still costs a system call.
  bool try_pop(OwnedEvent& event);
  /// Makes the waiting pop() return at once.
  void wake();

 private:
  bool take(OwnedEvent& event);

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<OwnedEvent> events_;
  bool woken_ = false;
  bool waiting_ = false;
};

}  // namespace mqlab::live
