// A replica's log: batches shared with the other replicas, and how much of it the disk holds.
#pragma once
#include <cstdint>

#include "core/base/arena.h"
#include "core/base/ring.h"
#include "core/base/time.h"
#include "core/scenario/kafka_settings.h"
#include "sim/brokers/kafka/protocol.h"
#include "sim/storage.h"

namespace mqlab::sim::kafka {

class ProducerLedger;

/// A batch; or, where compaction took records out of it, a run of those that stay. One without records is
/// there for the batch's sequence numbers, or for the offset at which a compacted part ends.
struct LogEntry {
  std::int64_t base = 0;  ///< offset of its first record
  Batch* batch = nullptr;
  Instant appended = {};  ///< by the leader
  std::uint32_t count = 0;
  std::uint32_t leader_epoch = 0;
  std::uint32_t bytes = 0;
  std::uint32_t first = 0;                      ///< index of its first record in the batch
  Instant tombstones_until = Instant::never();  ///< set by the first cleaning (KIP-534: delete horizon)

  std::int64_t end() const { return base + count; }
  std::int64_t batch_base() const { return base - first; }
  const Record& record(std::uint32_t i) const { return batch->records[first + i]; }
};

/// Where one leader epoch ends in a log. `epoch` is the latest one of the log that is not above what was
/// asked for.
struct EpochEnd {
  std::int64_t epoch = -1;  ///< −1 = the log knows none so low
  std::int64_t end = 0;
};

class Log {
 public:
  explicit Log(Arena& arena)
      : arena_(&arena), entries_(arena), epochs_(arena), closed_(arena), file_(arena) {}

  /// The first offset that is not deleted.
  std::int64_t start() const { return start_; }
  std::int64_t end() const { return end_; }
  bool empty() const { return entries_.empty(); }
  std::uint64_t bytes() const { return bytes_; }  ///< of all segments
  const Vec<LogEntry>& entries() const { return entries_; }
  /// Of the last entry; −1 when empty.
  std::int64_t last_epoch() const {
    return entries_.empty() ? -1 : std::int64_t{entries_.back().leader_epoch};
  }

  /// Appends a batch and takes over one reference to it. entry.base must be end(); at a follower offsets may
  /// be left out.
  /// False when it has to be synced and cannot.
  bool append(Instant now, const LogEntry& entry, const KafkaTopic& topic);
  /// What the last segment can take on a full disk.
  std::int64_t rest_of_last_block() const {
    return sim::rest_of_last_block(static_cast<std::int64_t>(active_.bytes));
  }
  /// Index of the entry that holds `offset`, or of the next one when it is gone; entries().size() when there
  /// is none.
  std::size_t find(std::int64_t offset) const;
  /// kafka LeaderEpochFileCache.endOffsetFor.
  EpochEnd epoch_end(std::int64_t epoch) const;
  /// Drops every batch that reaches beyond `end`.
  void truncate(std::int64_t end);
  /// Drops everything and goes on from there: the leader's log begins above this one's end.
  void restart(std::int64_t at);
  /// Retention (kafka UnifiedLog.deleteOldSegments): from the oldest on, whole segments below the high
  /// watermark whose newest record is too old, or that are too many bytes. The last one is rolled for it if
  /// need be.
  void expire(Instant now, const KafkaTopic& topic, std::int64_t high_watermark);
  /// Whether a closed segment has not been compacted.
  bool dirty() const { return cleaned_to() < active_.base; }
  /// Compaction, if it is time for it: of the keys that the dirty part has only the latest record stays; of
  /// aborted transactions none; tombstones until delete.retention.ms after the first cleaning that left them.
  /// The active segment, and what is not below the last stable offset, is left alone. True when it was done.
  bool compact(Instant now, const KafkaTopic& topic, std::int64_t high_watermark);
  /// All of it is on disk now.
  void flush() { file_.sync(); }
  void fail_syncs(bool failing) { file_.fail_syncs(failing); }
  /// Power is gone: what is not on disk is lost; of what may or may not have been written back, a prefix
  /// chosen by 64 random bits stays. (Recovery cuts the log at the first bad batch, so that a prefix is all
  /// that can stay.)
  void lose_power(Instant now, const KafkaTopic& topic, std::uint64_t bits);

 private:
  struct Segment {
    std::int64_t base = 0;
    std::uint64_t bytes = 0;
    Instant first = {};
    Instant newest = {};
  };

  struct EpochStart {
    std::int64_t epoch = -1;
    std::int64_t start = 0;
  };
  struct Latest {  ///< record of a key
    std::uint32_t key = 0;
    std::int64_t offset = -1;
  };

  // log_compaction.cc
  std::int64_t cleaned_to() const;
  std::int64_t cleanable_end(Instant now, const KafkaTopic& topic, std::int64_t last_stable) const;
  bool filthy(Instant now, const KafkaTopic& topic, std::int64_t end) const;
  Vec<Latest> latest_of_keys(const ProducerLedger& ledger, std::int64_t end) const;
  void weigh();
  const Segment& segment(std::uint32_t i) const { return i < closed_.size() ? closed_[i] : active_; }

  Arena* arena_;
  Vec<LogEntry> entries_;
  Vec<EpochStart> epochs_;  ///< kafka LeaderEpochFileCache
  Ring<Segment> closed_;
  Segment active_;
  std::uint64_t bytes_ = 0;  ///< of all segments
  File file_;
  std::int64_t start_ = 0;
  std::int64_t end_ = 0;
  std::uint64_t unflushed_records_ = 0;
  std::int64_t cleaned_to_ = 0;  ///< kafka cleaner-offset-checkpoint
};

/// The offset to which a follower's log must be cut before it can follow the leader's; −1 when it is a prefix
/// already. The exchange of KIP-101 and KIP-279 (kafka AbstractFetcherThread.getOffsetTruncationState) to its
/// end.
std::int64_t divergence(const Log& leader, const Log& follower);

}  // namespace mqlab::sim::kafka
