// Kafka's broker: transactions of the first protocol.
#include "tests/sim/kafka_broker_transaction_lab.h"

namespace mqlab::sim::kafka {
namespace {

TEST(KafkaTransaction, CommitAcrossPartitions) {
  TransactionLab lab;
  const Identity p = lab.init();
  EXPECT_EQ(p.epoch, 0);
  ASSERT_EQ(lab.add(p, {0, 1}), Error::none);
  EXPECT_EQ(lab.write(p, 0, 11, 0).error, Error::none);
  EXPECT_EQ(lab.write(p, 1, 12, 0).error, Error::none);
  EXPECT_TRUE(lab.read(0, true).empty());  // the last stable offset stands at the open transaction
  EXPECT_EQ(lab.read(0, false), (Ids{11}));
  EXPECT_EQ(lab.end(p, true), Error::none);
  lab.run_for(Duration::millis(5));
  EXPECT_EQ(lab.read(0, true), (Ids{11}));
  EXPECT_EQ(lab.read(1, true), (Ids{12}));
  EXPECT_EQ(lab.led(0).log.end(), 2);  // the marker has an offset of its own
  EXPECT_EQ(lab.state(), TransactionState::complete_commit);
  // The next transaction, same epoch, sequences going on.
  ASSERT_EQ(lab.add(p, {0}), Error::none);
  EXPECT_EQ(lab.write(p, 0, 13, 1).error, Error::none);
  EXPECT_EQ(lab.end(p, true), Error::none);
  lab.run_for(Duration::millis(5));
  EXPECT_EQ(lab.read(0, true), (Ids{11, 13}));
}

// EndTxn is answered when the decision is in the log; the data become readable later.
TEST(KafkaTransaction, CommitReturnsBeforeTheDataAreVisible) {
  TransactionLab lab;
  const Identity p = lab.init();
  ASSERT_EQ(lab.add(p, {0}), Error::none);
  ASSERT_EQ(lab.write(p, 0, 11, 0).error, Error::none);
  const std::uint32_t e = lab.ask_end(p, true);
  while (lab.answer<Answer>(e) == nullptr) ASSERT_TRUE(lab.world.step());
  Replica& leader = lab.led(0);
  EXPECT_EQ(leader.lead->ledger.last_stable(leader.high_watermark), 0);
  EXPECT_EQ(lab.state(), TransactionState::prepare_commit);
  EXPECT_EQ(lab.add(p, {0}), Error::concurrent_transactions);
  lab.run_for(Duration::millis(5));
  EXPECT_EQ(leader.lead->ledger.last_stable(leader.high_watermark), 2);
}

TEST(KafkaTransaction, AbortedRecordsAreLeftOutForCommittedReaders) {
  TransactionLab lab;
  const Identity p = lab.init();
  ASSERT_EQ(lab.add(p, {0}), Error::none);
  lab.write(p, 0, 11, 0);
  lab.produced(0, lab.batch(50, 1));  // by somebody else, behind the open transaction
  EXPECT_TRUE(lab.read(0, true).empty());
  EXPECT_EQ(lab.end(p, false), Error::none);
  lab.run_for(Duration::millis(5));
  EXPECT_EQ(lab.read(0, true), (Ids{50}));
  EXPECT_EQ(lab.read(0, false), (Ids{11, 50}));
  lab.cluster().audit();
  int aborted = 0;
  for (std::size_t i = 0; i < lab.world.history().size(); ++i) {
    const Row& row = lab.world.history()[i];
    if (row.kind == Kind::audit && (row.flags & flag::aborted) != 0) {
      ++aborted;
      EXPECT_EQ(row.message, 11u);
    }
  }
  EXPECT_EQ(aborted, 1);
}

TEST(KafkaTransaction, EndInTheWrongState) {
  TransactionLab lab;
  const Identity p = lab.init();
  EXPECT_EQ(lab.end(p, true), Error::invalid_txn_state);  // empty
  ASSERT_EQ(lab.add(p, {0}), Error::none);
  EXPECT_EQ(lab.end(p, true), Error::none);
  lab.run_for(Duration::millis(5));
  EXPECT_EQ(lab.end(p, true), Error::none);  // its answer was lost, it asks again
  EXPECT_EQ(lab.end(p, false), Error::invalid_txn_state);
  EXPECT_EQ(lab.end({p.producer + 1, p.epoch}, true), Error::invalid_producer_id_mapping);
  EXPECT_EQ(lab.end({p.producer, 9}, true), Error::producer_fenced);
}

TEST(KafkaTransaction, AbandonedIsAbortedByTheNextScanAfterItsTimeout) {
  TransactionLab lab;
  lab.run_until(Instant{7'000'000'000});
  const Identity p = lab.init();
  ASSERT_EQ(lab.add(p, {0}), Error::none);
  const Instant start = lab.now();
  lab.write(p, 0, 11, 0);
  lab.produced(0, lab.batch(50, 1));
  lab.run_until(start + Duration::seconds(60));
  EXPECT_EQ(lab.state(), TransactionState::ongoing);
  EXPECT_TRUE(lab.read(0, true).empty());
  lab.run_until(start + Duration::seconds(70) + Duration::millis(10));
  EXPECT_EQ(lab.state(), TransactionState::complete_abort);
  EXPECT_EQ(lab.read(0, true), (Ids{50}));
  EXPECT_EQ(lab.end(p, true), Error::producer_fenced);
  EXPECT_EQ(lab.write(p, 0, 12, 1).error, Error::invalid_producer_epoch);
}

TEST(KafkaTransaction, SecondProducerFencesTheFirst) {
  TransactionLab lab;
  const Identity first = lab.init(0);
  ASSERT_EQ(lab.add(first, {0}), Error::none);
  ASSERT_EQ(lab.write(first, 0, 11, 0).error, Error::none);
  const auto* refused = lab.await<InitProducerIdAnswer>(lab.ask_init(1));
  EXPECT_EQ(refused->error, Error::concurrent_transactions);  // aborts first
  lab.run_for(Duration::millis(20));
  const Identity second = lab.init(1);
  EXPECT_EQ(second.producer, first.producer);
  EXPECT_EQ(second.epoch, first.epoch + 3);  // for the fence, for the end of what was open, for itself
  EXPECT_TRUE(lab.read(0, true).empty());
  EXPECT_EQ(lab.end(first, true), Error::producer_fenced);
  EXPECT_EQ(lab.write(first, 0, 12, 1).error, Error::invalid_producer_epoch);
}

TEST(KafkaTransaction, WritesOutsideATransactionAreRefused) {
  TransactionLab lab;
  const Identity p = lab.init();
  EXPECT_EQ(lab.write(p, 0, 11, 0).error, Error::invalid_txn_state);  // not added (KIP-890 part 1)
  ASSERT_EQ(lab.add(p, {0}), Error::none);
  ASSERT_EQ(lab.write(p, 0, 11, 0).error, Error::none);
  EXPECT_EQ(lab.produced(0, lab.sequenced(12, 1, p.producer, p.epoch, 1)).error, Error::invalid_txn_state);
}

TEST(KafkaTransaction, WithoutVerificationTheyHangTheLastStableOffset) {
  TransactionLab lab({.broker = {{"transaction.partition.verification.enable", "false"}}});
  const Identity p = lab.init();
  EXPECT_EQ(lab.write(p, 0, 11, 0).error, Error::none);
  lab.produced(0, lab.batch(50, 1));
  lab.run_for(Duration::seconds(300));
  EXPECT_TRUE(lab.read(0, true).empty());
  EXPECT_EQ(lab.read(0, false), (Ids{11, 50}));
}

// A coordinator that was paused, deposed, and then answers from what it remembers lets nothing into a
// transaction that has ended meanwhile: the marker voided the question (KIP-890's verification guard).
TEST(KafkaTransaction, LateConfirmationOfAnEndedTransactionIsVoid) {
  TransactionLab lab({.broker = fast_failover});
  const Identity p = lab.init();
  const ProcessId old = lab.coordinator();
  const PlaceId place = lab.cluster().process(lab.leader(0)) == old ? 1u : 0u;
  ASSERT_EQ(lab.add(p, {place}), Error::none);
  lab.world.pause(old);
  auto* r = lab.make<ProduceRequest>(RequestKind::produce, 2);
  r->transactional_id = id;
  Batch* b = lab.sequenced(11, 1, p.producer, p.epoch, 0);
  b->transactional = true;
  r->parts.push_back({place, b});
  const std::uint32_t held = lab.send(lab.cluster().process(lab.leader(place)), r);
  lab.run_for(Duration::seconds(5));
  ASSERT_NE(lab.coordinator(), old);
  ASSERT_EQ(lab.end(p, false), Error::none);
  lab.run_for(Duration::millis(10));
  lab.world.resume(old);
  lab.run_for(Duration::millis(10));
  ASSERT_NE(lab.answer<ProduceAnswer>(held), nullptr);
  EXPECT_EQ(lab.answer<ProduceAnswer>(held)->parts[0].error, Error::invalid_txn_state);
  EXPECT_TRUE(lab.read(place, false).empty());
  EXPECT_EQ(lab.led(place).lead->ledger.last_stable(lab.led(place).high_watermark), 1);  // only the marker
}

TEST(KafkaTransaction, TimeoutAboveTheMaximum) {
  TransactionLab lab;
  EXPECT_EQ(lab.await<InitProducerIdAnswer>(lab.ask_init(0, Duration::seconds(901)))->error,
            Error::invalid_transaction_timeout);
}

TEST(KafkaTransaction, RaisedEpochOfTheSameProducer) {  // KIP-360
  TransactionLab lab;
  const Identity p = lab.init();
  const auto raise = [&](std::int16_t epoch) {
    auto* r = lab.make<InitProducerIdRequest>(RequestKind::init_producer_id, 0);
    r->transactional_id = id;
    r->timeout = Duration::seconds(60);
    r->producer = p.producer;
    r->epoch = epoch;
    return lab.await<InitProducerIdAnswer>(lab.send(lab.coordinator(), r));
  };
  EXPECT_EQ(raise(0)->epoch, 1);
  EXPECT_EQ(raise(0)->epoch, 1);  // its answer was lost
  EXPECT_EQ(raise(1)->epoch, 2);
  EXPECT_EQ(raise(0)->error, Error::producer_fenced);
}

TEST(KafkaTransaction, OffsetsArePendingUntilTheMarker) {
  TransactionLab lab;
  const Identity p = lab.init();
  ASSERT_EQ(lab.add(p, {3}), Error::none);
  ASSERT_EQ(lab.add_offsets(p, 5), Error::none);
  ASSERT_EQ(lab.await<Answer>(lab.ask_offsets(p, 5, 0, 17))->error, Error::none);
  EXPECT_EQ(lab.offsets(5, 0, false)->offsets[0].offset, -1);
  EXPECT_EQ(lab.offsets(5, 0, true)->error, Error::unstable_offset_commit);
  ASSERT_EQ(lab.end(p, true), Error::none);
  lab.run_for(Duration::millis(5));
  EXPECT_EQ(lab.offsets(5, 0, true)->offsets[0].offset, 17);
  ASSERT_EQ(lab.add_offsets(p, 5), Error::none);
  ASSERT_EQ(lab.await<Answer>(lab.ask_offsets(p, 5, 0, 23))->error, Error::none);
  ASSERT_EQ(lab.end(p, false), Error::none);
  lab.run_for(Duration::millis(5));
  EXPECT_EQ(lab.offsets(5, 0, true)->offsets[0].offset, 17);
}

// The published flaw of the first protocol: an EndTxn names no transaction. The client gave the delayed one
// up, asked again on another connection, was told ok, and had begun the next transaction when the first one
// arrived.
TEST(KafkaTransaction, DelayedEndTearsTheNextTransaction) {
  TransactionLab lab;
  const Identity p = lab.init();
  ASSERT_EQ(lab.add(p, {0, 1}), Error::none);
  ASSERT_EQ(lab.write(p, 0, 11, 0).error, Error::none);
  auto* late = lab.make<EndTxnRequest>(RequestKind::end_txn, 1);  // the other connection
  late->transactional_id = id;
  late->producer = p.producer;
  late->epoch = p.epoch;
  late->commit = true;
  lab.send(lab.coordinator(), late, Duration::millis(100));
  ASSERT_EQ(lab.end(p, true), Error::none);
  lab.run_for(Duration::millis(20));
  ASSERT_EQ(lab.add(p, {0, 1}), Error::none);
  ASSERT_EQ(lab.write(p, 0, 21, 1).error, Error::none);
  lab.run_for(Duration::millis(150));  // the late commit ends this transaction half-way
  EXPECT_EQ(lab.write(p, 1, 22, 0).error, Error::invalid_txn_state);  // the second half is refused
  EXPECT_EQ(lab.end(p, false), Error::invalid_txn_state);  // and the application cannot abort any more
  EXPECT_EQ(lab.read(0, true), (Ids{11, 21}));
  EXPECT_TRUE(lab.read(1, true).empty());
}

TEST(KafkaTransaction, CoordinatorDiesAfterTheDecision) {
  TransactionLab lab({.broker = fast_failover});
  const Identity p = lab.init();
  const PlaceId place = lab.leader(0) == lab.cluster().transactions_of(id).decided.leader ? 1u : 0u;
  ASSERT_EQ(lab.add(p, {place}), Error::none);
  ASSERT_EQ(lab.write(p, place, 11, 0).error, Error::none);
  const std::uint32_t e = lab.ask_end(p, true);
  const Partition& log = lab.cluster().transactions_of(id);
  const std::int64_t before = log.replicas[0].high_watermark;
  while (log.replicas[0].high_watermark == before) ASSERT_TRUE(lab.world.step());
  lab.world.kill(lab.coordinator(), false);
  lab.run_for(Duration::seconds(6));
  EXPECT_EQ(lab.state(), TransactionState::complete_commit);
  EXPECT_EQ(lab.read(place, true), (Ids{11}));
  EXPECT_NE(lab.answer<Answer>(e), nullptr);
}

TEST(KafkaTransaction, MarkerGoesToTheNewLeader) {
  TransactionLab lab({.broker = fast_failover});
  const Identity p = lab.init();
  const PlaceId place = lab.leader(0) == lab.cluster().transactions_of(id).decided.leader ? 1u : 0u;
  ASSERT_EQ(lab.add(p, {place}), Error::none);
  ASSERT_EQ(lab.write(p, place, 11, 0).error, Error::none);
  lab.world.kill(lab.cluster().process(lab.leader(place)), false);
  ASSERT_EQ(lab.await<Answer>(lab.ask_end(p, false), Duration::seconds(20))->error, Error::none);
  lab.run_for(Duration::seconds(10));
  EXPECT_EQ(lab.state(), TransactionState::complete_abort);
  EXPECT_TRUE(lab.read(place, true).empty());
  EXPECT_EQ(lab.read(place, false), (Ids{11}));
}

}  // namespace
}  // namespace mqlab::sim::kafka
