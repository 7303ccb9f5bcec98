// A simulated Kafka cluster asked by hand about transactions.
#pragma once
#include "tests/sim/kafka_broker_fixture.h"

namespace mqlab::sim::kafka {

inline constexpr std::uint32_t id = 1;  ///< of the one transactional id

struct Identity {
  std::int64_t producer = -1;
  std::int16_t epoch = -1;
};

struct TransactionLab : Lab {
  explicit TransactionLab(Options o = {}) : Lab(std::move(o)) {}
  ProcessId coordinator() { return cluster().process(cluster().transactions_of(id).decided.leader); }
  std::uint32_t ask_init(std::uint32_t client = 0, Duration timeout = Duration::seconds(60)) {
    auto* r = make<InitProducerIdRequest>(RequestKind::init_producer_id, client);
    r->transactional_id = id;
    r->timeout = timeout;
    return send(coordinator(), r);
  }
  /// Asks again while transactions are concurrent, as clients do.
  Identity init(std::uint32_t client = 0, Duration timeout = Duration::seconds(60)) {
    for (int i = 0; i < 50; ++i) {
      const auto* a = await<InitProducerIdAnswer>(ask_init(client, timeout));
      if (a->error == Error::none) return {a->producer, a->epoch};
      EXPECT_EQ(a->error, Error::concurrent_transactions);
      run_for(Duration::millis(20));
    }
    return {};
  }
  Error add(Identity p, std::vector<PlaceId> places) {
    auto* r = make<AddPartitionsToTxnRequest>(RequestKind::add_partitions_to_txn, 0);
    r->transactional_id = id;
    r->producer = p.producer;
    r->epoch = p.epoch;
    r->places.assign(places.begin(), places.end());
    const auto* a = await<Answer>(send(coordinator(), r));
    return a == nullptr ? Error::timed_out_local : a->error;
  }
  std::uint32_t ask_end(Identity p, bool commit, Duration extra = {}) {
    auto* r = make<EndTxnRequest>(RequestKind::end_txn, 0);
    r->transactional_id = id;
    r->producer = p.producer;
    r->epoch = p.epoch;
    r->commit = commit;
    return send(coordinator(), r, extra);
  }
  Error end(Identity p, bool commit) {
    const auto* a = await<Answer>(ask_end(p, commit));
    return a == nullptr ? Error::timed_out_local : a->error;
  }
  ProducedPart write(Identity p, PlaceId place, MessageId message, std::int32_t sequence,
                     std::uint32_t key = 0) {
    auto* r = make<ProduceRequest>(RequestKind::produce, 0);
    r->transactional_id = id;
    Batch* b = sequenced(message, 1, p.producer, p.epoch, sequence);
    b->transactional = true;
    b->records[0].key = key;
    r->parts.push_back({place, b});
    const auto* a = await<ProduceAnswer>(send(cluster().process(leader(place)), r));
    return a == nullptr ? ProducedPart{place, Error::timed_out_local, -1, false} : a->parts[0];
  }
  // ---- second protocol ----
  ProduceRequest* second_write(Identity p, PlaceId place, MessageId message, std::int32_t sequence) {
    auto* r = make<ProduceRequest>(RequestKind::produce, 0);
    r->transactional_id = id;
    r->second_protocol = true;
    Batch* b = sequenced(message, 1, p.producer, p.epoch, sequence);
    b->transactional = true;
    r->parts.push_back({place, b});
    return r;
  }
  ProducedPart write_second(Identity p, PlaceId place, MessageId message, std::int32_t sequence) {
    ProduceRequest* r = second_write(p, place, message, sequence);
    const auto* a = await<ProduceAnswer>(send(cluster().process(leader(place)), r));
    return a == nullptr ? ProducedPart{place, Error::timed_out_local, -1, false} : a->parts[0];
  }
  EndTxnRequest* second_end(Identity p, bool commit, std::uint32_t client = 0) {
    auto* r = make<EndTxnRequest>(RequestKind::end_txn, client);
    r->transactional_id = id;
    r->producer = p.producer;
    r->epoch = p.epoch;
    r->commit = commit;
    r->second_protocol = true;
    return r;
  }
  const EndTxnAnswer& end_second(Identity p, bool commit) {
    return *await<EndTxnAnswer>(send(coordinator(), second_end(p, commit)));
  }
  TransactionState state() {
    const NodeIndex n = cluster().transactions_of(id).decided.leader;
    const auto& log = cluster().transactions_of(id).replica(n)->log;
    const auto* word = reinterpret_cast<const std::uint64_t*>(log.entries().back().batch->records[0].payload);
    return static_cast<TransactionState>(word[3]);
  }
  std::uint32_t ask_offsets(Identity p, std::uint32_t group, PlaceId place, std::int64_t offset) {
    auto* r = make<TxnOffsetCommitRequest>(RequestKind::txn_offset_commit, 0);
    r->transactional_id = id;
    r->producer = p.producer;
    r->epoch = p.epoch;
    r->group = group;
    r->offsets.push_back({place, offset});
    return send(cluster().process(cluster().offsets_of(group).decided.leader), r);
  }
  Error add_offsets(Identity p, std::uint32_t group) {
    auto* r = make<AddOffsetsToTxnRequest>(RequestKind::add_offsets_to_txn, 0);
    r->transactional_id = id;
    r->producer = p.producer;
    r->epoch = p.epoch;
    r->group = group;
    return await<Answer>(send(coordinator(), r))->error;
  }
  const OffsetFetchAnswer* offsets(std::uint32_t group, PlaceId place, bool stable) {
    auto* r = make<OffsetFetchRequest>(RequestKind::offset_fetch, 2);
    r->group = group;
    r->require_stable = stable;
    r->places.push_back(place);
    return await<OffsetFetchAnswer>(send(cluster().process(cluster().offsets_of(group).decided.leader), r));
  }
};

}  // namespace mqlab::sim::kafka
