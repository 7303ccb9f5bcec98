// A disk that fails. The first write that finds no room, and the first sync that is an error, fails its log
// directory; a broker whose only log directory has failed ends its process (KIP-112; kafka
// UnifiedLog.maybeHandleIOException, LogManager.handleLogDirFailure). Nobody starts it anew before the disk
// is well again. Measured on 4.1.1: on a full disk what fits into the last block of the file is still taken
// and answered, and the next append is the end; where syncs fail the metadata log is the first to find out,
// and the process ends within half a second.
#include "sim/brokers/kafka/node.h"

namespace mqlab::sim::kafka {
namespace {
/// High watermarks are written to a new file so often (replica.high.watermark.checkpoint.interval.ms, kafka
/// CheckpointFile.write): a broker without anything to append finds out by that.
constexpr Duration checkpoint_interval = Duration::seconds(5);
/// The quorum's log gets a record so often, which every voter syncs (metadata.max.idle.interval.ms, kafka
/// KafkaRaftClient.pollLeader, appendAsFollower).
constexpr Duration metadata_interval = Duration::millis(500);
}  // namespace

void Node::disk_is_full() {
  disk_full_ = true;
  find_out_within(checkpoint_interval);
}

void Node::fail_syncs(bool failing) {
  syncs_fail_ = failing;
  for (PlaceId place = 0; place < cluster_.places(); ++place) {
    Partition* partition = cluster_.partition(place);
    Replica* replica = partition == nullptr ? nullptr : partition->replica(index_);
    if (replica != nullptr) replica->log.fail_syncs(failing);
  }
  if (failing) find_out_within(metadata_interval);
}

/// By a file of its own, which it writes at each interval since its start.
void Node::find_out_within(Duration interval) {
  if (!world().alive(owner)) return;
  const std::int64_t writes = (world().now() - booted_).ns / interval.ns;
  world().schedule(booted_ + interval * (writes + 1), *this, on_disk_failed);
}

bool Node::no_room(const Replica& replica, const Batch& batch) {
  if (!disk_full_ || (!giving_up_ && batch.bytes <= replica.log.rest_of_last_block())) return false;
  give_up();
  return true;
}

void Node::give_up() {
  if (!giving_up_) world().soon(*this, on_disk_failed);
  giving_up_ = true;
}

}  // namespace mqlab::sim::kafka
