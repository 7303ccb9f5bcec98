// One block of memory that holds a whole simulated world, so that reset and snapshot are a memcpy.
//
// The block never moves while the arena lives; pointers inside it therefore stay valid after a restore into
// the same arena. Nothing may order or hash by address. Objects in an arena are not destroyed one by one:
// they must own nothing outside it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace mqlab {

class Arena {
 public:
  /// Reserves `reserve_bytes` of address space; memory is used only as it is touched.
  /// Throws std::bad_alloc when the reservation is refused.
  explicit Arena(std::size_t reserve_bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// 16-byte aligned. Throws std::bad_alloc when the reservation is used up.
  void* allocate(std::size_t bytes) {
    const unsigned size_class = class_of(bytes);
    if (void* block = control_->free[size_class]) {
      control_->free[size_class] = *static_cast<void**>(block);
      return block;
    }
    return bump(std::size_t{1} << size_class);
  }
  void deallocate(void* block, std::size_t bytes) noexcept {
    const unsigned size_class = class_of(bytes);
    *static_cast<void**>(block) = control_->free[size_class];
    control_->free[size_class] = block;
  }

  template <class T, class... Args>
  T* make(Args&&... args) {
    static_assert(alignof(T) <= 16);
    return new (allocate(sizeof(T))) T(std::forward<Args>(args)...);
  }
  /// Gives the memory of `object` back without running a destructor.
  template <class T>
  void recycle(T* object) noexcept {
    deallocate(object, sizeof(T));
  }

  /// Forgets everything.
  void reset() noexcept;
  std::size_t used_bytes() const noexcept { return control_->used; }
  void save(std::vector<std::byte>& image) const;
  /// `image` must come from save() of this very arena.
  void restore(std::span<const std::byte> image) noexcept;

 private:
  struct Control {
    std::size_t used;
    void* free[48];
  };
  static unsigned class_of(std::size_t bytes) noexcept {
    return bytes <= 16 ? 4u : 64u - static_cast<unsigned>(__builtin_clzll(bytes - 1));
  }
  void* bump(std::size_t bytes);

  std::byte* base_;
  std::size_t reserved_;
  Control* control_;  // lies at the start of the block, so that a snapshot holds the free lists too
};

/// Lets standard containers live in an arena: `Vec<int> v(arena);`
template <class T>
struct ArenaAllocator {
  using value_type = T;
  Arena* arena;
  ArenaAllocator(Arena& a) noexcept : arena(&a) {}  // NOLINT(google-explicit-constructor)
  template <class U>
  ArenaAllocator(const ArenaAllocator<U>& o) noexcept
      : arena(o.arena) {}  // NOLINT(google-explicit-constructor)
  T* allocate(std::size_t n) { return static_cast<T*>(arena->allocate(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) noexcept { arena->deallocate(p, n * sizeof(T)); }
  template <class U>
  bool operator==(const ArenaAllocator<U>& o) const noexcept {
    return arena == o.arena;
  }
};

template <class T>
using Vec = std::vector<T, ArenaAllocator<T>>;

}  // namespace mqlab
