#include "live/event_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace mqlab::live {
namespace {

using Clock = std::chrono::steady_clock;

Settlement settlement(OpId op) {
  Settlement s;
  s.op = op;
  return s;
}

TEST(EventQueue, settlements_that_wait_together_come_as_one_event_in_order) {
  EventQueue queue;
  for (OpId op = 1; op <= 3; ++op) queue.settle(settlement(op));
  OwnedEvent event;
  ASSERT_TRUE(queue.pop(event, Clock::now()));
  ASSERT_EQ(event.settlements.size(), 3u);
  EXPECT_EQ(event.settlements[2].op, 3u);
  EXPECT_FALSE(queue.pop(event, Clock::now()));
}

TEST(EventQueue, a_settlement_never_overtakes_another_event) {
  EventQueue queue;
  queue.settle(settlement(1));
  OwnedEvent down;
  down.kind = EventKind::down;
  queue.push(std::move(down));
  queue.settle(settlement(2));
  OwnedEvent event;
  ASSERT_TRUE(queue.pop(event, Clock::now()));
  EXPECT_EQ(event.settlements.size(), 1u);
  ASSERT_TRUE(queue.pop(event, Clock::now()));
  EXPECT_EQ(event.kind, EventKind::down);
  ASSERT_TRUE(queue.pop(event, Clock::now()));
  EXPECT_EQ(event.settlements.front().op, 2u);
}

TEST(EventQueue, what_an_event_points_to_is_its_own) {
  OwnedEvent event;
  {
    const std::array<std::byte, 2> bytes = {std::byte{7}, std::byte{8}};
    Message m;
    m.payload = event.keep({bytes.data(), 2});
    event.messages.push_back(m);
  }
  OwnedEvent moved = std::move(event);
  const Event view = moved.view();
  EXPECT_EQ(std::to_integer<int>(view.messages[0].payload.data[1]), 8);
}

TEST(EventQueue, a_push_from_another_thread_ends_the_wait) {
  EventQueue queue;
  std::jthread other([&] { queue.settle(settlement(9)); });
  OwnedEvent event;
  ASSERT_TRUE(queue.pop(event, Clock::now() + std::chrono::seconds(30)));
  EXPECT_EQ(event.settlements.front().op, 9u);
}

}  // namespace
}  // namespace mqlab::live
