// Committing offsets: by the module, and automatically as each flavour does it.
#include <algorithm>

#include "core/base/plant.h"
#include "sim/clients/kafka/client.h"
#include "sim/clients/kafka/consumer.h"

namespace mqlab::sim::kafka::client {
namespace {
constexpr Duration api_timeout =
    Duration::seconds(60);  // java default.api.timeout.ms; librdkafka session + socket time
}

void Consumer::commit(const Effect& effect) {
  if (observer_) return client_.settle(effect, Outcome::fail, ErrorClass::fatal, Error::illegal_generation);
  Commit* commit = client_.arena().make<Commit>(client_.arena());
  commit->op = effect.op;
  commit->sync = effect.sync;
  commit->limit = client_.now() + api_timeout;
  const std::int64_t more = planted(Plant::kafka_client_commits_one_more) ? 1 : 0;
  for (const PlacePosition& p : effect.places)
    commit->offsets.push_back({p.place, p.position + more, epoch_of(p.place, p.position)});
  commits_.push_back(commit);
  send_commit(commit);
}

/// java: the position is committed with its epoch (SubscriptionState.allConsumed); an offset that the
/// application names itself has none.
std::int64_t Consumer::epoch_of(PlaceId place, std::int64_t offset) {
  const InPartition* p = find(place);
  return java_ && p != nullptr && p->position == offset ? p->epoch : no_epoch;
}

/// Member id and generation are the consumer's own at the time of sending, as
/// in both clients.
void Consumer::send_commit(Commit* commit) {
  if (commit->under_way || client_.now() < commit->at) return;
  const bool rebalancing = state_ == State::joining || state_ == State::syncing;
  if (java_ && rebalancing && !settings_.consumer_protocol) {  // ConsumerCoordinator.sendOffsetCommitRequest:
                                                               // generationIfStable
    return end_commit(commit, Outcome::fail, ErrorClass::retriable, Error::rebalance_in_progress);
  }
  if (member_ == 0 || state_ == State::gone) {
    return end_commit(commit, Outcome::fail, ErrorClass::abortable, Error::unknown_member_id);
  }
  const NodeIndex node = coordinator_.node(client_);
  if (node == no_node) {
    // java commitAsync: RetriableCommitFailedException; all others wait for a
    // coordinator.
    if (java_ && !commit->sync) {
      end_commit(commit, Outcome::fail, ErrorClass::retriable, Error::coordinator_not_available);
    }
    return;
  }
  auto* request = client_.arena().make<OffsetCommitRequest>(client_.arena());
  request->group = client_.plan().group;
  request->member = member_;
  request->generation = generation_;
  request->offsets.assign(commit->offsets.begin(), commit->offsets.end());
  commit->under_way = true;
  const auto bytes = static_cast<std::uint32_t>(80 + 20 * commit->offsets.size());
  client_.wire().send(node, RequestKind::offset_commit, request, bytes, settings_.connection.request_timeout,
                      reinterpret_cast<std::uint64_t>(commit));
}

void Consumer::send_commits() {
  for (std::size_t i = 0; i < commits_.size();) {
    Commit* commit = commits_[i];
    if (!commit->under_way && client_.now() >= commit->limit) {
      end_commit(commit, Outcome::unknown, ErrorClass::retriable, Error::request_timed_out);
    } else if (!commit->under_way && client_.now() < commit->at) {
      membership_.set_by(client_.world(), client_, due::membership, commit->at);
    } else if (!commit->under_way) {
      send_commit(commit);
    }
    if (i < commits_.size() && commits_[i] == commit) ++i;
  }
}

/// java ConsumerCoordinator.OffsetCommitResponseHandler; librdkafka
/// rd_kafka_cgrp_op_handle_OffsetCommit.
void Consumer::committed(Commit* commit, Error error) {
  commit->under_way = false;
  const bool retries = !java_ || commit->sync;
  switch (error) {
    case Error::none:
      return end_commit(commit, Outcome::ok, ErrorClass::none, error);
    case Error::disconnected:
    case Error::timed_out_local:
    case Error::request_timed_out:
    case Error::not_coordinator:
    case Error::coordinator_not_available:
      coordinator_.lost();
      [[fallthrough]];
    case Error::coordinator_load_in_progress:
    case Error::unknown_topic_or_partition:
    case Error::not_enough_replicas:
    case Error::not_enough_replicas_after_append: {
      const bool silent = error == Error::disconnected || error == Error::timed_out_local ||
                          error == Error::request_timed_out;
      if (!retries)
        return end_commit(commit, silent ? Outcome::unknown : Outcome::fail, ErrorClass::retriable, error);
      commit->at = client_.now() + client_.wire().backoff(++commit->attempts);
      membership_.set_by(client_.world(), client_, due::membership, commit->at);
      return;
    }
    case Error::stale_member_epoch:  // the next attempt goes under the epoch of
                                     // then
    case Error::rebalance_in_progress:
      if (error == Error::stale_member_epoch && retries) {
        commit->at = client_.now() + client_.wire().backoff(++commit->attempts);
        membership_.set_by(client_.world(), client_, due::membership, commit->at);
        return;
      }
      return end_commit(commit, Outcome::fail, ErrorClass::retriable, error);
    case Error::fenced_instance_id:
      end_commit(commit, Outcome::fail, ErrorClass::fenced, error);
      return group_error(error);
    case Error::unknown_member_id:
    case Error::illegal_generation: {
      end_commit(commit, Outcome::fail, ErrorClass::abortable, error);
      const bool settled = state_ == State::stable || state_ == State::offsets || state_ == State::telling;
      if (settled) lose(error == Error::unknown_member_id);
      return;
    }
    default:
      return end_commit(commit, Outcome::fail, ErrorClass::fatal, error);
  }
}

void Consumer::end_commit(Commit* commit, Outcome outcome, ErrorClass error, Error code) {
  if (commit->op != 0)
    client_.settle(commit->op, Kind::commit, outcome, error, static_cast<std::int16_t>(code));
  if (commit->op == 0 && outcome != Outcome::ok) {  // tried again with the next automatic commit
    for (const CommittedOffset& offset : commit->offsets) {
      InPartition* p = find(offset.place);
      if (p != nullptr && p->auto_committed == offset.offset) p->auto_committed = -1;
    }
    if (!java_) stored_something();
  }
  std::erase(commits_, commit);
  destroy(client_.arena(), commit);
}

// ---- automatic
// -------------------------------------------------------------------------------------------------

/// java: the position, which is what earlier polls returned; librdkafka: what
/// was stored at hand-over.
std::int64_t Consumer::to_commit(const InPartition& p) const {
  if (p.state != InPartition::State::reading) return -1;
  const std::int64_t offset = java_ ? p.position : p.stored;
  return offset == p.auto_committed ? -1 : offset;
}

bool Consumer::dirty() const {
  return std::any_of(partitions_.begin(), partitions_.end(),
                     [&](const InPartition& p) { return to_commit(p) >= 0; });
}

void Consumer::commit_automatically(bool leaving_only) {
  if (!settings_.auto_commit || observer_) return;
  Commit* commit = nullptr;
  for (InPartition& p : partitions_) {
    const std::int64_t offset = to_commit(p);
    if (offset < 0 || (leaving_only && !p.leaving)) continue;
    if (commit == nullptr) commit = client_.arena().make<Commit>(client_.arena());
    commit->offsets.push_back({p.place, offset, epoch_of(p.place, offset)});
    p.auto_committed = offset;
  }
  if (commit == nullptr) return;
  commit->automatic = true;
  commit->sync = leaving_only;
  commit->limit = client_.now() + api_timeout;
  commits_.push_back(commit);
  send_commit(commit);
}

/// java: at a poll, when auto.commit.interval.ms have passed
/// (maybeAutoCommitOffsetsAsync); a poll that waits notices too.
void Consumer::polled() {
  if (!java_ || !settings_.auto_commit || observer_) return;
  if (client_.now() >= next_auto_commit_) {
    commit_automatically(false);
    next_auto_commit_ = client_.now() + settings_.auto_commit_interval;
  }
  if (dirty()) auto_commit_.set(client_.world(), client_, due::auto_commit, next_auto_commit_);
}

/// librdkafka: a background timer commits what has been stored, every
/// auto.commit.interval.ms since the client began
/// (rd_kafka_cgrp_offset_commit_tmr_cb). It runs here only while there is
/// something to commit.
void Consumer::stored_something() {
  if (!settings_.auto_commit || observer_ || auto_commit_.due() != Instant::never()) return;
  const std::int64_t interval = settings_.auto_commit_interval.ns;
  if (interval <= 0 || !dirty()) return;
  const std::int64_t ticks = (client_.now() - started_).ns / interval + 1;
  auto_commit_.set(client_.world(), client_, due::auto_commit, started_ + Duration::nanos(ticks * interval));
}

void Consumer::auto_commit_fired(const SimEvent& event) {
  if (!auto_commit_.fired(client_.world(), client_, event)) return;
  if (!java_) return commit_automatically(false);
  if (!polling()) return;  // noticed by the next poll
  commit_automatically(false);
  next_auto_commit_ = client_.now() + settings_.auto_commit_interval;
}

}  // namespace mqlab::sim::kafka::client
