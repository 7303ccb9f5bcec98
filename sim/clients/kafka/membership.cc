// Membership of a group. Classic protocol: join, sync, committed offsets,
// assigned; revoking, release, join. Consumer protocol (KIP-848): the same
// steps, with one request, the heartbeat, in place of join and sync.
//
// Heartbeats are computed, not sent: the coordinator tells what one would have
// brought (heartbeat_event). A real one goes out only when its answer is open:
// after the coordinator moved or fell silent, or this process was paused.
#include <algorithm>

#include "sim/clients/kafka/client.h"
#include "sim/clients/kafka/consumer.h"

namespace mqlab::sim::kafka::client {

/// Takes the next step that is due.
void Consumer::advance() {
  switch (state_) {
    case State::joining:
      return join();
    case State::syncing:
      return sync();
    case State::releasing:
      return serve_rebalance();
    case State::offsets:
      return fetch_committed();
    case State::telling:
      return tell_assigned();
    default:
      return;
  }
}

void Consumer::later(Duration delay) {
  not_before_ = client_.now() + delay;
  membership_.set_by(client_.world(), client_, due::membership, not_before_);
}

void Consumer::membership_fired(const SimEvent& event) {
  if (!membership_.fired(client_.world(), client_, event)) return;
  advance();
  if (beat_due_) beat();
  send_commits();
}

// ---- join and sync
// ---------------------------------------------------------------------------------------------

/// java joins only inside poll (ConsumerCoordinator.poll); librdkafka in its
/// own thread.
void Consumer::join() {
  if (settings_.consumer_protocol) return report();
  if (requested_ || (java_ && !polling())) return;
  if (client_.now() < not_before_) return later(not_before_ - client_.now());
  const NodeIndex node = coordinator_.node(client_);
  if (node == no_node) return;
  const ClientPlan& plan = client_.plan();
  auto* request = client_.arena().make<JoinGroupRequest>(client_.arena());
  request->group = plan.group;
  request->member = member_;
  request->static_instance = plan.static_instance;
  request->session_timeout = settings_.session_timeout;
  request->rebalance_timeout = settings_.max_poll_interval;
  request->heartbeat_interval = settings_.heartbeat_interval;
  request->cooperative = settings_.cooperative();
  for (const InPartition& p : partitions_) {
    if (p.state != InPartition::State::none) request->owned.push_back(p.place);
  }
  for (const InputPlan& input : plan.inputs) request->topics.push_back(input.topic);
  requested_ = true;
  // java AbstractCoordinator.JOIN_GROUP_TIMEOUT_LAPSE: 5 s beyond the
  // rebalance; librdkafka rd_kafka_JoinGroupRequest: 3 s
  const Duration timeout = settings_.max_poll_interval + Duration::seconds(java_ ? 5 : 3);
  client_.wire().send(node, RequestKind::join_group, request, 200, timeout);
}

void Consumer::joined(const JoinGroupAnswer& answer) {
  if (state_ != State::joining) return advance();
  if (answer.error != Error::none) return group_error(answer.error);
  member_ = answer.member;
  generation_ = answer.generation;
  leads_ = answer.leads;
  attempts_ = 0;
  state_ = State::syncing;
  sync();
}

void Consumer::sync() {
  if (requested_) return;
  const NodeIndex node = coordinator_.node(client_);
  if (node == no_node) return;
  auto* request = client_.arena().make<SyncGroupRequest>();
  request->group = client_.plan().group;
  request->member = member_;
  request->generation = generation_;
  requested_ = true;
  // java: as for joining; librdkafka rd_kafka_SyncGroupRequest: the session and
  // 3 s of grace
  const Duration timeout = java_ ? settings_.max_poll_interval + Duration::seconds(5)
                                 : settings_.session_timeout + Duration::seconds(3);
  client_.wire().send(node, RequestKind::sync_group, request, 100, timeout);
}

/// What goes is given back before what is new is taken (cooperative; eager
/// members hold nothing by now), and the giving back calls for another round
/// (ConsumerCoordinator.onJoinComplete, rd_kafka_cgrp_handle_assignment_
/// cooperative).
void Consumer::synced(SyncGroupAnswer* answer) {
  const Error error = answer->error;
  if (error == Error::none && state_ == State::syncing) {
    for (InPartition& p : partitions_) p.target = false;
    for (const PlaceId place : answer->places) {
      if (InPartition* p = find(place)) p->target = true;
    }
  }
  destroy(client_.arena(), answer);
  if (state_ != State::syncing)
    return advance();  // thrown out meanwhile: what waited for this answer goes
                       // on
  if (error != Error::none) return group_error(error);
  take_assignment();
}

/// The consumer protocol's heartbeat goes out whether or not the application
/// polls (java ConsumerHeartbeatRequestManager, librdkafka
/// rd_kafka_cgrp_consumer_group_heartbeat).
void Consumer::report() {
  if (requested_) return;
  if (client_.now() < not_before_) return later(not_before_ - client_.now());
  const NodeIndex node = coordinator_.node(client_);
  if (node == no_node) return;
  const ClientPlan& plan = client_.plan();
  auto* request = client_.arena().make<HeartbeatRequest>(client_.arena());
  request->group = plan.group;
  request->member = member_;
  request->generation = member_ == 0 ? 0 : generation_;
  request->consumer_protocol = true;
  request->static_instance = plan.static_instance;
  request->rebalance_timeout = settings_.max_poll_interval;
  for (const InPartition& p : partitions_) {
    if (p.state != InPartition::State::none) request->owned.push_back(p.place);
  }
  for (const InputPlan& input : plan.inputs) request->topics.push_back(input.topic);
  requested_ = true;
  client_.wire().send(node, RequestKind::heartbeat, request, 200, settings_.connection.request_timeout,
                      reports);
}

void Consumer::reported(HeartbeatAnswer* answer) {
  const Error error = answer->error;
  if (error == Error::none && state_ == State::joining) {
    member_ = answer->member;
    generation_ = answer->generation;
    attempts_ = 0;
    for (InPartition& p : partitions_) p.target = false;
    for (const PlaceId place : answer->places) {
      if (InPartition* p = find(place)) p->target = true;
    }
  }
  destroy(client_.arena(), answer);
  if (state_ != State::joining) return advance();
  if (error != Error::none) return group_error(error);
  take_assignment();
}

void Consumer::take_assignment() {
  beats_from_ = client_.now();
  session_.cancel();
  bool revokes = false;
  for (InPartition& p : partitions_) {
    p.leaving = p.state != InPartition::State::none && !p.target;
    revokes = revokes || p.leaving;
  }
  rejoin_ = revokes;
  if (!revokes) return assign_new();
  state_ = State::releasing;
  revoke_ = {true, false, false, true};
  serve_rebalance();
}

void Consumer::group_error(Error error) {
  switch (error) {
    case Error::disconnected:
    case Error::timed_out_local:
    case Error::not_coordinator:
    case Error::coordinator_not_available:
    case Error::request_timed_out:
      coordinator_.lost();
      if (state_ == State::syncing) state_ = State::joining;
      if (state_ == State::stable) beat_due_ = true;
      coordinator_.node(client_);
      return later(client_.wire().backoff(++attempts_));
    case Error::rebalance_in_progress:
      if (state_ == State::syncing || state_ == State::joining) {
        state_ = State::joining;
        return join();
      }
      return rebalance();
    case Error::unknown_member_id:
    case Error::fenced_member_epoch:
      return lose(true);
    case Error::illegal_generation:
      return lose(false);
    case Error::fenced_instance_id:
    case Error::unreleased_instance_id:
    case Error::invalid_session_timeout:
      lose(true);
      state_ = State::gone;
      return fail_parked(error == Error::fenced_instance_id ? ErrorClass::fenced : ErrorClass::fatal, error);
    default:
      return later(client_.wire().backoff(++attempts_));  // coordinator loading, unstable offsets …
  }
}

// ---- the assignment reaches the module
// -------------------------------------------------------------------------

void Consumer::assign_new() {
  bool any = false;
  for (InPartition& p : partitions_) {
    if (!p.target || p.state != InPartition::State::none) continue;
    p.state = InPartition::State::assigned;
    any = true;
  }
  state_ = any && !observer_ ? State::offsets : State::telling;
  advance();
}

void Consumer::fetch_committed() {
  if (requested_) return;
  if (client_.now() < not_before_) return later(not_before_ - client_.now());
  const NodeIndex node = coordinator_.node(client_);
  if (node == no_node) return;
  auto* request = client_.arena().make<OffsetFetchRequest>(client_.arena());
  request->group = client_.plan().group;
  // java: always (ConsumerCoordinator.sendOffsetFetchRequest); librdkafka: only
  // where it reads committed
  request->require_stable = java_ || settings_.read_committed;
  for (const InPartition& p : partitions_) {
    if (p.state == InPartition::State::assigned) request->places.push_back(p.place);
  }
  requested_ = true;
  client_.wire().send(node, RequestKind::offset_fetch, request, 100, settings_.connection.request_timeout);
}

void Consumer::offsets_fetched(OffsetFetchAnswer* answer) {
  const Error error = answer->error;
  for (const CommittedOffset& offset : answer->offsets) {
    InPartition* p = find(offset.place);
    if (error != Error::none || p == nullptr || p->state != InPartition::State::assigned) continue;
    p->committed = offset.offset;
    p->committed_epoch = offset.epoch;
  }
  destroy(client_.arena(), answer);
  if (state_ != State::offsets) return advance();
  if (error != Error::none) return group_error(error);
  attempts_ = 0;
  state_ = State::telling;
  tell_assigned();
}

void Consumer::tell_assigned() {
  if (!may_call_back() || (observer_ && !ever_polled_)) return;
  Vec<PlacePosition> places(client_.arena());
  for (const InPartition& p : partitions_) {
    if (p.state == InPartition::State::assigned) places.push_back({p.place, p.committed});
  }
  Event event;
  event.kind = EventKind::assigned;
  told_member_ = member_;
  told_generation_ = generation_;
  event.generation = generation_;
  event.places = {places.data(), places.size()};
  client_.process().post(event);
  state_ = State::stable;
  if (!rejoin_) return;
  rejoin_ = false;
  rebalance();
}

// ---- rebalances
// ------------------------------------------------------------------------------------------------

void Consumer::heartbeat(const SimEvent& event) {
  if (event.a != member_ || state_ == State::gone) return;
  const auto error = static_cast<Error>(static_cast<std::int16_t>(event.x));
  const bool settled = state_ == State::stable || state_ == State::offsets || state_ == State::telling;
  if (error == Error::rebalance_in_progress && (!settled || event.y != generation_)) return;
  group_error(error);
}

/// The group is to form anew. Eager members give all back first; cooperative
/// ones keep what they have.
void Consumer::rebalance() {
  if (state_ == State::offsets || state_ == State::telling) {
    rejoin_ = true;
    return;
  }
  if (state_ != State::stable) return;
  if (settings_.cooperative() || !holds_any()) {
    state_ = State::joining;
    return join();
  }
  for (InPartition& p : partitions_) p.leaving = p.state != InPartition::State::none;
  state_ = State::releasing;
  revoke_ = {true, false, false, false};
  serve_rebalance();
}

/// A topic has more partitions: its readers join anew; java: the leader alone, who has assigned and knows of
/// how many (ConsumerCoordinator.rejoinNeededOrPending, assignmentSnapshot); librdkafka: everyone who learns
/// of it (rd_kafka_cgrp_metadata_update_check). The consumer protocol's members are told by the coordinator.
/// What is assigned then are all there are: librdkafka's leader asks for metadata first; java's knows what it
/// has seen, but whoever joins anew for another reason in between is given them a little early here.
void Consumer::topic_grew(TopicId topic) {
  const InputPlan* input = nullptr;
  for (const InputPlan& i : client_.plan().inputs) input = i.topic == topic ? &i : input;
  if (input == nullptr) return;
  if (state_ == State::out || state_ == State::gone) return;  // start() looks itself
  if (observer_) {
    for (std::uint32_t p = input->at_first; p < input->partitions; ++p)
      partitions_[input->first_index + p].target = true;
    return assign_new();
  }
  if (!settings_.consumer_protocol && (leads_ || !java_)) rebalance();
}

/// The partitions are not this member's any more.
void Consumer::lose(bool new_member) {
  if (state_ == State::gone) return;
  if (new_member) member_ = 0;
  session_.cancel();
  beat_due_ = rejoin_ = false;
  for (InPartition& p : partitions_) {
    p.target = false;
    // What the module has not been told of it need not give back.
    if (p.state == InPartition::State::assigned && (state_ == State::offsets || state_ == State::telling))
      forget(p);
    p.leaving = p.state != InPartition::State::none;
  }
  if (revoke_.posted) {  // it is giving back already
    revoke_.lost = true;
    revoke_.assigns = false;
    return;
  }
  if (!holds_any()) {
    revoke_ = {};
    state_ = State::joining;
    return join();
  }
  state_ = State::releasing;
  revoke_ = {true, false, true, false};
  serve_rebalance();
}

/// Asks the module, which is told only in poll. java: before any record
/// (ConsumerCoordinator.poll); librdkafka: the event stands behind the records
/// that were fetched before it (one queue, first in first out).
void Consumer::serve_rebalance() {
  if (!revoke_.pending || !may_call_back()) return;
  if (!java_) {
    for (std::uint32_t i = 0; i < ready_.size(); ++i) {
      if (ready_[i].batch != nullptr && ready_[i].version == partitions_[ready_[i].partition].version) return;
    }
  }
  if (java_ && !revoke_.lost) commit_automatically(true);  // onJoinPrepare: maybeAutoCommitOffsetsSync
  Vec<PlacePosition> places(client_.arena());
  for (InPartition& p : partitions_) {
    if (p.leaving) places.push_back({p.place, p.position});
  }
  revoke_.pending = false;
  revoke_.posted = true;
  Event event;
  event.kind = EventKind::revoking;
  event.generation = generation_;
  event.lost = revoke_.lost;
  event.places = {places.data(), places.size()};
  client_.process().post(event);
}

void Consumer::released() {
  const Revoke revoke = revoke_;
  revoke_ = {};
  if (!java_ && !revoke.lost) commit_automatically(true);  // rd_kafka_assignment_serve_removals
  for (InPartition& p : partitions_) {
    if (p.leaving) forget(p);
  }
  if (state_ == State::gone) return;
  if (revoke.assigns) {
    assign_new();
  } else {
    state_ = State::joining;
    join();
  }
  deliver();
}

}  // namespace mqlab::sim::kafka::client
