#include "sim/brokers/kafka/log.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/draw.h"
#include "core/base/plant.h"

namespace mqlab::sim::kafka {

bool Log::append(Instant now, const LogEntry& entry, const KafkaTopic& topic) {
  MQLAB_CHECK(entry.base >= end_);
  // A segment that is full, or old, is flushed when the log rolls; by default that is the only flush there is
  // (kafka UnifiedLog.roll, LogSegment.shouldRoll).
  const bool full = active_.bytes > 0 && active_.bytes + entry.bytes > topic.segment_bytes;
  const bool old = active_.bytes > 0 && topic.segment_time.ns > 0 && now - active_.first > topic.segment_time;
  bool synced = true;
  if (full || old) {
    file_.sync();  // by a thread of its own: who appends goes on, whatever comes of it
    closed_.push_back(active_);
    active_ = {};
  }
  if (active_.bytes == 0) active_ = {entry.base, 0, now, now};
  active_.bytes += entry.bytes;
  active_.newest = entry.appended;
  bytes_ += entry.bytes;
  if (entries_.empty()) epochs_.clear();
  if (epochs_.empty() || entry.leader_epoch > epochs_.back().epoch)
    epochs_.push_back({entry.leader_epoch, entry.base});
  entries_.push_back(entry);
  end_ = entry.end();
  file_.wrote(now, end_);
  if (topic.flush_messages > 0) {
    unflushed_records_ += entry.count;
    if (unflushed_records_ >= topic.flush_messages) {
      synced = file_.sync();
      unflushed_records_ = 0;
    }
  }
  return synced;
}

std::size_t Log::find(std::int64_t offset) const {
  if (offset >= end_) return entries_.size();
  constexpr std::size_t near = 8;  // what is read was mostly written just now
  for (std::size_t i = entries_.size(), n = 0; n < near && i > 0; ++n) {
    if (entries_[--i].base <= offset) return offset < entries_[i].end() ? i : i + 1;
  }
  const auto after = std::upper_bound(entries_.begin(), entries_.end(), offset,
                                      [](std::int64_t o, const LogEntry& e) { return o < e.base; });
  const auto next = static_cast<std::size_t>(after - entries_.begin());
  return next > 0 && offset < entries_[next - 1].end() ? next - 1 : next;
}

EpochEnd Log::epoch_end(std::int64_t epoch) const {
  if (entries_.empty() || epoch >= last_epoch()) return {last_epoch(), end_};
  const auto higher = std::upper_bound(epochs_.begin(), epochs_.end(), epoch,
                                       [](std::int64_t e, const EpochStart& x) { return e < x.epoch; });
  if (higher == epochs_.begin()) return {-1, higher->start};
  return {std::prev(higher)->epoch, higher->start};
}

void Log::truncate(std::int64_t end) {
  std::int64_t cut = std::min(end_, end);
  while (!entries_.empty() && entries_.back().end() > end) {
    const LogEntry& last = entries_.back();
    while (last.base < active_.base && !closed_.empty()) {
      active_ = closed_.back();
      closed_.pop_back();
    }
    active_.bytes -= last.bytes;
    bytes_ -= last.bytes;
    cut = std::min(cut, last.base);
    release(*arena_, last.batch);
    entries_.pop_back();
  }
  end_ = entries_.empty() ? std::min(start_, end) : cut;
  start_ = std::min(start_, end_);
  cleaned_to_ = std::min(cleaned_to_, end_);
  while (!epochs_.empty() && epochs_.back().start >= end_) epochs_.pop_back();
  file_.truncated(end_);
}

void Log::restart(std::int64_t at) {
  truncate(0);
  start_ = end_ = at;
}

void Log::expire(Instant now, const KafkaTopic& topic, std::int64_t high_watermark) {
  std::size_t dropped = 0;
  while (dropped < entries_.size()) {
    const Segment& oldest = closed_.empty() ? active_ : closed_.front();
    const std::int64_t next = closed_.empty() ? end_ : closed_.size() > 1 ? closed_[1].base : active_.base;
    const bool aged =
        topic.retention_time != Duration::forever() && now - oldest.newest > topic.retention_time;
    const bool large = topic.retention_bytes >= 0 &&
                       bytes_ >= static_cast<std::uint64_t>(topic.retention_bytes) + oldest.bytes;
    if (next > high_watermark || !(aged || large)) break;
    for (; dropped < entries_.size() && entries_[dropped].base < next; ++dropped)
      release(*arena_, entries_[dropped].batch);
    bytes_ -= oldest.bytes;
    start_ = next;
    if (closed_.empty()) {
      active_ = {};
    } else {
      closed_.pop_front();
    }
  }
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(dropped));
  while (epochs_.size() > 1 && epochs_[1].start <= start_) epochs_.erase(epochs_.begin());
  if (!epochs_.empty()) epochs_.front().start = std::max(epochs_.front().start, start_);
}

void Log::lose_power(Instant now, const KafkaTopic& topic, std::uint64_t bits) {
  std::int64_t durable = std::max(file_.durable(now), start_);
  if (topic.flush_interval.ns > 0) {
    // The flush scheduler looks at a log once an interval and flushes what is older than one (kafka
    // LogManager).
    for (const LogEntry& e : entries_) {
      if (now - e.appended >= topic.flush_interval * 2) durable = std::max(durable, e.end());
    }
  }
  const std::int64_t at_risk = end_ - durable;
  std::int64_t keep = durable;
  if (at_risk > 0 && (bits & 1) != 0)
    keep += static_cast<std::int64_t>(below(mix(bits), static_cast<std::uint64_t>(at_risk) + 1));
  truncate(keep);
  file_.synced();
  unflushed_records_ = 0;
}

std::int64_t divergence(const Log& leader, const Log& follower) {
  if (planted(Plant::kafka_truncation_off)) return -1;
  std::int64_t end = follower.end();
  std::int64_t epoch = follower.last_epoch();
  bool cut = false;
  while (epoch >= 0) {
    const EpochEnd theirs = leader.epoch_end(epoch);
    if (theirs.epoch == epoch && theirs.end >= end) break;
    const EpochEnd ours = follower.epoch_end(theirs.epoch);
    cut = true;
    if (ours.epoch == theirs.epoch) return std::min({ours.end, theirs.end, end});
    end = std::min(ours.end, end);
    epoch = ours.epoch;
  }
  return cut ? end : -1;
}

}  // namespace mqlab::sim::kafka
