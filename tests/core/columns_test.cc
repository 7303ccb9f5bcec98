#include "core/history/columns.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/base/draw.h"

namespace mqlab {
namespace {

TEST(Columns, CoverARowWithoutGapOrOverlap) {
  std::size_t next = 0;
  for (const Column& column : columns()) {
    EXPECT_EQ(column.offset, next) << column.name;
    next += size_of(column.type);
  }
  EXPECT_EQ(next, sizeof(Row));
}

TEST(Columns, GatherAndViewsGiveTheFields) {
  History history;
  for (std::size_t i = 0; i < 2 * History::chunk_rows + 9; ++i) {
    Row& row = history.next(static_cast<Kind>(i % 40), static_cast<Phase>(i % 4));
    row.position = -static_cast<std::int64_t>(i);
    row.digest = mix(i);
    row.flags = static_cast<std::uint16_t>(i);
  }
  const std::size_t first = 3, end = history.size() - 2;
  for (const Column& column : columns()) {
    const std::size_t width = size_of(column.type);
    std::vector<std::byte> out((end - first) * width);
    gather(history, column, first, end, out);
    for (std::size_t i = first; i < end; ++i) {
      const auto* field = reinterpret_cast<const std::byte*>(&history[i]) + column.offset;
      ASSERT_EQ(std::memcmp(&out[(i - first) * width], field, width), 0) << column.name << " " << i;
      const StridedView strided = view(column, history.from(i));
      ASSERT_EQ(static_cast<const void*>(strided.data), static_cast<const void*>(field));
      ASSERT_EQ(strided.stride, sizeof(Row));
    }
  }
  std::vector<std::byte> nothing;
  gather(history, columns()[0], 5, 5, nothing);
}

}  // namespace
}  // namespace mqlab
