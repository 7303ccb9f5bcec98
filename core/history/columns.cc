#include "core/history/columns.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace mqlab {
namespace {

static_assert(sizeof(Kind) == 1 && sizeof(Phase) == 1);
constexpr std::array all = {
    Column{"time", ColumnType::i64, offsetof(Row, time)},
    Column{"position", ColumnType::i64, offsetof(Row, position)},
    Column{"aux", ColumnType::i64, offsetof(Row, aux)},
    Column{"digest", ColumnType::u64, offsetof(Row, digest)},
    Column{"op", ColumnType::u32, offsetof(Row, op)},
    Column{"message", ColumnType::u32, offsetof(Row, message)},
    Column{"cause", ColumnType::u32, offsetof(Row, cause)},
    Column{"place", ColumnType::u32, offsetof(Row, place)},
    Column{"key", ColumnType::u32, offsetof(Row, key)},
    Column{"transaction", ColumnType::u32, offsetof(Row, transaction)},
    Column{"epoch", ColumnType::u32, offsetof(Row, epoch)},
    Column{"size", ColumnType::u32, offsetof(Row, size)},
    Column{"trace", ColumnType::u32, offsetof(Row, trace)},
    Column{"process", ColumnType::u16, offsetof(Row, process)},
    Column{"incarnation", ColumnType::u16, offsetof(Row, incarnation)},
    Column{"attempt", ColumnType::u16, offsetof(Row, attempt)},
    Column{"code", ColumnType::u16, offsetof(Row, code)},
    Column{"flags", ColumnType::u16, offsetof(Row, flags)},
    Column{"kind", ColumnType::u8, offsetof(Row, kind)},
    Column{"phase", ColumnType::u8, offsetof(Row, phase)},
};

template <std::size_t bytes>
std::byte* copy(StridedView from, std::byte* to) {
  for (std::size_t i = 0; i < from.count; ++i, to += bytes)
    std::memcpy(to, from.data + i * from.stride, bytes);
  return to;
}

}  // namespace

std::size_t size_of(ColumnType type) {
  switch (type) {
    case ColumnType::i64:
    case ColumnType::u64:
      return 8;
    case ColumnType::u32:
      return 4;
    case ColumnType::u16:
      return 2;
    case ColumnType::u8:
      return 1;
  }
  return 0;
}

std::span<const Column> columns() { return all; }

StridedView view(const Column& column, std::span<const Row> rows) {
  return {reinterpret_cast<const std::byte*>(rows.data()) + column.offset, sizeof(Row), rows.size()};
}

void gather(const History& history, const Column& column, std::size_t first, std::size_t end,
            std::span<std::byte> out) {
  MQLAB_CHECK(first <= end && end <= history.size() && out.size() == (end - first) * size_of(column.type));
  std::byte* to = out.data();
  while (first < end) {
    std::span<const Row> rows = history.from(first);
    rows = rows.first(std::min(rows.size(), end - first));
    const StridedView from = view(column, rows);
    switch (size_of(column.type)) {
      case 8:
        to = copy<8>(from, to);
        break;
      case 4:
        to = copy<4>(from, to);
        break;
      case 2:
        to = copy<2>(from, to);
        break;
      default:
        to = copy<1>(from, to);
    }
    first += rows.size();
  }
}

}  // namespace mqlab
