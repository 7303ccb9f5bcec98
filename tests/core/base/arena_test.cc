#include "core/base/arena.h"

#include <gtest/gtest.h>

#include "core/base/ring.h"

namespace mqlab {
namespace {

struct Thing {
  int number;
  Thing* next;
};

TEST(Arena, GivesFreedMemoryOutAgain) {
  Arena arena(1 << 16);
  void* first = arena.allocate(40);
  arena.deallocate(first, 40);
  EXPECT_EQ(arena.allocate(64), first) << "40 and 64 bytes are of one size class";
  EXPECT_NE(arena.allocate(40), first);
}

TEST(Arena, RefusesMoreThanItReserved) {
  Arena arena(1 << 12);
  EXPECT_THROW(arena.allocate(1 << 13), std::bad_alloc);
  EXPECT_NE(arena.allocate(100), nullptr);
}

TEST(Arena, RestoreBringsEverythingBack) {
  Arena arena(1 << 16);
  auto* list = arena.make<Thing>(1, nullptr);
  list->next = arena.make<Thing>(2, nullptr);
  Vec<int>* numbers = arena.make<Vec<int>>(arena);
  numbers->assign({1, 2, 3});
  std::vector<std::byte> image;
  arena.save(image);

  list->next->number = 99;
  for (int i = 0; i < 500; ++i) numbers->push_back(i);
  arena.recycle(list->next);
  list->next = nullptr;
  arena.restore(image);

  EXPECT_EQ(list->next->number, 2);
  EXPECT_EQ(std::vector<int>(numbers->begin(), numbers->end()), (std::vector<int>{1, 2, 3}));
  numbers->push_back(4);  // its capacity and the free lists are those of the image
  EXPECT_EQ(numbers->back(), 4);
}

TEST(Arena, ResetForgetsAndStartsAlike) {
  Arena arena(1 << 16);
  const void* first = arena.allocate(24);
  const std::size_t used = arena.used_bytes();
  arena.allocate(1000);
  arena.reset();
  EXPECT_EQ(arena.allocate(24), first);
  EXPECT_EQ(arena.used_bytes(), used);
}

TEST(Ring, KeepsOrderOverGrowthAndWrap) {
  Arena arena(1 << 20);
  Ring<int> ring(arena);
  int in = 0, out = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < round % 13; ++i) ring.push_back(in++);
    for (int i = 0; i < round % 11 && !ring.empty(); ++i) {
      ASSERT_EQ(ring.front(), out++);
      ring.pop_front();
    }
  }
  ring.push_front(-1);
  EXPECT_EQ(ring[0], -1);
  EXPECT_EQ(ring.back(), in - 1);
  EXPECT_EQ(ring.size(), static_cast<std::uint32_t>(in - out + 1));
}

}  // namespace
}  // namespace mqlab
