// What of a consumer's state is on disk when its only server dies.
//
// A server writes the state of each consumer at most ten times a second: the first change at once, later ones
// 100 ms after the write before. [nats-server: filestore.go consumerFileStore.flushLoop; measured on 2.15.1:
// after a kill -9 the acks of the last 100 ms are forgotten and their messages come again.]
#include "core/base/plant.h"
#include "sim/brokers/nats/cluster.h"
#include "sim/brokers/nats/consumer.h"
#include "sim/brokers/nats/stream.h"
#include "sim/storage.h"
#include "sim/world.h"

namespace mqlab::sim::nats {
namespace {
constexpr Duration between_writes = Duration::millis(100);
constexpr Duration between_floors = Duration::seconds(1);
}  // namespace

void Consumer::before_update() {
  if (unwritten_ && written_at_ < cluster_.world().now()) write_state();
}

void Consumer::after_update() {
  if (unwritten_ || !durable_ || !stream_.replicas().alone()) return;
  unwritten_ = true;
  written_at_ = std::max(cluster_.world().now(), written_at_ + between_writes);
}

void Consumer::write_state() {
  unwritten_ = false;
  // The state goes to a new file; without room the old one stays. [measured on 2.15.1: what was acknowledged
  // on a full disk comes again after the restart. It is not so where fsyncs fail: under `always` the file is
  // opened O_SYNC, and written without one]
  const ProcessId server = stream_.replicas().leader();
  if (server != no_process && cluster_.node(server).disk_full()) return;
  stored_.next = next_;
  stored_.sequence = sequence_;
  stored_.base = window_base_;
  stored_.window.clear();
  for (std::uint32_t i = 0; i < window_.size(); ++i) stored_.window.push_back(window_[i]);
  if (!floors_.empty() && written_at_ - floors_.back().at < between_floors) return;
  floors_.push_back({written_at_, ack_floor()});
  while (floors_.size() > 1 && written_at_ - floors_[1].at >= File::write_back_after) floors_.pop_front();
}

void Consumer::restore_state() {
  next_ = stored_.next;
  sequence_ = stored_.sequence;
  window_base_ = stored_.base;
  window_.clear();
  if (planted(Plant::nats_pending_forgotten)) window_base_ = next_;
  for (std::uint32_t i = 0; window_base_ != next_ && i < stored_.window.size(); ++i)
    window_.push_back(stored_.window[i]);
}

/// Process kill: back to the latest write. Power loss without sync always: back to a state that the kernel
/// had written back; what was acknowledged since comes again.
void Consumer::server_died(bool power_lost) {
  requests_.clear();
  flow_ = flow_anew();
  timer_at_ = Instant::never();
  ++timer_generation_;
  drop_limbo(false);
  again_.clear();
  if (!durable_) {
    exists_ = false;
    return;
  }
  before_update();
  unwritten_ = false;
  if (!power_lost || cluster_.values().server.sync_always) {
    restore_state();
    return;
  }
  std::int64_t floor = 0;
  for (std::uint32_t i = 0; i < floors_.size(); ++i) {
    if (cluster_.world().now() - floors_[i].at >= File::write_back_after) floor = floors_[i].floor;
  }
  start_over();
  next_ = window_base_ = floor + 1;
}

}  // namespace mqlab::sim::nats
