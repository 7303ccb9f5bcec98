#include "core/history/history.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/base/wide.h"

namespace mqlab {
namespace {

/// Both halves of a 64 × 64 product: a cheap step in which every bit of a and b counts.
std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const Uint128 product = static_cast<Uint128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

constexpr std::array<std::uint64_t, 10> salt = {  // odd, from the digits of π
    0x243f6a8885a308d3, 0x13198a2e03707345, 0xa4093822299f31d1, 0x082efa98ec4e6c89, 0x452821e638d01377,
    0xbe5466cf34e90c6d, 0xc0ac29b7c97c50dd, 0x3f84d5b5b5470917, 0x9216d5d98979fb1b, 0xd1310ba698dfb5ad};

/// Rows are mixed on their own and then chained, so that the chain is one multiplication a row.
std::uint64_t hash_rows(std::uint64_t state, std::span<const Row> rows) {
  for (const Row& row : rows) {
    std::array<std::uint64_t, 10> w;
    static_assert(sizeof(w) == sizeof(Row));
    std::memcpy(w.data(), &row, sizeof(Row));
    std::uint64_t mixed = 0;
    for (std::size_t i = 0; i < w.size(); i += 2)
      mixed += fold(w[i] ^ salt[i], w[i + 1] ^ salt[i + 1]) * salt[i];
    state = fold(state ^ mixed, salt[9]) + mixed;
  }
  return state;
}

}  // namespace

History::History(History&& other) noexcept { *this = std::move(other); }

History& History::operator=(History&& other) noexcept {
  if (this == &other) return *this;
  begin_ = std::exchange(other.begin_, nullptr);
  cursor_ = std::exchange(other.cursor_, nullptr);
  end_ = std::exchange(other.end_, nullptr);
  base_ = std::exchange(other.base_, 0);
  first_ = std::exchange(other.first_, 0);
  recycled_hash_ = std::exchange(other.recycled_hash_, 0);
  chunks_ = std::exchange(other.chunks_, {});
  free_ = std::exchange(other.free_, {});
  return *this;
}

void History::grow() {
  base_ = chunks_.size() * chunk_rows;
  if (free_.empty()) {
    // Not `new Row[]`: rows are made one by one in next(), fresh pages are touched only then.
    chunks_.emplace_back(static_cast<Row*>(::operator new(chunk_rows * sizeof(Row))));
  } else {
    chunks_.push_back(std::move(free_.back()));
    free_.pop_back();
  }
  begin_ = cursor_ = chunks_.back().get();
  end_ = begin_ + chunk_rows;
}

void History::truncate(std::size_t n) {
  MQLAB_CHECK(n >= first_ && n <= size());
  const std::size_t keep = (n + chunk_rows - 1) / chunk_rows;
  while (chunks_.size() > keep) {
    if (chunks_.back()) free_.push_back(std::move(chunks_.back()));
    chunks_.pop_back();
  }
  base_ = n / chunk_rows * chunk_rows;
  if (n == base_) {
    begin_ = cursor_ = end_ = nullptr;
  } else {
    begin_ = chunks_.back().get();
    cursor_ = begin_ + (n - base_);
    end_ = begin_ + chunk_rows;
  }
}

void History::recycle(std::size_t n) {
  MQLAB_CHECK(n <= size());
  const std::size_t until = n / chunk_rows * chunk_rows;
  for (; first_ < until; first_ += chunk_rows) {
    Chunk& chunk = chunks_[first_ / chunk_rows];
    recycled_hash_ = hash_rows(recycled_hash_, {chunk.get(), chunk_rows});
    if (chunk.get() == begin_) {  // the chunk being written is full
      base_ += chunk_rows;
      begin_ = cursor_ = end_ = nullptr;
    }
    free_.push_back(std::move(chunk));
  }
}

void History::clear() {
  for (Chunk& chunk : chunks_) {
    if (chunk) free_.push_back(std::move(chunk));
  }
  chunks_.clear();
  begin_ = cursor_ = end_ = nullptr;
  base_ = first_ = 0;
  recycled_hash_ = 0;
}

std::uint64_t History::hash() const {
  std::uint64_t state = recycled_hash_;
  for_each(first_, [&](std::span<const Row> rows) { state = hash_rows(state, rows); });
  return fold(state ^ size(), salt[1]);
}

}  // namespace mqlab
