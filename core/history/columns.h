// The history by columns, for readers that think in columns (data frames, Parquet): views into the chunks
// without a copy, or one buffer a column.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/history/history.h"

namespace mqlab {

enum class ColumnType : std::uint8_t { i64, u64, u32, u16, u8 };
std::size_t size_of(ColumnType type);

struct Column {
  std::string_view name;  ///< of the field in Row
  ColumnType type;
  std::size_t offset;  ///< within Row
};

/// The columns of a row, in the order of its fields. Names of kinds, phases, processes and places are the
/// reader's business: the columns hold their numbers.
std::span<const Column> columns();

/// `count` values, one every `stride` bytes.
struct StridedView {
  const std::byte* data = nullptr;
  std::size_t stride = sizeof(Row);
  std::size_t count = 0;
};
/// Valid as long as the rows are: chunk by chunk with History::for_each.
StridedView view(const Column& column, std::span<const Row> rows);

/// Copies the values of rows first … end − 1 one behind the other; `out` has (end − first) · size_of(type)
/// bytes.
void gather(const History& history, const Column& column, std::size_t first, std::size_t end,
            std::span<std::byte> out);

}  // namespace mqlab
