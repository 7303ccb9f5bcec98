// Whether this member is still one: heartbeats, the session, the poll interval, leaving; and what becomes of
// the nodes.
#include <algorithm>

#include "sim/clients/kafka/client.h"
#include "sim/clients/kafka/consumer.h"

namespace mqlab::sim::kafka::client {

/// When the next heartbeat would go out.
Instant Consumer::next_beat() const {
  const std::int64_t interval = std::max<std::int64_t>(settings_.heartbeat_interval.ns, 1);
  const std::int64_t beats = (client_.now() - beats_from_).ns / interval + 1;
  return beats_from_ + Duration::nanos(beats * interval);
}

void Consumer::beat() {
  if (beating_ || member_ == 0) return;
  if (state_ != State::stable && state_ != State::offsets && state_ != State::telling &&
      state_ != State::releasing)
    return;
  if (settings_.consumer_protocol) {
    beat_due_ = false;
    return rebalance();
  }
  const NodeIndex node = coordinator_.node(client_);
  if (node == no_node) return;
  beat_due_ = false;
  beating_ = true;
  auto* request = client_.arena().make<HeartbeatRequest>(client_.arena());
  request->group = client_.plan().group;
  request->member = member_;
  request->generation = generation_;
  client_.wire().send(node, RequestKind::heartbeat, request, 60,
                      java_ ? settings_.connection.request_timeout : settings_.session_timeout);
}

void Consumer::coordinator_found(const FindCoordinatorAnswer& answer) {
  if (!coordinator_.answered(client_, answer)) return;
  advance();
  if (beat_due_) beat();
  send_commits();
}

void Consumer::coordinator_failed() { coordinator_.failed(client_); }
void Consumer::coordinator_fired(const SimEvent& event) { coordinator_.timer_fired(client_, event); }

/// The coordinator does not answer any more: the next heartbeat is a real one,
/// and librdkafka gives its partitions up when none was answered for the
/// session's time (rd_kafka_cgrp_session_timeout_check). Java leaves that to
/// the coordinator.
void Consumer::coordinator_silent() {
  if (observer_ || member_ == 0 || state_ == State::gone) return;
  beat_due_ = true;
  const Instant next = next_beat();
  membership_.set_by(client_.world(), client_, due::membership, next);
  if (!java_) {
    const Instant last = next - settings_.heartbeat_interval;
    session_.set_by(client_.world(), client_, due::session, last + settings_.session_timeout);
  }
}

void Consumer::node_lost(NodeIndex node) {
  if (observer_ || coordinator_.last() != node) return;
  coordinator_.lost();
  coordinator_silent();
  coordinator_.node(client_);
}

void Consumer::life_changed(ProcessId changed, LifeChange change) {
  if (observer_ || !coordinator_.known()) return;
  const bool back =
      change == LifeChange::resumed || change == LifeChange::joined || change == LifeChange::restarted;
  const bool mine = changed == client_.process().self();
  const bool network = change == LifeChange::cut || change == LifeChange::joined;
  if (!mine && !network && client_.wire().index_of(changed) != coordinator_.last()) return;
  if (!back) {
    if (!mine) coordinator_silent();
    return;
  }
  beat_due_ = true;
  membership_.set_by(client_.world(), client_, due::membership, client_.now());
}

void Consumer::session_fired(const SimEvent& event) {
  if (session_.fired(client_.world(), client_, event)) lose(true);
}

/// java: "consumer poll timeout has expired" → LeaveGroup, the partitions are
/// lost at the next poll; librdkafka
/// rd_kafka_cgrp_max_poll_interval_check_tmr_cb likewise. A static member only
/// falls silent.
void Consumer::poll_limit_fired(const SimEvent& event) {
  if (!poll_limit_.fired(client_.world(), client_, event) || polling() || observer_) return;
  if (state_ == State::gone || member_ == 0) return;
  if (client_.plan().static_instance == 0) send_leave();
  lose(true);
}

void Consumer::send_leave() {
  const NodeIndex node = coordinator_.node(client_);
  if (node == no_node || client_.plan().static_instance != 0) {
    if (leave_op_ != 0) client_.settle(leave_op_, Kind::leave, Outcome::ok);
    leave_op_ = 0;
    return;
  }
  auto* request = client_.arena().make<LeaveGroupRequest>();
  request->group = client_.plan().group;
  request->member = member_;
  client_.wire().send(node, RequestKind::leave_group, request, 60, settings_.connection.request_timeout);
}

// ---- nodes

void Consumer::leaders_changed() {
  for (InPartition& partition : partitions_) {
    look_at_leader(partition);
    ask(partition);
  }
  if (!java_ || polling()) fetch_all();
}

void Consumer::node_usable(NodeIndex) {
  coordinator_.find(client_);
  advance();
  if (beat_due_) beat();
  send_commits();
  leaders_changed();
}

bool Consumer::unroutable() const {
  return std::any_of(partitions_.begin(), partitions_.end(), [&](const InPartition& p) {
    if (p.state == InPartition::State::none || p.state == InPartition::State::assigned) return false;
    const NodeIndex leader = client_.wire().leader(p.place);
    return leader == no_node || !client_.wire().usable(leader);
  });
}

}  // namespace mqlab::sim::kafka::client
