#include "sim/storage.h"

#include <gtest/gtest.h>

namespace mqlab::sim {
namespace {

constexpr Instant at(std::int64_t seconds) { return Instant{} + Duration::seconds(seconds); }

TEST(Storage, NothingIsOnDiskAtOnceEverythingAfterWriteBack) {
  Arena arena(1 << 16);
  File file(arena);
  for (int second = 0; second < 10; ++second) file.wrote(at(second), 100 * (second + 1));
  EXPECT_EQ(file.durable(at(10)), 0);
  EXPECT_EQ(file.written(), 1000);
  EXPECT_EQ(file.durable(at(55)), 1000) << "measured: nothing is lost 45 s after the last write";
}

TEST(Storage, WriteBackFollowsTheAgeOfThePages) {
  Arena arena(1 << 16);
  File file(arena);
  for (int second = 0; second < 60; ++second) file.wrote(at(second), second + 1);
  const std::int64_t durable = file.durable(at(59));
  EXPECT_GE(durable, 23) << "written 35 s ago or earlier";
  EXPECT_LE(durable, 26);
}

TEST(Storage, FsyncMakesDurable) {
  Arena arena(1 << 16);
  File file(arena);
  file.wrote(at(0), 50);
  file.synced();
  file.wrote(at(1), 70);
  EXPECT_EQ(file.durable(at(1)), 50);
}

TEST(Storage, TruncationCutsBoth) {
  Arena arena(1 << 16);
  File file(arena);
  file.wrote(at(0), 50);
  file.synced();
  file.truncated(20);
  EXPECT_EQ(file.durable(at(0)), 20);
  file.wrote(at(1), 30);
  EXPECT_EQ(file.durable(at(100)), 30);
}

}  // namespace
}  // namespace mqlab::sim
