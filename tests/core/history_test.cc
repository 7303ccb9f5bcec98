#include "core/history/history.h"

#include <gtest/gtest.h>

#include <vector>

namespace mqlab {
namespace {

void append(History& history, std::size_t n, std::int64_t from = 0) {
  for (std::size_t i = 0; i < n; ++i) {
    history.next(Kind::publish, Phase::ok).position = from + static_cast<std::int64_t>(i);
  }
}

TEST(History, StartsEmptyAndKeepsOrderAcrossChunks) {
  History history;
  EXPECT_TRUE(history.empty());
  append(history, 3 * History::chunk_rows + 5);
  EXPECT_EQ(history.size(), 3 * History::chunk_rows + 5);
  for (std::size_t i = 0; i < history.size(); ++i)
    ASSERT_EQ(history[i].position, static_cast<std::int64_t>(i));
}

TEST(History, ARowOnRecycledMemoryIsFresh) {
  History history;
  Row& row = history.next(Kind::deliver, Phase::ok);
  row.message = 9;
  row.flags = flag::open;
  history.truncate(0);
  EXPECT_EQ(history.next(), Row{});
}

TEST(History, TruncateForgetsOnlyWhatFollows) {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, History::chunk_rows - 1, History::chunk_rows,
                              History::chunk_rows + 1, 2 * History::chunk_rows}) {
    History history;
    append(history, 2 * History::chunk_rows);
    history.truncate(n);
    EXPECT_EQ(history.size(), n);
    append(history, 3, 1'000'000);
    EXPECT_EQ(history.size(), n + 3);
    EXPECT_EQ(history[n].position, 1'000'000);
    if (n > 0) {
      EXPECT_EQ(history[n - 1].position, static_cast<std::int64_t>(n - 1));
    }
  }
}

TEST(History, HashSeesEveryFieldAndTheOrder) {
  const auto hash_with = [](auto change) {
    History history;
    append(history, 2);
    change(history);
    return history.hash();
  };
  const std::uint64_t plain = hash_with([](History&) {});
  std::vector<std::uint64_t> hashes = {plain};
  const auto differs = [&](auto change) {
    hashes.push_back(hash_with(change));
    for (std::size_t i = 0; i + 1 < hashes.size(); ++i) EXPECT_NE(hashes[i], hashes.back()) << i;
  };
  differs([](History& h) { h[0].time = 1; });
  differs([](History& h) { h[0].position = 1; });
  differs([](History& h) { h[0].aux = 1; });
  differs([](History& h) { h[0].digest = 1; });
  differs([](History& h) { h[0].op = 1; });
  differs([](History& h) { h[0].message = 1; });
  differs([](History& h) { h[0].cause = 1; });
  differs([](History& h) { h[0].place = 1; });
  differs([](History& h) { h[0].key = 1; });
  differs([](History& h) { h[0].transaction = 1; });
  differs([](History& h) { h[0].epoch = 1; });
  differs([](History& h) { h[0].size = 1; });
  differs([](History& h) { h[0].trace = 1; });
  differs([](History& h) { h[0].process = 1; });
  differs([](History& h) { h[0].incarnation = 1; });
  differs([](History& h) { h[0].attempt = 1; });
  differs([](History& h) { h[0].code = 1; });
  differs([](History& h) { h[0].flags = 1; });
  differs([](History& h) { h[0].kind = Kind::ack; });
  differs([](History& h) { h[0].phase = Phase::fail; });
  differs([](History& h) { std::swap(h[0], h[1]); });
  differs([](History& h) { h.next(); });
  differs([](History& h) { h.truncate(1); });
  differs([](History& h) { h.clear(); });
}

TEST(History, HashIsTheSameInEveryBuild) {
  History history;
  append(history, History::chunk_rows + 1);
  EXPECT_EQ(history.hash(), 2486477413817716336ull);
}

TEST(History, HashSurvivesTruncateAndRecycle) {
  History plain, truncated, recycled;
  append(plain, 10'000);
  append(truncated, 7'000);
  append(truncated, 5'000, -9);
  truncated.truncate(7'000);
  append(truncated, 3'000, 7'000);
  for (std::size_t i = 0; i < 10'000; i += 1'000) {
    append(recycled, 1'000, static_cast<std::int64_t>(i));
    recycled.recycle(recycled.size());
  }
  EXPECT_EQ(truncated.hash(), plain.hash());
  EXPECT_EQ(recycled.hash(), plain.hash());
}

TEST(History, RecycleKeepsIndicesAndReusesMemory) {
  History history;
  append(history, History::chunk_rows);
  const Row* memory = &history[0];
  history.recycle(history.size());
  EXPECT_EQ(history.first(), History::chunk_rows);
  EXPECT_EQ(history.size(), History::chunk_rows);
  EXPECT_TRUE(history.from(history.size()).empty());
  append(history, 10, 5);
  EXPECT_EQ(&history[History::chunk_rows], memory);
  EXPECT_EQ(history[History::chunk_rows + 1].position, 6);
  history.truncate(History::chunk_rows);
  EXPECT_EQ(history.size(), History::chunk_rows);
  append(history, 1, 7);
  EXPECT_EQ(history[History::chunk_rows].position, 7);
}

TEST(History, ForEachGivesEveryRowOnce) {
  History history;
  append(history, 2 * History::chunk_rows + 7);
  std::int64_t expected = 100;
  history.for_each(100, [&](std::span<const Row> rows) {
    for (const Row& row : rows) ASSERT_EQ(row.position, expected++);
  });
  EXPECT_EQ(expected, static_cast<std::int64_t>(history.size()));
}

TEST(History, MovesAsAWhole) {
  History a;
  append(a, 5);
  History b = std::move(a);
  EXPECT_EQ(b.size(), 5u);
  EXPECT_EQ(a.size(), 0u);  // NOLINT(bugprone-use-after-move): moved-from is empty
  append(a, 1, 3);
  EXPECT_EQ(a[0].position, 3);
}

}  // namespace
}  // namespace mqlab
