// Logs that are cut back: what a client knows of its position, and what it does when the log no longer holds
// it.
//
// java (KIP-320): a position carries the epoch of the leader that took the record before it, fetches and
// commits too. When the leader is another one, or its epoch, it is asked where that epoch ends in its log;
// where that is before the position the log was cut, and the consumer goes back to that point, whatever
// auto.offset.reset says (with "none" its poll throws a LogTruncationException). librdkafka before 2.1 knows
// nothing of it: it reads on from its offset if there is one, and else begins anew by auto.offset.reset.
#include "sim/clients/kafka/client.h"
#include "sim/clients/kafka/consumer.h"

namespace mqlab::sim::kafka::client {

/// java SubscriptionState.seekUnvalidated.
void Consumer::read_from(InPartition& p, std::int64_t offset, std::int64_t epoch) {
  p.state = InPartition::State::reading;
  p.position = offset;
  p.epoch = epoch;
  p.leader_epoch = no_epoch;
  voided(p);
  if (java_) client_.wire().seen_epoch(p.place, epoch);
  look_at_leader(p);
  if (p.state == InPartition::State::reading) return changed(p);
  ask(p);
}

/// java SubscriptionState.maybeValidatePosition.
void Consumer::look_at_leader(InPartition& p) {
  const bool placed = p.state == InPartition::State::reading || p.state == InPartition::State::checking;
  if (!java_ || !placed || client_.wire().leader(p.place) == no_node) return;
  const std::int64_t epoch = client_.wire().leader_epoch(p.place);
  if (epoch == p.leader_epoch) return;
  p.leader_epoch = epoch;
  if (p.epoch == no_epoch) return;
  voided(p);
  p.state = InPartition::State::checking;
}

/// What the partition's state waits for, if it has not been asked for. java: not before the back-off is over,
/// whatever happens meanwhile (SubscriptionState.awaitingRetryBackoff).
void Consumer::ask(InPartition& p) {
  if (p.asking || (java_ && p.fetch_at > client_.now())) return;
  if (p.state == InPartition::State::resolving) ask_offset(p);
  if (p.state == InPartition::State::checking) ask_epoch_end(p);
}

void Consumer::ask_epoch_end(InPartition& p) {
  const NodeIndex node = client_.wire().leader(p.place);
  if (node == no_node || !client_.wire().usable(node)) return client_.wire().refresh();
  auto* request = client_.arena().make<EpochEndRequest>();
  request->place = p.place;
  request->leader_epoch = p.leader_epoch;
  request->epoch = p.epoch;
  p.asking = true;
  client_.wire().send(node, RequestKind::offset_for_leader_epoch, request, 60,
                      settings_.connection.request_timeout, context_of(p));
}

/// java SubscriptionState.maybeCompleteValidation.
void Consumer::epoch_end_known(const Pending& pending, Error error, const EpochEndAnswer& answer) {
  if (asks_again(pending, InPartition::State::checking, error)) return;
  InPartition& p = partitions_[static_cast<std::uint32_t>(pending.context)];
  const bool cut = answer.end < p.position;
  if (cut && (answer.epoch == no_epoch || settings_.reset == OffsetReset::none)) return reset(p);
  p.state = InPartition::State::reading;
  if (cut) {
    p.position = p.fetched = answer.end;
    p.epoch = answer.epoch;
  }
  changed(p);
  if (polling()) polled();  // what could not be committed meanwhile
}

}  // namespace mqlab::sim::kafka::client
