#include "live/ports/store_sqlite.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

namespace mqlab::live {
namespace {

struct File {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("mqlab-store-" + std::to_string(getpid()));
  File() { std::filesystem::create_directories(folder); }
  ~File() { std::filesystem::remove_all(folder); }
  std::string path() const { return (folder / "store.sqlite").string(); }
};

StoreWrite put(std::uint64_t key, MessageId message, const char* value) {
  return {key,
          message,
          0xfeed'face'cafe'beefu + message,
          {reinterpret_cast<const std::byte*>(value), static_cast<std::uint32_t>(std::strlen(value))}};
}

TEST(SqliteStore, a_batch_is_applied_as_a_whole_under_one_version) {
  const File file;
  SqliteStore store(file.path());
  EXPECT_EQ(store.read(1).version, 0);
  const std::vector<StoreWrite> batch = {put(1, 10, "one"), put(0xffff'ffff'ffff'ffffu, 11, "two")};
  const auto written = store.write(batch, -1, 5);
  EXPECT_TRUE(written.applied);
  EXPECT_EQ(written.version, 1);
  const auto read = store.read(0xffff'ffff'ffff'ffffu);
  EXPECT_TRUE(read.found);
  EXPECT_EQ(read.value.size(), 3u);
  EXPECT_EQ(read.version, 1);
}

TEST(SqliteStore, another_version_than_expected_changes_nothing) {
  const File file;
  SqliteStore store(file.path());
  store.write(std::vector{put(1, 10, "a")}, 0, 0);
  const auto refused = store.write(std::vector{put(1, 11, "b")}, 0, 0);
  EXPECT_FALSE(refused.applied);
  EXPECT_EQ(refused.version, 1);
  EXPECT_EQ(store.read(1).value.size(), 1u);
  EXPECT_EQ(static_cast<char>(store.read(1).value[0]), 'a');
}

TEST(SqliteStore, a_repeat_of_a_key_overwrites_its_row) {
  const File file;
  SqliteStore store(file.path());
  store.write(std::vector{put(1, 10, "a")}, -1, 0);
  store.write(std::vector{put(1, 10, "b"), put(2, 11, "c")}, -1, 0);
  std::vector<MessageId> messages;
  store.each([&](const SqliteStore::StoredRow& row) { messages.push_back(row.message); });
  EXPECT_EQ(messages, (std::vector<MessageId>{10, 11}));
}

TEST(SqliteStore, writers_of_several_processes_count_one_version_after_the_other) {
  const File file;
  SqliteStore(file.path());
  constexpr int each = 25;
  std::vector<std::jthread> writers;
  for (int w = 0; w < 3; ++w) {
    writers.emplace_back([&, w] {
      SqliteStore store(file.path());  // a connection of its own, as a process has
      for (int done = 0; done < each;) {
        const auto expected = store.read(0).version;
        done +=
            store.write(std::vector{put(static_cast<std::uint64_t>(w), 1, "x")}, expected, 0).applied ? 1 : 0;
      }
    });
  }
  writers.clear();
  EXPECT_EQ(SqliteStore(file.path()).read(0).version, 3 * each);
}

TEST(SqliteStore, a_file_that_is_no_store_is_an_error) {
  EXPECT_THROW(SqliteStore("/nowhere/at/all"), PortError);
}

}  // namespace
}  // namespace mqlab::live
