// Offsets of groups, and the group's state in its log: what a commit must
// fulfil, how a new coordinator reads it back.
#include <algorithm>
#include <cstring>

#include "core/base/plant.h"
#include "sim/brokers/kafka/groups.h"
#include "sim/brokers/kafka/transactions.h"
#include "sim/world.h"

namespace mqlab::sim::kafka {
namespace {

/// Record::id in a group's partition.
constexpr MessageId offset_record = 1;  // key = place, digest = offset, cause = leader epoch + 1
constexpr MessageId group_record = 2;   // payload = the members and what they were given
constexpr MessageId expiry_record = 3;  // all offsets so far are forgotten (tombstones)
constexpr std::uint32_t offset_record_bytes = 110;

/// What clients are told when the group's log could not be written (kafka
/// GroupCoordinatorService, handleOperationException).
Error as_coordinator_error(Error error) {
  switch (error) {
    case Error::not_enough_replicas:
    case Error::not_enough_replicas_after_append:
    case Error::request_timed_out:
      return Error::coordinator_not_available;
    case Error::not_leader_or_follower:
    case Error::kafka_storage_error:
      return Error::not_coordinator;
    default:
      return error;
  }
}

}  // namespace

Error GroupCoordinator::check_commit(Group& group, std::uint32_t member, std::uint32_t generation,
                                     bool transactional) {
  if (member == 0) {  // without a group: only while nobody is in it
    return group.state == GroupState::empty || transactional ? Error::none : Error::unknown_member_id;
  }
  Member* m = group.find(member);
  if (m == nullptr && planted(Plant::kafka_expired_member_commits)) return Error::none;
  if (m == nullptr) return Error::unknown_member_id;
  if (group.modern) {  // ConsumerGroup.validateMemberEpoch
    const bool stale = generation != m->epoch;
    if (!transactional && !stale) contact(group, *m);
    if (!stale) return Error::none;
    return transactional ? Error::illegal_generation : Error::stale_member_epoch;
  }
  if (generation != group.generation) return Error::illegal_generation;
  if (transactional) return Error::none;
  contact(group, *m);
  // While members are joining, commits of the generation that ends are taken;
  // once the next one is out they are not.
  return group.state == GroupState::completing ? Error::rebalance_in_progress : Error::none;
}

void GroupCoordinator::commit(OffsetCommitRequest* r) {
  Group* group = find(r->group);
  if (group == nullptr) return node_.reply(r, Error::not_coordinator);
  const Error error = check_commit(*group, r->member, r->generation, false);
  if (error != Error::none) return node_.reply(r, error);
  append_offsets(r, offsets_batch(r->offsets), PendingKind::offset_commit);
}

void GroupCoordinator::commit(TxnOffsetCommitRequest* r) {
  Group* group = find(r->group);
  if (group == nullptr) return node_.reply(r, Error::not_coordinator);
  const Partition& partition = node_.cluster().offsets_of(r->group);
  ProducerLedger& ledger = partition.replica(node_.index())->lead->ledger;
  if (!needs_verification(ledger, *r)) return verified(r, Error::none, 0);
  Verification* v = node_.new_verification();
  ledger.guard(r->producer, v->token);
  v->transactional_id = r->transactional_id;
  v->producer = r->producer;
  v->epoch = r->epoch;
  v->adds = r->second_protocol;
  v->request = r;
  v->places.push_back(partition.place);
  node_.ask_verification(v);
}

bool GroupCoordinator::needs_verification(const ProducerLedger& ledger,
                                          const TxnOffsetCommitRequest& r) const {
  Batch probe;
  probe.producer = r.producer;
  probe.epoch = r.epoch;
  probe.transactional = true;
  const bool asks = node_.cluster().values().partition_verification || r.second_protocol;
  return asks && ledger.opens_transaction(probe);
}

void GroupCoordinator::verified(TxnOffsetCommitRequest* r, Error error, std::uint32_t token) {
  if (error != Error::none) {
    return node_.reply(r, error == Error::not_enough_replicas ? Error::coordinator_load_in_progress : error);
  }
  Group* group = find(r->group);
  if (group == nullptr) return node_.reply(r, Error::not_coordinator);
  error = check_commit(*group, r->member, r->generation, true);
  const Partition& partition = node_.cluster().offsets_of(r->group);
  const ProducerLedger& ledger = partition.replica(node_.index())->lead->ledger;
  if (error == Error::none) error = ledger.check_epoch(r->producer, r->epoch);
  if (error == Error::none && needs_verification(ledger, *r) && !ledger.guarded(r->producer, token)) {
    error = Error::invalid_txn_state;
  }
  if (error != Error::none) return node_.reply(r, error);
  Batch* batch = offsets_batch(r->offsets);
  batch->producer = r->producer;
  batch->epoch = r->epoch;
  batch->first_sequence = 0;
  batch->transactional = true;
  append_offsets(r, batch, PendingKind::txn_offset_commit);
}

Batch* GroupCoordinator::offsets_batch(const Vec<CommittedOffset>& offsets) const {
  Arena& arena = node_.arena();
  auto* batch = arena.make<Batch>();
  batch->count = batch->capacity = static_cast<std::uint32_t>(offsets.size());
  batch->bytes = batch_overhead_bytes + offset_record_bytes * batch->count;
  if (batch->count == 0)
    batch->count = 1,
    batch->capacity = 1;  // an empty commit still is a round through the log
  batch->records = static_cast<Record*>(arena.allocate(batch->capacity * sizeof(Record)));
  for (std::uint32_t i = 0; i < batch->count; ++i) {
    batch->records[i] = Record{};
    if (i >= offsets.size()) continue;
    batch->records[i].id = offset_record;
    batch->records[i].key = offsets[i].place;
    batch->records[i].digest = static_cast<std::uint64_t>(offsets[i].offset);
    batch->records[i].cause = static_cast<MessageId>(offsets[i].epoch + 1);
  }
  return batch;
}

template <class R>
void GroupCoordinator::append_offsets(R* r, Batch* batch, PendingKind kind) {
  auto* pending = node_.arena().make<PendingGroup>();
  pending->kind = kind;
  pending->group = r->group;
  pending->request = r;
  pending->deadline = node_.world().now() + node_.cluster().values().offsets_commit_timeout;
  const Error error = node_.append(node_.cluster().offsets_of(r->group), batch, pending);
  if (error != Error::none) finished(pending, error);
}

void GroupCoordinator::finished(Pending* done, Error error) {
  auto* pending = static_cast<PendingGroup*>(done);
  Group* group = pending->group < groups_.size() ? groups_[pending->group] : nullptr;
  Request* r = pending->request;
  const PendingKind kind = pending->kind;
  const std::uint32_t generation = pending->generation;
  node_.arena().recycle(pending);
  if (kind == PendingKind::group && r != nullptr) {
    if (group == nullptr || error != Error::none) return node_.reply(r, as_coordinator_error(error));
    return answer_report(*group, static_cast<HeartbeatRequest*>(r));
  }
  if (kind == PendingKind::group) {
    if (group != nullptr && group->generation == generation) become_stable(*group, error);
    return;
  }
  // What timed out stands in the log all the same, and in the coordinator's
  // memory.
  const bool stands = error == Error::none || error == Error::request_timed_out;
  if (group != nullptr && stands && kind == PendingKind::offset_commit) {
    for (const CommittedOffset& o : static_cast<OffsetCommitRequest*>(r)->offsets) group->set_offset(o);
  }
  if (group != nullptr && stands && kind == PendingKind::txn_offset_commit) {
    auto* txn = static_cast<TxnOffsetCommitRequest*>(r);
    for (const CommittedOffset& o : txn->offsets)
      group->pending.push_back({txn->producer, o.place, o.offset});
  }
  node_.reply(r, as_coordinator_error(error));
}

void GroupCoordinator::ended(std::uint32_t number, std::int64_t producer, bool commit) {
  if (groups_.size() <= number || groups_[number] == nullptr) return;
  Group& group = *groups_[number];
  for (const Group::PendingOffset& p : group.pending) {
    const bool counts = commit || planted(Plant::kafka_aborted_offsets_count);
    if (p.producer == producer && counts) group.set_offset({p.place, p.offset});
  }
  std::erase_if(group.pending, [&](const Group::PendingOffset& p) { return p.producer == producer; });
}

void GroupCoordinator::fetch(OffsetFetchRequest* r) {
  Group* group = find(r->group);
  if (group == nullptr) return node_.reply(r, Error::not_coordinator);
  auto* answer = node_.new_answer<OffsetFetchAnswer>(*r);
  for (const PlaceId place : r->places) {
    CommittedOffset out = {place, -1};
    for (const CommittedOffset& o : group->offsets) {
      const std::int64_t less = planted(Plant::kafka_offset_fetch_one_less) && o.offset > 0 ? 1 : 0;
      if (o.place == place) out = {place, o.offset - less, o.epoch};
    }
    for (const Group::PendingOffset& p : group->pending) {
      const bool waits = r->require_stable && !node_.cluster().values().tells_unstable_offsets &&
                         !planted(Plant::kafka_unstable_offsets_read);
      if (p.place == place && waits) answer->error = Error::unstable_offset_commit;
    }
    answer->offsets.push_back(out);
  }
  node_.send_answer(*r, answer, static_cast<std::uint32_t>(30 * answer->offsets.size()));
  node_.drop(r);
}

// ---- expiry
// ----------------------------------------------------------------------------------------------------------

/// Nobody is in the group: its offsets are forgotten offsets.retention.minutes later, at the next look (kafka
/// OffsetMetadataManager.cleanupExpiredOffsets, OffsetExpirationConditionImpl).
void GroupCoordinator::emptied(const Group& group) {
  const KafkaBroker& v = node_.cluster().values();
  const Instant wanted = node_.world().now() + v.offsets_retention;
  const std::int64_t looks =
      ((wanted - node_.booted()).ns + v.offsets_retention_check.ns - 1) / v.offsets_retention_check.ns;
  node_.world().schedule(node_.booted() + v.offsets_retention_check * looks, node_, on_group_timer,
                         std::uint64_t{group.generation} << 32 | group.number, 0, offsets_end);
}

void GroupCoordinator::offsets_over(Group& group, std::uint32_t token) {
  if (group.state != GroupState::empty || group.generation != token || group.offsets.empty()) return;
  Vec<CommittedOffset> none(node_.arena());
  Batch* batch = offsets_batch(none);
  batch->records[0].id = expiry_record;
  auto* pending = node_.arena().make<PendingGroup>();
  pending->kind = PendingKind::group;
  pending->group = group.number;
  pending->generation = 0;
  pending->deadline = node_.world().now() + node_.cluster().values().offsets_commit_timeout;
  const Error error = node_.append(node_.cluster().offsets_of(group.number), batch, pending);
  if (error != Error::none) return finished(pending, error);
  group.offsets.clear();
}

const Vec<CommittedOffset>& GroupCoordinator::committed(std::uint32_t group) { return find(group)->offsets; }

// ---- the group's state in its log
// --------------------------------------------------------------------------------

/// Writes the members and what they are given; become_stable() goes on, or
/// `request` is answered.
void GroupCoordinator::store(Group& group, HeartbeatRequest* request) {
  Vec<std::uint64_t> words(node_.arena());
  words.insert(words.end(), {group.generation, group.leader, group.members.size()});
  for (const Member* m : group.members) {
    words.insert(
        words.end(),
        {m->id, m->static_instance, m->process, m->incarnation, reinterpret_cast<std::uint64_t>(m->client),
         static_cast<std::uint64_t>(m->session_timeout.ns),
         static_cast<std::uint64_t>(m->rebalance_timeout.ns),
         static_cast<std::uint64_t>(m->heartbeat_interval.ns),
         (m->cooperative ? 1u : 0u) | (group.modern ? 2u : 0u), m->topics.size(), m->assigned.size()});
    words.insert(words.end(), m->topics.begin(), m->topics.end());
    words.insert(words.end(), m->assigned.begin(), m->assigned.end());
    if (!group.modern) continue;
    words.insert(words.end(), {m->epoch, m->owned.size(), m->target.size(), m->revoking.size()});
    words.insert(words.end(), m->owned.begin(), m->owned.end());
    words.insert(words.end(), m->target.begin(), m->target.end());
    words.insert(words.end(), m->revoking.begin(), m->revoking.end());
  }
  Arena& arena = node_.arena();
  auto* batch = arena.make<Batch>();
  batch->count = batch->capacity = 1;
  batch->payloads = true;
  batch->records = static_cast<Record*>(arena.allocate(sizeof(Record)));
  Record& record = batch->records[0] = Record{};
  record.id = group_record;
  record.payload_size = static_cast<std::uint32_t>(words.size() * sizeof(std::uint64_t));
  auto* bytes = static_cast<std::byte*>(arena.allocate(record.payload_size));
  std::memcpy(bytes, words.data(), record.payload_size);
  record.payload = bytes;
  batch->bytes = batch_overhead_bytes + record.payload_size;
  auto* pending = arena.make<PendingGroup>();
  pending->kind = PendingKind::group;
  pending->group = group.number;
  pending->generation = group.generation;
  pending->request = request;
  pending->deadline = node_.world().now() + node_.cluster().values().offsets_commit_timeout;
  const Error error = node_.append(node_.cluster().offsets_of(group.number), batch, pending);
  if (error != Error::none) finished(pending, error);
}

void GroupCoordinator::read_image(Group& group, const Record& record) {
  const auto* word = reinterpret_cast<const std::uint64_t*>(record.payload);
  const auto u32 = [&] { return static_cast<std::uint32_t>(*word++); };
  group.members.clear();
  group.generation = u32();
  group.leader = u32();
  for (std::uint64_t left = *word++; left > 0; --left) {
    auto* m = node_.arena().make<Member>(node_.arena());
    m->id = u32();
    m->static_instance = u32();
    m->process = static_cast<ProcessId>(*word++);
    m->incarnation = static_cast<Incarnation>(*word++);
    m->client = reinterpret_cast<Component*>(*word++);
    m->session_timeout.ns = static_cast<std::int64_t>(*word++);
    m->rebalance_timeout.ns = static_cast<std::int64_t>(*word++);
    m->heartbeat_interval.ns = static_cast<std::int64_t>(*word++);
    const std::uint64_t kind = *word++;
    m->cooperative = (kind & 1) != 0;
    group.modern = (kind & 2) != 0;
    const std::uint64_t topics = *word++;
    const std::uint64_t places = *word++;
    for (std::uint64_t i = 0; i < topics; ++i) m->topics.push_back(u32());
    for (std::uint64_t i = 0; i < places; ++i) m->assigned.push_back(u32());
    m->owned = m->assigned;
    if (group.modern) {
      m->epoch = u32();
      const std::uint64_t sizes[] = {word[0], word[1], word[2]};
      word += 3;
      Vec<PlaceId>* const lists[] = {&m->owned, &m->target, &m->revoking};
      m->owned.clear();
      for (int i = 0; i < 3; ++i) {
        for (std::uint64_t k = 0; k < sizes[i]; ++k) lists[i]->push_back(u32());
      }
    }
    group.members.push_back(m);
  }
}

/// kafka GroupMetadataManager.replay and OffsetMetadataManager.replay, to the
/// end of the log.
void GroupCoordinator::replay(Group& group, const Log& log) {
  for (const LogEntry& e : log.entries()) {
    if (e.batch->control != Control::none) {
      const bool commit = e.batch->control == Control::commit;
      ended(group.number, e.batch->producer, commit);
      continue;
    }
    for (std::uint32_t i = 0; i < e.count; ++i) {
      const Record& record = e.batch->records[i];
      const auto offset = static_cast<std::int64_t>(record.digest);
      if (record.id == group_record) read_image(group, record);
      if (record.id == expiry_record) group.offsets.clear();
      if (record.id != offset_record || planted(Plant::kafka_offsets_not_replayed)) continue;
      if (e.batch->transactional) {
        group.pending.push_back({e.batch->producer, record.key, offset});
      } else {
        group.set_offset({record.key, offset, static_cast<std::int64_t>(record.cause) - 1});
      }
    }
  }
}

}  // namespace mqlab::sim::kafka
