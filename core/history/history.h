// The history of one run in memory: rows in the order they were written, in chunks that are recycled.
//
// Appending is the hot path of the simulator: a bump of a pointer on memory that is warm once chunks go
// round. Snapshots of a run remember size() and go back with truncate(). In window mode the consumer of the
// rows gives chunks back with recycle(); indices of rows stay what they were.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "core/base/check.h"
#include "core/history/row.h"

namespace mqlab {

class History {
 public:
  static constexpr std::size_t chunk_rows = 4096;

  History() = default;
  History(History&& other) noexcept;
  History& operator=(History&& other) noexcept;
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  /// A fresh row at the end, all fields at their defaults. Valid until the row is truncated or recycled.
  Row& next() {
    if (cursor_ == end_) [[unlikely]]
      grow();
    return *new (cursor_++) Row;
  }
  Row& next(Kind kind, Phase phase) {
    Row& row = next();
    row.kind = kind;
    row.phase = phase;
    return row;
  }

  /// How many rows were written, recycled ones included.
  std::size_t size() const { return base_ + static_cast<std::size_t>(cursor_ - begin_); }
  bool empty() const { return size() == 0; }
  /// Index of the first row that is still here.
  std::size_t first() const { return first_; }
  /// first() ≤ i < size().
  const Row& operator[](std::size_t i) const { return chunks_[i / chunk_rows][i % chunk_rows]; }
  Row& operator[](std::size_t i) { return chunks_[i / chunk_rows][i % chunk_rows]; }

  /// Rows from i to the end of its chunk; empty when i = size().
  std::span<const Row> from(std::size_t i) const {
    if (i >= size()) return {};
    MQLAB_CHECK(i >= first_);
    const std::size_t end = (i / chunk_rows + 1) * chunk_rows;
    return {&(*this)[i], (end < size() ? end : size()) - i};
  }
  /// Calls f(span of rows) for row i and all that follow, chunk by chunk.
  template <class F>
  void for_each(std::size_t i, F&& f) const {
    while (i < size()) {
      const std::span<const Row> rows = from(i);
      f(rows);
      i += rows.size();
    }
  }

  /// Forgets rows n and later. first() ≤ n ≤ size().
  void truncate(std::size_t n);
  /// Gives back the chunks that lie wholly before row n ≤ size(). They still count for size() and hash().
  void recycle(std::size_t n);
  /// Forgets everything; keeps the memory.
  void clear();

  /// 64 bits over all fields of all rows in order, recycled ones included. The same on every machine and
  /// build.
  std::uint64_t hash() const;

 private:
  struct Free {
    void operator()(Row* chunk) const { ::operator delete(chunk); }
  };
  using Chunk = std::unique_ptr<Row[], Free>;

  void grow();

  Row* begin_ = nullptr;  // the chunk being written; all three null when the next row needs a new one
  Row* cursor_ = nullptr;
  Row* end_ = nullptr;
  std::size_t base_ = 0;  // index of *begin_
  std::size_t first_ = 0;
  std::uint64_t recycled_hash_ = 0;  // over rows before first_
  std::vector<Chunk> chunks_;        // by index / chunk_rows; null when recycled
  std::vector<Chunk> free_;
};

}  // namespace mqlab
