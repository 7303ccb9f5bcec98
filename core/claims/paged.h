// Arrays indexed by the lab's own numbers, which are nearly dense: no hashing on the way of a message, no
// copy when they grow, and a reset that costs what was touched, not what was ever reserved.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/base/ids.h"

namespace mqlab {

template <class T>
class Paged {
  static constexpr unsigned bits = 6;  // small pages: judging a history of 500 rows must not clear kilobytes
  using Page = std::array<T, 1u << bits>;

 public:
  T& operator[](std::uint64_t i) {
    const std::uint64_t page = i >> bits;
    if (page >= pages_.size() || pages_[page] == nullptr) [[unlikely]]
      add(page);
    return (*pages_[page])[i & (Page{}.size() - 1)];
  }
  /// T{} for what was never touched.
  T get(std::uint64_t i) const {
    const std::uint64_t page = i >> bits;
    if (page >= pages_.size() || pages_[page] == nullptr) return T{};
    return (*pages_[page])[i & (Page{}.size() - 1)];
  }
  /// Calls f(index, value) in order of indices, for all values of touched pages.
  template <class F>
  void for_each(F&& f) const {
    for (std::uint64_t page = 0; page < pages_.size(); ++page) {
      if (pages_[page] == nullptr) continue;
      for (std::uint64_t i = 0; i < Page{}.size(); ++i) f((page << bits) + i, (*pages_[page])[i]);
    }
  }
  void reset() {
    for (Page* page : pages_) {
      if (page == nullptr) continue;
      page->fill(T{});
      free_.push_back(page);
    }
    pages_.clear();
  }

 private:
  void add(std::uint64_t page) {
    if (page >= pages_.size()) pages_.resize(page + 1, nullptr);
    if (free_.empty()) {
      owned_.push_back(std::make_unique<Page>());
      free_.push_back(owned_.back().get());
    }
    pages_[page] = free_.back();
    free_.pop_back();
  }

  std::vector<Page*> pages_;
  std::vector<Page*> free_;  // all T{}
  std::vector<std::unique_ptr<Page>> owned_;
};

/// By offset or sequence within one place. Dense from where the first one falls; strays go to a map.
template <class T>
class ByPosition {
 public:
  T& operator[](std::int64_t position) {
    if (!based_) set_base(position);
    const std::uint64_t i = static_cast<std::uint64_t>(position) - static_cast<std::uint64_t>(base_);
    return i < dense_range ? dense_[i] : strays_[position];
  }
  T get(std::int64_t position) const {
    if (!based_) return T{};
    const std::uint64_t i = static_cast<std::uint64_t>(position) - static_cast<std::uint64_t>(base_);
    if (i < dense_range) return dense_.get(i);
    const auto stray = strays_.find(position);
    return stray == strays_.end() ? T{} : stray->second;
  }
  /// Calls f(position, value) for all values of touched pages, T{} among them.
  template <class F>
  void for_each(F&& f) const {
    dense_.for_each([&](std::uint64_t i, const T& value) { f(base_ + static_cast<std::int64_t>(i), value); });
    for (const auto& [position, value] : strays_) f(position, value);
  }
  void reset() {
    dense_.reset();
    strays_.clear();
    based_ = false;
  }

 private:
  static constexpr std::uint64_t dense_range = std::uint64_t{1} << 28;
  static constexpr std::int64_t margin = 1 << 12;  // readers may meet a place's records out of order

  void set_base(std::int64_t position) {
    based_ = true;
    base_ = position >= 0 && position < (std::int64_t{1} << 26) ? 0 : position - margin * (position > margin);
  }

  bool based_ = false;
  std::int64_t base_ = 0;
  Paged<T> dense_;
  std::map<std::int64_t, T> strays_;
};

/// By place and position.
template <class T>
class Positions {
 public:
  explicit Positions(std::size_t places) : places_(places) {}
  /// place must be below the number of places.
  T& at(PlaceId place, std::int64_t position) {
    if (!places_[place].touched) {
      places_[place].touched = true;
      touched_.push_back(place);
    }
    return places_[place].values[position];
  }
  T get(PlaceId place, std::int64_t position) const {
    return place < places_.size() ? places_[place].values.get(position) : T{};
  }
  /// Calls f(place, position, value), in order of places.
  template <class F>
  void for_each(F&& f) const {
    for (PlaceId place = 0; place < places_.size(); ++place) {
      if (!places_[place].touched) continue;
      places_[place].values.for_each(
          [&](std::int64_t position, const T& value) { f(place, position, value); });
    }
  }
  /// Calls f(position, value) for one place.
  template <class F>
  void for_each_in(PlaceId place, F&& f) const {
    if (place < places_.size() && places_[place].touched) places_[place].values.for_each(f);
  }
  void reset() {
    for (const PlaceId place : touched_) {
      places_[place].values.reset();
      places_[place].touched = false;
    }
    touched_.clear();
  }

 private:
  struct Place {
    bool touched = false;
    ByPosition<T> values;
  };
  std::vector<Place> places_;
  std::vector<PlaceId> touched_;
};

/// A set of (place, position): one bit each.
class PositionSet {
 public:
  explicit PositionSet(std::size_t places) : words_(places) {}
  /// True when it was not there before.
  bool insert(PlaceId place, std::int64_t position) {
    std::uint64_t& word = words_.at(place, position >> 6);
    const std::uint64_t bit = std::uint64_t{1} << (position & 63);
    const bool fresh = (word & bit) == 0;
    word |= bit;
    return fresh;
  }
  bool contains(PlaceId place, std::int64_t position) const {
    return (words_.get(place, position >> 6) >> (position & 63) & 1) != 0;
  }
  void reset() { words_.reset(); }

 private:
  Positions<std::uint64_t> words_;
};

}  // namespace mqlab
