// The event queue against a sorted set: whatever goes in, it comes out in order of time and sequence.
#include "sim/queue.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "core/base/draw.h"

namespace mqlab::sim {
namespace {

using Key = std::pair<std::int64_t, std::uint64_t>;
Key key_of(const SimEvent& event) { return {event.at.ns, event.sequence}; }

SimEvent event(std::int64_t at, std::uint64_t sequence) {
  SimEvent e;
  e.at.ns = at;
  e.sequence = sequence;
  e.a = sequence * 3 + 1;
  return e;
}

class BothQueues {
 public:
  void push(std::int64_t at) {
    const SimEvent e = event(at, ++number_);
    queue_.push(e);
    expected_.emplace(key_of(e), e.a);
  }
  void pop() { check(queue_.pop(), expected_.begin()); }
  /// Any one of those that wait.
  void take(std::uint64_t bits) {
    const std::size_t i = below(bits, queue_.size());
    const Key key = key_of(queue_[i]);
    check(queue_.take(i), expected_.find(key));
  }
  std::size_t size() const { return expected_.size(); }
  std::int64_t now() const { return now_; }
  void same() const {
    ASSERT_EQ(queue_.size(), expected_.size());
    ASSERT_EQ(queue_.empty(), expected_.empty());
    if (expected_.empty()) return;
    ASSERT_EQ(key_of(queue_.top()), expected_.begin()->first);
    ASSERT_EQ(key_of(queue_[0]), expected_.begin()->first);
  }

 private:
  void check(const SimEvent& taken, std::map<Key, std::uint64_t>::iterator at) {
    ASSERT_NE(at, expected_.end());
    ASSERT_EQ(key_of(taken), at->first);
    ASSERT_EQ(taken.a, at->second);
    now_ = at == expected_.begin() ? taken.at.ns : now_;
    expected_.erase(at);
  }

  Arena arena_{1 << 22};
  Queue queue_{arena_};
  std::map<Key, std::uint64_t> expected_;
  std::uint64_t number_ = 0;
  std::int64_t now_ = 0;
};

/// About `waiting` events at a time, due within a `spread` of the latest that was taken.
void mixed(std::uint64_t seed, std::size_t waiting, std::uint64_t spread) {
  BothQueues both;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const std::uint64_t bits = draw(seed, Purpose::tie, i);
    const bool grow = both.size() == 0 || below(bits, 2 * waiting) >= both.size();
    if (grow) {
      both.push(both.now() + static_cast<std::int64_t>(below(mix(bits), spread)));
    } else if (bits % 7 == 0) {
      both.take(mix(bits));
    } else {
      both.pop();
    }
    ASSERT_NO_FATAL_FAILURE(both.same()) << "seed " << seed << ", step " << i;
  }
  while (both.size() > 0) {
    both.pop();
    ASSERT_NO_FATAL_FAILURE(both.same());
  }
}

TEST(Queue, GivesTheEarliestWhateverTheMix) {
  for (const std::size_t waiting : {1, 15, 31, 33, 64, 1000})
    for (const std::uint64_t spread : {1, 10, 1'000'000}) mixed(waiting + spread, waiting, spread);
}

TEST(Queue, TakesAnEventThatIsLaterThanAllWhenTheNearOnesAreFull) {
  BothQueues both;
  for (std::int64_t at = 0; at < 32; ++at) both.push(at);
  both.push(100);
  both.push(50);
  both.push(-1);
  while (both.size() > 0) {
    both.pop();
    ASSERT_NO_FATAL_FAILURE(both.same());
  }
}

TEST(Queue, SortsWhatComesInAscendingAndInDescendingOrder) {
  for (const std::int64_t way : {1, -1}) {
    BothQueues both;
    for (std::int64_t i = 0; i < 500; ++i) both.push(way * i);
    while (both.size() > 0) {
      both.pop();
      ASSERT_NO_FATAL_FAILURE(both.same());
    }
  }
}

}  // namespace
}  // namespace mqlab::sim
