#include "platform/row_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <vector>

#include "platform/control_block.h"

namespace mqlab {
namespace {

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("mqlab-rows-" + std::to_string(getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const char* name) const { return (path / name).string(); }
};

std::vector<Row> rows_in(const std::string& path, RowFileHeader* header = nullptr) {
  std::ifstream in(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(in)), {});
  std::uint64_t count = 0;
  std::memcpy(&count, bytes.data() + offsetof(RowFileHeader, count), sizeof count);
  if (header != nullptr) std::memcpy(static_cast<void*>(header), bytes.data(), sizeof *header);
  std::vector<Row> rows(count);
  std::memcpy(static_cast<void*>(rows.data()), bytes.data() + RowFile::header_bytes, count * sizeof(Row));
  return rows;
}

TEST(RowFile, rows_come_back_as_they_were_written) {
  const Folder folder;
  RowFile file(folder.file("a"), 3, 1);
  for (std::uint32_t i = 0; i < 10; ++i) file.next().op = i;
  file.publish();
  const auto rows = rows_in(folder.file("a"));
  ASSERT_EQ(rows.size(), 10u);
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(rows[i].op, i);
}

TEST(RowFile, a_row_that_was_not_published_does_not_count) {
  const Folder folder;
  RowFile file(folder.file("a"), 0, 0);
  file.next();
  file.publish();
  file.next();
  EXPECT_EQ(rows_in(folder.file("a")).size(), 1u);
}

TEST(RowFile, grows_past_its_first_size_without_moving_what_is_there) {
  const Folder folder;
  RowFile file(folder.file("a"), 0, 0);
  constexpr std::uint32_t count = 300'000;  // 24 MB: beyond the first megabyte and the first step
  for (std::uint32_t i = 0; i < count; ++i) file.next().position = i;
  file.close(WorkerState::finished, "");
  EXPECT_EQ(std::filesystem::file_size(folder.file("a")), RowFile::header_bytes + count * sizeof(Row));
  const auto rows = rows_in(folder.file("a"));
  ASSERT_EQ(rows.size(), count);
  EXPECT_EQ(rows.front().position, 0);
  EXPECT_EQ(rows.back().position, count - 1);
}

TEST(RowFile, says_how_its_process_ended) {
  const Folder folder;
  RowFile(folder.file("a"), 5, 2).close(WorkerState::failed, "no broker");
  RowFileHeader header{};
  rows_in(folder.file("a"), &header);
  EXPECT_EQ(header.process, 5);
  EXPECT_EQ(header.incarnation, 2);
  EXPECT_EQ(header.state.load(), static_cast<std::uint32_t>(WorkerState::failed));
  EXPECT_STREQ(header.reason, "no broker");
}

TEST(RowFile, survives_a_kill_of_the_process_that_writes_it) {
  const Folder folder;
  const std::string path = folder.file("a");
  const pid_t child = fork();
  if (child == 0) {
    RowFile file(path, 0, 0);
    for (int i = 0; i < 1000; ++i) file.next();
    file.publish();
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(rows_in(path).size(), 1000u);
}

TEST(RowFile, a_place_that_cannot_be_written_is_an_error_at_once) {
  EXPECT_THROW(RowFile("/nowhere/at/all", 0, 0), std::system_error);
  // A device that is always full stands for a full disk.
  EXPECT_THROW(RowFile("/dev/full", 0, 0), std::system_error);
}

std::string control_page(const Folder& folder, std::uint32_t armed) {
  const std::string path = folder.file("control");
  std::vector<char> page(ControlBlock::bytes, 0);
  const std::uint64_t magic = ControlPage::magic_value, word = std::uint64_t{armed} << 32;
  std::memcpy(page.data(), &magic, sizeof magic);
  std::memcpy(page.data() + 8, &word, sizeof word);
  std::ofstream(path, std::ios::binary).write(page.data(), static_cast<std::streamsize>(page.size()));
  return path;
}

TEST(ControlBlock, only_the_armed_fault_counts) {
  const Folder folder;
  ControlBlock control(control_page(folder, 2));
  EXPECT_EQ(control.armed(), 2u);
  EXPECT_FALSE(control.count_match(1, 1));
  EXPECT_TRUE(control.count_match(2, 1));
  EXPECT_FALSE(control.count_match(2, 1));  // it fires once
}

TEST(ControlBlock, of_many_processes_exactly_one_has_the_nth_match) {
  const Folder folder;
  const std::string path = control_page(folder, 0);
  std::atomic<int> winners = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      ControlBlock control(path);  // each its own mapping, as in processes
      for (int i = 0; i < 1000; ++i) winners += control.count_match(0, 1234) ? 1 : 0;
    });
  }
  threads.clear();
  EXPECT_EQ(winners, 1);
}

TEST(ControlBlock, another_file_is_refused) {
  const Folder folder;
  std::ofstream(folder.file("other")) << std::string(5000, 'x');
  EXPECT_THROW(ControlBlock(folder.file("other")), std::runtime_error);
  EXPECT_THROW(ControlBlock(folder.file("absent")), std::system_error);
}

}  // namespace
}  // namespace mqlab
