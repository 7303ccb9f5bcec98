// Old segments go, and compacted logs are cleaned. Every log.retention.check.interval.ms a node looks at the
// logs it has (kafka LogManager.cleanupLogs), every log.cleaner.backoff.ms its cleaner at those that are
// compacted (kafka LogCleaner.CleanerThread, which also deletes their old segments); here only at the first
// look that could find something.
#include <algorithm>

#include "sim/brokers/kafka/node.h"

namespace mqlab::sim::kafka {
namespace {
constexpr Duration initial_delay = Duration::seconds(30);  // log.initial.task.delay.ms
}  // namespace

/// Something was appended to a log that may lose it again.
void Node::appended(const Partition& partition) {
  if (partition.topic.compacted) return schedule_cleaning();
  if (!partition.topic.expires()) return;
  schedule_retention(partition.topic.retention_bytes >= 0 ? Duration{} : partition.topic.retention_time);
}

void Node::schedule_retention(Duration after) {
  const Instant first = booted_ + initial_delay;
  const Duration interval = cluster_.values().retention_check;
  const Instant wanted = std::max(world().now() + after, first);
  const std::int64_t looks = ((wanted - first).ns + interval.ns - 1) / interval.ns;
  const Instant due = first + interval * looks;
  if (due >= retention_due_) return;
  retention_due_ = due;
  world().schedule(due, *this, on_retention);
}

void Node::expire_logs() {
  if (world().now() < retention_due_) return;  // an earlier look took its place
  retention_due_ = Instant::never();
  Duration again = Duration::forever();
  for (PlaceId place = 0; place < cluster_.places(); ++place) {
    const Partition* partition = cluster_.partition(place);
    Replica* replica = partition == nullptr ? nullptr : partition->replica(index_);
    if (replica == nullptr || replica->log.empty() || !partition->topic.expires() ||
        partition->topic.compacted)
      continue;
    replica->log.expire(world().now(), partition->topic, replica->high_watermark);
    cluster_.measure(*partition);
    if (!replica->log.empty() && partition->topic.retention_time != Duration::forever())
      again = std::min(again, partition->topic.retention_time);
  }
  if (again != Duration::forever()) schedule_retention(std::min(again, cluster_.values().retention_check));
}

void Node::schedule_cleaning() {
  const Duration interval = std::max(cluster_.values().cleaner_backoff, Duration::millis(1));
  const Instant due = booted_ + interval * ((world().now() - booted_).ns / interval.ns + 1);
  if (due >= cleaning_due_) return;
  cleaning_due_ = due;
  world().schedule(due, *this, on_cleaning);
}

/// The dirtiest log goes first, one after the other without a pause: each of them has its turn at this look.
void Node::clean_logs() {
  if (world().now() < cleaning_due_) return;
  cleaning_due_ = Instant::never();
  bool again = false;
  for (PlaceId place = 0; place < cluster_.places(); ++place) {
    const Partition* partition = cluster_.partition(place);
    Replica* replica = partition == nullptr ? nullptr : partition->replica(index_);
    if (replica == nullptr || replica->log.empty() || !partition->topic.compacted) continue;
    const KafkaTopic& topic = partition->topic;
    replica->log.compact(world().now(), topic, replica->high_watermark);
    if (topic.expires()) replica->log.expire(world().now(), topic, replica->high_watermark);
    cluster_.measure(*partition);
    again = again || replica->log.dirty() || (topic.expires() && !replica->log.empty());
  }
  if (again) schedule_cleaning();
}

}  // namespace mqlab::sim::kafka
