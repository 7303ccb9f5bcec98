// One server: events and what becomes of it, handed to the cluster.
#include <algorithm>

#include "sim/brokers/nats/cluster.h"
#include "sim/world.h"

namespace mqlab::sim::nats {

void Node::work(Duration time) { busy_until_ = std::max(busy_until_, cluster_.world().now()) + time; }
Duration Node::behind() const { return std::max(busy_until_ - cluster_.world().now(), Duration{}); }

void Node::on(const SimEvent& event) {
  switch (event.kind) {
    case NodeEvent::inbound:
      cluster_.arrived(owner, reinterpret_cast<Packet*>(event.a));
      return;
    case NodeEvent::routed:
      cluster_.process(owner, reinterpret_cast<Packet*>(event.a));
      return;
    case NodeEvent::relay:
      cluster_.hand_on(reinterpret_cast<Packet*>(event.a));
      return;
    case NodeEvent::commit: {
      Stream& stream = cluster_.stream(event.x);
      const auto length = static_cast<std::int64_t>(event.a);
      if (stream.replicas().leads(owner) && stream.replicas().may_commit(length, event.y))
        stream.commit_to(length);
      return;
    }
    case NodeEvent::ack_timer:
      cluster_.consumer(event.x).timer(event.y);
      return;
    case NodeEvent::idle:
      cluster_.consumer(event.x).idle(event.y);
      return;
    case NodeEvent::pull_wake:
      cluster_.consumer(event.x).wake();
      return;
    case NodeEvent::closed:
      cluster_.client_gone(reinterpret_cast<Connection*>(event.a), event.x);
      return;
    case NodeEvent::write_deadline:
      cluster_.write_deadline(*reinterpret_cast<Connection*>(event.a), event.x, event.y);
      return;
    case NodeEvent::booted:
      ready_ = stores_ = true;
      cluster_.booted(owner);
      return;
    case NodeEvent::elect:
      cluster_.stream(event.x).replicas().elect(event.y);
      return;
    case NodeEvent::step_down:
      cluster_.stream(event.x).replicas().step_down(event.y);
      return;
    case NodeEvent::remove_peers:
      cluster_.stream(event.x).replicas().remove_peers(event.y);
      return;
    case NodeEvent::copied:
      cluster_.copier(event.x).arrived(owner, reinterpret_cast<Copies*>(event.a));
      return;
    case NodeEvent::copy_check:
      cluster_.copier(event.x).check(event.y);
      return;
    case NodeEvent::caught_up:
      cluster_.stream(event.x).replicas().caught_up(static_cast<ProcessId>(event.a), event.y);
      return;
    case NodeEvent::disk_failed:
      cluster_.lose_jetstream(owner);
      return;
    case NodeEvent::sync_due:
      cluster_.stream(event.x).replicas().sync_due(owner);
      return;
    default:
      MQLAB_CHECK(false && "unknown event at a NATS server");
  }
}

void Node::life_changed(ProcessId process, LifeChange change) {
  if (process == owner) {
    if (change == LifeChange::killed || change == LifeChange::power_lost) {
      ready_ = false;
      busy_until_ = {};
    }
    if (change == LifeChange::disk_full) {
      cluster_.disk_full(owner);
      disk_full_ = true;
    }
    if (change == LifeChange::syncs_fail) fail_syncs(true);
    if (change == LifeChange::disk_healed) {
      cluster_.write_what_is_due();
      disk_full_ = false;
      fail_syncs(false);
    }
    if (change == LifeChange::restarted)
      cluster_.world().after(cluster_.values().server.boot, *this, NodeEvent::booted);
  }
  if (owner == cluster_.values().first_node) cluster_.life_changed(process, change);
}

void Node::fail_syncs(bool failing) {
  cluster_.write_what_is_due();
  syncs_fail_ = failing;
  cluster_.fail_syncs(owner, failing);
}

}  // namespace mqlab::sim::nats
