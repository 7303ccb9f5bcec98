// Compaction: of each key the latest record stays. Rules: kafka Cleaner (buildOffsetMap, cleanInto,
// shouldRetainRecord), LogCleanerManager (grabFilthiestCompactedLog, cleanableOffsets, maxCompactionDelay);
// KIP-58 (min.compaction.lag.ms), KIP-354 (max.compaction.lag.ms), KIP-534 (delete horizon). Markers stay,
// which no reader can tell: they are given to none.
#include <algorithm>

#include "sim/brokers/kafka/log.h"
#include "sim/brokers/kafka/producer_ledger.h"

namespace mqlab::sim::kafka {

/// kafka LogCleanerManager.cleanableOffsets: from here on it is dirty.
std::int64_t Log::cleaned_to() const { return cleaned_to_ > end_ ? start_ : std::max(cleaned_to_, start_); }

std::int64_t Log::cleanable_end(Instant now, const KafkaTopic& topic, std::int64_t last_stable) const {
  std::int64_t end = std::min(last_stable, active_.base);
  for (std::uint32_t i = 0; topic.compaction_lag_min.ns > 0 && i < closed_.size(); ++i) {
    const bool dirty = segment(i + 1).base > cleaned_to();
    const bool young = now - closed_[i].newest < topic.compaction_lag_min;
    if (dirty && young) return std::min(end, closed_[i].base);
  }
  return end;
}

/// Whether, of what may be compacted, enough is dirty, or something has been for too long.
bool Log::filthy(Instant now, const KafkaTopic& topic, std::int64_t end) const {
  std::uint64_t clean = 0, cleanable = 0;
  bool overdue = false;
  for (std::uint32_t i = 0; i < closed_.size(); ++i) {
    const std::int64_t next = segment(i + 1).base;
    if (closed_[i].base < cleaned_to()) clean += closed_[i].bytes;
    if (next <= cleaned_to()) continue;
    if (next <= end) cleanable += closed_[i].bytes;
    overdue = overdue || (topic.compaction_lag_max != Duration::forever() &&
                          now - closed_[i].first > topic.compaction_lag_max);
  }
  if (cleanable == 0) return false;
  return overdue ||
         static_cast<double>(cleanable) / static_cast<double>(clean + cleanable) > topic.dirty_ratio;
}

/// The latest offset of each key of the dirty part, by key.
Vec<Log::Latest> Log::latest_of_keys(const ProducerLedger& ledger, std::int64_t end) const {
  Vec<Latest> latest(*arena_);
  for (std::size_t i = find(cleaned_to()); i < entries_.size() && entries_[i].end() <= end; ++i) {
    const LogEntry& e = entries_[i];
    if (e.batch->control != Control::none || ledger.aborted(*e.batch, e.base)) continue;
    for (std::uint32_t r = 0; r < e.count; ++r) latest.push_back({e.record(r).key, e.base + r});
  }
  std::sort(latest.begin(), latest.end(), [](const Latest& a, const Latest& b) {
    return a.key != b.key ? a.key < b.key : a.offset > b.offset;
  });
  latest.erase(std::unique(latest.begin(), latest.end(),
                           [](const Latest& a, const Latest& b) { return a.key == b.key; }),
               latest.end());
  return latest;
}

namespace {

/// Runs of one entry's records that stay.
class Sieve {
 public:
  Sieve(Arena& arena, Instant now, Duration tombstone_retention)
      : now_(now), retention_(tombstone_retention), kept_(arena) {}

  /// `stays(record, offset)`; tombstones also need their time not to be over.
  template <class F>
  void pass(const LogEntry& e, F stays) {
    LogEntry run = e;
    run.count = 0;
    bool tombstones = false;
    const std::size_t first = kept_.size();
    const bool over = e.tombstones_until <= now_;
    for (std::uint32_t i = 0; i < e.count; ++i) {
      const Record& record = e.record(i);
      if (!stays(record, e.base + i) || (record.tombstone() && over)) {
        end(run, e);
        continue;
      }
      tombstones = tombstones || record.tombstone();
      if (run.count == 0) begin(run, e, i);
      const auto delta = static_cast<std::uint64_t>(
          std::max<std::int64_t>((record.timestamp - e.batch->records[0].timestamp).ns / 1'000'000, 0));
      run.bytes += record_bytes(key_bytes(record.key), record.size, e.first + i, delta);
      ++run.count;
    }
    end(run, e);
    if (!tombstones || e.tombstones_until != Instant::never()) return;
    for (std::size_t i = first; i < kept_.size(); ++i) kept_[i].tombstones_until = now_ + retention_;
  }
  void whole(const LogEntry& e) {
    ++e.batch->references;
    kept_.push_back(e);
  }
  /// Nothing of the batch but its end, unless that is there.
  void mark_end(const LogEntry& e) {
    if (!kept_.empty() && kept_.back().end() >= e.end()) return;
    LogEntry mark = e;
    mark.base = e.end();
    mark.first = e.first + e.count;
    mark.count = mark.bytes = 0;
    whole(mark);
  }
  Vec<LogEntry>& kept() { return kept_; }

 private:
  void begin(LogEntry& run, const LogEntry& e, std::uint32_t i) const {
    run.base = e.base + i;
    run.first = e.first + i;
    const bool same = !kept_.empty() && kept_.back().batch == e.batch;
    run.bytes = same ? 0 : batch_overhead_bytes;
  }
  void end(LogEntry& run, const LogEntry& e) {
    if (run.count == e.count) run.bytes = e.bytes;
    if (run.count > 0) whole(run);
    run.count = 0;
  }

  Instant now_;
  Duration retention_;
  Vec<LogEntry> kept_;
};

/// Whether a batch is the last with records of its producer in the log: it has the sequence number that the
/// producer's next one must follow.
class LastOfProducers {
 public:
  LastOfProducers(Arena& arena, const Vec<LogEntry>& entries) : last_(arena) {
    for (const LogEntry& e : entries) {
      if (e.batch->producer < 0 || e.batch->control != Control::none) continue;
      const auto at = std::find_if(last_.begin(), last_.end(),
                                   [&](const Batch* b) { return b->producer == e.batch->producer; });
      if (at == last_.end()) {
        last_.push_back(e.batch);
      } else {
        *at = e.batch;
      }
    }
  }
  bool has(const Batch* batch) const { return std::find(last_.begin(), last_.end(), batch) != last_.end(); }

 private:
  Vec<const Batch*> last_;
};

}  // namespace

bool Log::compact(Instant now, const KafkaTopic& topic, std::int64_t high_watermark) {
  ProducerLedger ledger(*arena_);
  ledger.rebuild(*this);
  const std::int64_t end = cleanable_end(now, topic, ledger.last_stable(high_watermark));
  if (!filthy(now, topic, end)) return false;
  const Vec<Latest> latest = latest_of_keys(ledger, end);
  const auto is_latest = [&](const Record& record, std::int64_t offset) {
    const auto at = std::lower_bound(latest.begin(), latest.end(), record.key,
                                     [](const Latest& l, std::uint32_t key) { return l.key < key; });
    return at == latest.end() || at->key != record.key || offset >= at->offset;
  };
  const LastOfProducers last(*arena_, entries_);
  Sieve sieve(*arena_, now, topic.tombstone_retention);
  std::size_t n = 0;
  for (; n < entries_.size() && entries_[n].end() <= end; ++n) {
    const LogEntry& e = entries_[n];
    if (e.batch->control != Control::none) {
      sieve.whole(e);
    } else if (!ledger.aborted(*e.batch, e.base)) {
      sieve.pass(e, is_latest);
    }
    const bool ends_batch = n + 1 == entries_.size() || entries_[n + 1].batch != e.batch;
    const bool ends_round = n + 1 == entries_.size() || entries_[n + 1].end() > end;
    const bool gone = sieve.kept().empty() || sieve.kept().back().batch != e.batch;
    if (ends_round || (ends_batch && gone && last.has(e.batch))) sieve.mark_end(e);
  }
  for (std::size_t i = 0; i < n; ++i) release(*arena_, entries_[i].batch);
  sieve.kept().insert(sieve.kept().end(), entries_.begin() + static_cast<std::ptrdiff_t>(n), entries_.end());
  entries_.swap(sieve.kept());
  cleaned_to_ = end;
  weigh();
  return true;
}

/// Segments after their records changed.
void Log::weigh() {
  for (std::uint32_t i = 0; i < closed_.size(); ++i) closed_[i].bytes = 0;
  bytes_ = active_.bytes;
  std::uint32_t at = 0;
  for (const LogEntry& e : entries_) {
    while (at < closed_.size() && e.base >= segment(at + 1).base) ++at;
    if (at == closed_.size()) break;
    closed_[at].bytes += e.bytes;
    bytes_ += e.bytes;
  }
}

}  // namespace mqlab::sim::kafka
