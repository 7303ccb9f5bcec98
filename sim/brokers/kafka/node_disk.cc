// A full disk. The first write that finds no room fails its log directory; a broker whose only log directory
// has failed ends its process (KIP-112; kafka UnifiedLog.maybeHandleIOException,
// LogManager.handleLogDirFailure). Nobody starts it anew before there is room. Measured on 4.1.1: what fits
// into the last block of the file is still taken and answered; the next append is the end.
#include "sim/brokers/kafka/node.h"

namespace mqlab::sim::kafka {
namespace {
/// High watermarks are written to a new file so often (replica.high.watermark.checkpoint.interval.ms, kafka
/// CheckpointFile.write): a broker without anything to append finds out by that.
constexpr Duration checkpoint_interval = Duration::seconds(5);
}  // namespace

void Node::disk_is_full() {
  disk_full_ = true;
  if (!world().alive(owner)) return;
  const std::int64_t checkpoints = (world().now() - booted_).ns / checkpoint_interval.ns;
  world().schedule(booted_ + checkpoint_interval * (checkpoints + 1), *this, on_no_room);
}

bool Node::no_room(const Replica& replica, const Batch& batch) {
  if (!disk_full_ || (!giving_up_ && batch.bytes <= replica.log.rest_of_last_block())) return false;
  give_up();
  return true;
}

void Node::give_up() {
  if (!giving_up_) world().soon(*this, on_no_room);
  giving_up_ = true;
}

}  // namespace mqlab::sim::kafka
