#include "core/base/arena.h"

#include <cstdlib>
#include <cstring>

#include "core/base/check.h"

namespace mqlab {

Arena::Arena(std::size_t reserve_bytes)
    : base_(static_cast<std::byte*>(std::aligned_alloc(4096, (reserve_bytes + 4095) & ~std::size_t{4095}))),
      reserved_(reserve_bytes),
      control_(reinterpret_cast<Control*>(base_)) {
  if (base_ == nullptr) throw std::bad_alloc();
  reset();
}

Arena::~Arena() { std::free(base_); }

void Arena::reset() noexcept {
  *control_ = Control{.used = (sizeof(Control) + 63) & ~std::size_t{63}, .free = {}};
}

void* Arena::bump(std::size_t bytes) {
  if (bytes > reserved_ - control_->used) throw std::bad_alloc();
  void* block = base_ + control_->used;
  control_->used += bytes;
  return block;
}

void Arena::save(std::vector<std::byte>& image) const { image.assign(base_, base_ + control_->used); }

void Arena::restore(std::span<const std::byte> image) noexcept {
  MQLAB_CHECK(image.size() <= reserved_);
  std::memcpy(base_, image.data(), image.size());
}

}  // namespace mqlab
