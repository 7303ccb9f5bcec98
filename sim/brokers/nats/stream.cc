#include "sim/brokers/nats/stream.h"

#include <algorithm>

#include "core/base/plant.h"
#include "core/history/audit_bounds.h"
#include "sim/brokers/nats/cluster.h"
#include "sim/brokers/nats/consumer.h"
#include "sim/world.h"

namespace mqlab::sim::nats {
namespace {

/// For a planted defect: six messages of the second of two producers are there before the first of the other.
bool second_came_whole(const StreamLog& log, const Record& record) {
  constexpr std::int64_t messages = 6;
  if (log.last() != messages || record.id != 1) return false;
  for (std::int64_t s = 1; s <= messages; ++s) {
    if (log[s].id != 2 * s) return false;
  }
  return true;
}

}  // namespace

Stream::Stream(NatsCluster& cluster, std::uint32_t index)
    : cluster_(cluster),
      values_(cluster.values().streams[index]),
      index_(index),
      log_(cluster.arena()),
      replicas_(cluster, *this),
      removed_(cluster.arena()),
      by_id_(cluster.arena()),
      waiting_(cluster.arena()),
      consumers_(cluster.arena()),
      copiers_(cluster.arena()),
      copied_(cluster.arena()),
      tallies_(cluster.arena()),
      staged_(cluster.arena()) {}

// ---- publishing
// ------------------------------------------------------------------------------------------------

/// The message ids of the window are in memory: an id whose message was removed by a limit still counts,
/// until the server restarts and builds the map from what is stored. [nats-server: stream.go checkMsgId,
/// rebuildDedupe]
std::int64_t Stream::first_with(MessageId id) const {
  if (id >= by_id_.size() || values_.duplicate_window.ns == 0 || planted(Plant::nats_dedup_off)) return 0;
  const std::int64_t sequence = by_id_[id];
  if (sequence == 0 || sequence > log_.last() || sequence < replicas_.forgotten()) return 0;
  const Record& record = log_[sequence];
  const Duration window = planted(Plant::nats_dedup_window_short) ? values_.duplicate_window / 1'000'000
                                                                  : values_.duplicate_window;
  const bool recent = cluster_.world().wall() - record.stored < window;
  return record.id == id && recent ? sequence : 0;
}

bool Stream::publish(Op* op, const Packet& packet) {
  Record record = op->record;
  record.stored = cluster_.world().wall();
  if (values_.transform && values_.transformed.has(record.key)) {
    const std::string& form = values_.forms.front().form;
    record.form = (1 + values_.transform->partition_of(form, record.key)) & 15u;
  }
  if (record.has_id != 0) {
    if (const std::int64_t sequence = first_with(record.id)) {
      if (replicas_.failed() && replicas_.alone() && sequence > last_) {  // not stored whole: not known
        cluster_.arena().recycle(op);
        return false;
      }
      // Replicated: an id that is proposed but not yet stored is a conflict, not a duplicate.
      // [nats-server: stream.go processClusteredInboundMsg]
      op->code = sequence > last_ && !replicas_.alone() ? code::in_process : code::none;
      op->duplicate = op->code == code::none;
      op->sequence = sequence;
      return true;
    }
  }
  if (record.has_id != 0 && staged(record.id)) {
    op->duplicate = true;
    op->sequence = log_.last();
    return true;
  }
  if (values_.max_msg_size >= 0 && header_bytes(record) + record.size > values_.max_msg_size)
    op->code = code::exceeds_maximum;
  expire();
  if (full(record)) op->code = code::store_failed;
  if (op->code != code::none) return true;

  if (planted(Plant::nats_order_of_a_thousand) && second_came_whole(log_, record)) return true;
  if (!store_takes(record)) {
    cluster_.arena().recycle(op);
    return false;
  }
  append(record, op->payload);
  op->sequence = log_.last();
  if (last_ == log_.last()) return true;
  waiting_.push_back({log_.last(), op, packet.connection, packet.epoch});
  return false;
}

/// One copy on a full disk: the server keeps what did not fit to itself, and answers neither that nor
/// anything that comes after it, room or not. [nats-server: filestore.go setWriteErr; measured on 2.15.1]
bool Stream::store_takes(const Record& record) {
  return !replicas_.alone() || replicas_.takes(stored_bytes(record));
}

void Stream::append(const Record& record, Bytes payload) {
  log_.push(record, payload);
  const std::int64_t sequence = log_.last();
  if (record.has_id != 0 && values_.duplicate_window.ns > 0) {
    if (record.id >= by_id_.size()) by_id_.resize(std::max<std::size_t>(64, record.id * std::size_t{2}), 0);
    by_id_[record.id] = static_cast<std::uint32_t>(sequence);
  }
  if (!replicas_.alone()) {
    unproposed_ = sequence;
  } else if (cluster_.values().server.sync_always && !planted(Plant::nats_ack_before_fsync)) {
    await_commit(replicas_.appended(sequence));  // one fsync each
  } else {
    replicas_.appended(sequence);
    take_in(sequence);
  }
}

/// A fault of old versions: a server keeps the ids of what it had proposed as the leader when it is deposed,
/// and once it leads again answers a repeat as a duplicate of a message that is not there.
bool Stream::staged(MessageId id) const {
  const Instant now = cluster_.world().wall();
  return std::ranges::any_of(staged_, [&](const Staged& s) {
    return s.id == id && s.node == replicas_.leader() && now - s.since < values_.duplicate_window;
  });
}

void Stream::stage(const Op& op, ProcessId leader) {
  if (!cluster_.values().server.keeps_staged_ids || op.record.has_id == 0) return;
  staged_.push_back({leader, op.record.id, cluster_.world().wall()});
}

void Stream::forget_staged(ProcessId dead) {
  std::erase_if(staged_, [&](const Staged& s) { return s.node == dead; });
}

/// Those of the old leader's proposals that the new one does not hold.
void Stream::keep_staged(ProcessId node, std::int64_t beyond) {
  if (!cluster_.values().server.keeps_staged_ids || node == no_process) return;
  for (std::int64_t s = beyond + 1; s <= log_.last(); ++s) {
    if (log_[s].has_id != 0) staged_.push_back({node, log_[s].id, log_[s].stored});
  }
}

void Stream::packet_done() {
  if (unproposed_ > 0) await_commit(replicas_.appended(unproposed_));
  unproposed_ = 0;
  deliver();
}

void Stream::await_commit(Instant at) {
  if (at == Instant::never()) return;
  World& world = cluster_.world();
  world.schedule(at, cluster_.node(replicas_.leader()), NodeEvent::commit,
                 static_cast<std::uint64_t>(log_.last()), index_, replicas_.term());
}

// ---- what is stored
// --------------------------------------------------------------------------------------------

void Stream::commit_to(std::int64_t length) {
  if (length <= last_) return;
  take_in(length);
  answer_stored();
  deliver();
}

void Stream::take_in(std::int64_t length) {
  while (last_ < length) {
    if (removed(++last_)) {  // a mirror's gap
      if (first_ == last_) ++first_;
      continue;
    }
    count_in(last_);
    keep_limits(last_);
    if (values_.retention == Retention::interest) acknowledged(last_);  // nobody may want it
    measure();
  }
}

void Stream::answer_stored() {
  Packet* answers = nullptr;
  while (!waiting_.empty() && waiting_.front().sequence <= last_) {
    const Waiting w = waiting_.front();
    waiting_.pop_front();
    if (answers != nullptr && (answers->connection != w.connection || answers->epoch != w.epoch)) {
      cluster_.reply(replicas_.leader(), answers);
      answers = nullptr;
    }
    cluster_.add_answer(answers, w.op, w.connection, w.epoch);
  }
  if (answers != nullptr) cluster_.reply(replicas_.leader(), answers);
}

std::int64_t Stream::at_or_after(std::int64_t sequence) const {
  sequence = std::max(sequence, first_);
  while (sequence <= last_ && removed(sequence)) ++sequence;
  return sequence;
}

void Stream::remove(std::int64_t sequence) {
  if (!has(sequence)) return;
  count_out(sequence);
  if (sequence == first_) {
    first_ = at_or_after(first_ + 1);
    return;
  }
  const auto i = static_cast<std::uint64_t>(sequence);
  if (i / 64 >= removed_.size()) removed_.resize(i / 64 + 1, 0);
  removed_[i / 64] |= std::uint64_t{1} << (i % 64);
}

/// [nats-server: stream.go ackMsg]
void Stream::acknowledged(std::int64_t sequence) {
  if (values_.retention == Retention::limits) return;
  const bool wanted = values_.retention == Retention::interest &&
                      std::ranges::any_of(consumers_, [&](const Consumer* c) { return c->wants(sequence); });
  if (!wanted) remove(sequence);
  measure();
}

void Stream::deliver() {
  if (replicas_.leader() == no_process || !cluster_.stores(replicas_.leader())) return;
  expire();
  for (Consumer* consumer : consumers_) consumer->deliver();
  for (Copier* copier : copiers_) copier->offer();
}

// ---- what happens to servers
// -----------------------------------------------------------------------------------

void Stream::leader_died(bool power_lost) {
  drop_waiting();
  if (!replicas_.alone()) return;
  for (Consumer* consumer : consumers_) consumer->server_died(power_lost);
}

/// Publishes without an answer stay so: their clients find out by the time.
void Stream::drop_waiting() {
  while (!waiting_.empty()) {
    cluster_.arena().recycle(waiting_.front().op);
    waiting_.pop_front();
  }
  unproposed_ = 0;
}

void Stream::cut_to(std::int64_t length) {
  for (std::int64_t s = log_.last(); s > length; --s) {
    if (has(s)) count_out(s);
    const auto i = static_cast<std::uint64_t>(s);
    if (i / 64 < removed_.size()) removed_[i / 64] &= ~(std::uint64_t{1} << (i % 64));
  }
  last_ = std::min(last_, length);
  log_.truncate(length);
  while (!copied_.empty() && copied_.back().sequence > length) copied_.pop_back();
  measure();
  first_ = std::min(first_, last_ + 1);
}

void Stream::recovered(std::int64_t length) {
  cut_to(length);
  if (planted(Plant::nats_dedup_lost_at_restart)) by_id_.clear();
  take_in(length);  // what the file holds counts, answered or not
  for (Consumer* consumer : consumers_) consumer->recovered();
  cluster_.ask_again(index_);
  cluster_.look_at_copies(this);
  deliver();
}

void Stream::led_anew(std::int64_t length, ProcessId deposed) {
  drop_waiting();
  keep_staged(deposed, length);
  cut_to(planted(Plant::nats_leader_cuts_one_more) && length > 0 ? length - 1 : length);
  for (Consumer* consumer : consumers_) consumer->led_anew();
  cluster_.ask_again(index_);
  cluster_.look_at_copies(this);
}

void Stream::quorum_back() {
  for (Consumer* consumer : consumers_) consumer->quorum_back();
  deliver();
}

void Stream::audit(ProcessId auditor) {
  expire();
  World& world = cluster_.world();
  const bool readable =
      replicas_.gone() || (replicas_.leader() != no_process && world.alive(replicas_.leader()));
  const std::int64_t first = replicas_.gone() ? 1 : first_, last = replicas_.gone() ? 0 : last_;
  for (std::int64_t s = first; readable && s <= last; ++s) {
    if (removed(s)) continue;
    const Record& record = log_[s];
    Row& row = world.row(auditor, Kind::audit, Phase::ok);
    row.message = record.id;
    row.cause = record.cause;
    row.key = record.key;
    row.size = record.size;
    row.digest = record.digest;
    row.place = values_.place;
    row.position = s;
    row.aux = record.stored.ns;
  }
  Row& end = world.row(auditor, Kind::audit_end, readable ? Phase::ok : Phase::fail);
  end.place = values_.place;
  end.position = last + 1;
  end.digest = audited_from(readable && !replicas_.gone() ? first_ : -1);
  end.aux = readable && !replicas_.gone() ? count_ : 0;
  for (const Consumer* consumer : consumers_) consumer->audit(auditor);
}

}  // namespace mqlab::sim::nats
