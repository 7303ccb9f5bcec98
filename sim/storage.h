// A file of a broker node: what is in the page cache and what has reached the disk are different things.
//
// A process kill keeps the page cache. Power loss keeps what was synced, plus whatever the kernel wrote back
// by itself: Linux writes dirty pages back some 30 s after they were dirtied (vm.dirty_expire_centisecs 3000,
// checked every 5 s); measured on a real broker: nothing lost 45 s after the last write, all of it at once
// after it.
#pragma once
#include <cstdint>

#include "core/base/ring.h"
#include "core/base/time.h"

namespace mqlab::sim {

/// A file system gives out blocks of this size: on a full disk a file grows to the end of its last one.
inline constexpr std::int64_t block_bytes = 4096;
constexpr std::int64_t rest_of_last_block(std::int64_t file_bytes) {
  return (block_bytes - file_bytes % block_bytes) % block_bytes;
}

/// An append-only file measured in its owner's own units (offsets or sequences, which only rise).
class File {
 public:
  explicit File(Arena& arena) : dirty_(arena) {}

  /// Everything below `end` is in the page cache now.
  void wrote(Instant now, std::int64_t end) {
    written_ = end;
    const bool same_tick = !dirty_.empty() && now - dirty_.back().since < Duration::seconds(1);
    if (same_tick && dirty_.size() > 1) {
      dirty_.back().end = end;
    } else {
      dirty_.push_back({now, end});
    }
  }
  /// Everything written so far is on disk.
  void synced() {
    on_disk_ = written_;
    dirty_.clear();
  }
  /// fsync. False where it is an error: then nothing more is known to be on disk.
  bool sync() {
    if (!failing_) synced();
    return !failing_;
  }
  /// Each fsync is an error from now on, or no longer.
  void fail_syncs(bool failing) { failing_ = failing; }
  /// The file was cut back to `end`.
  void truncated(std::int64_t end) {
    written_ = end < written_ ? end : written_;
    on_disk_ = on_disk_ < written_ ? on_disk_ : written_;
    while (!dirty_.empty() && dirty_.back().end > end) dirty_.pop_back();
  }

  std::int64_t written() const { return written_; }
  bool dirty() const { return on_disk_ < written_; }
  /// The least that survives a power loss now: synced or written back for certain.
  std::int64_t durable(Instant now) {
    while (!dirty_.empty() && now - dirty_.front().since >= write_back_after) {
      on_disk_ = on_disk_ < dirty_.front().end ? dirty_.front().end : on_disk_;
      dirty_.pop_front();
    }
    return on_disk_;
  }

  static constexpr Duration write_back_after =
      Duration::seconds(35);  ///< 30 s to expire + 5 s between checks

 private:
  struct Dirty {
    Instant since;
    std::int64_t end;
  };
  Ring<Dirty> dirty_;
  std::int64_t written_ = 0;
  std::int64_t on_disk_ = 0;
  bool failing_ = false;
};

}  // namespace mqlab::sim
