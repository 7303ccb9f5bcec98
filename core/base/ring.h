// A first-in first-out queue in an arena: one power-of-two block, no nodes.
#pragma once
#include <cstdint>
#include <type_traits>

#include "core/base/arena.h"
#include "core/base/check.h"

namespace mqlab {

template <class T>
class Ring {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Ring(Arena& arena) : arena_(&arena) {}
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  Ring(Ring&& o) noexcept
      : arena_(o.arena_), data_(o.data_), capacity_(o.capacity_), head_(o.head_), size_(o.size_) {
    o.data_ = nullptr;
    o.capacity_ = o.head_ = o.size_ = 0;
  }

  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }
  /// i counts from the front.
  T& operator[](std::uint32_t i) { return data_[(head_ + i) & (capacity_ - 1)]; }
  const T& operator[](std::uint32_t i) const { return data_[(head_ + i) & (capacity_ - 1)]; }

  void push_back(const T& value) {
    if (size_ == capacity_) grow();
    data_[(head_ + size_++) & (capacity_ - 1)] = value;
  }
  void push_front(const T& value) {
    if (size_ == capacity_) grow();
    head_ = (head_ - 1) & (capacity_ - 1);
    data_[head_] = value;
    ++size_;
  }
  void pop_front() {
    MQLAB_CHECK(size_ > 0);
    head_ = (head_ + 1) & (capacity_ - 1);
    --size_;
  }
  void pop_back() {
    MQLAB_CHECK(size_ > 0);
    --size_;
  }
  void clear() { head_ = size_ = 0; }

 private:
  void grow() {
    const std::uint32_t capacity = capacity_ == 0 ? 8 : capacity_ * 2;
    T* data = static_cast<T*>(arena_->allocate(capacity * sizeof(T)));
    for (std::uint32_t i = 0; i < size_; ++i) data[i] = (*this)[i];
    if (data_ != nullptr) arena_->deallocate(data_, capacity_ * sizeof(T));
    data_ = data;
    capacity_ = capacity;
    head_ = 0;
  }

  Arena* arena_;
  T* data_ = nullptr;
  std::uint32_t capacity_ = 0, head_ = 0, size_ = 0;
};

}  // namespace mqlab
