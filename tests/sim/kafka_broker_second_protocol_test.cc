// Kafka's broker: transactions of the second protocol (KIP-890 part 2, transaction.version 2).
#include "tests/sim/kafka_broker_transaction_lab.h"

namespace mqlab::sim::kafka {
namespace {

TEST(KafkaSecondProtocol, WritesAddTheirPartitionsAndEveryEndRaisesTheEpoch) {
  TransactionLab lab;
  Identity p = lab.init();
  EXPECT_EQ(lab.write_second(p, 0, 11, 0).error, Error::none);
  EXPECT_EQ(lab.write_second(p, 1, 12, 0).error, Error::none);
  EXPECT_EQ(lab.write_second(p, 0, 13, 1).error, Error::none);  // known already
  EXPECT_EQ(lab.state(), TransactionState::ongoing);
  EXPECT_TRUE(lab.read(0, true).empty());
  const EndTxnAnswer& end = lab.end_second(p, true);
  EXPECT_EQ(end.error, Error::none);
  EXPECT_EQ(end.producer, p.producer);
  EXPECT_EQ(end.epoch, p.epoch + 1);
  lab.run_for(Duration::millis(5));
  EXPECT_EQ(lab.read(0, true), (Ids{11, 13}));
  EXPECT_EQ(lab.read(1, true), (Ids{12}));
  const Identity old = p;
  p.epoch = end.epoch;
  EXPECT_EQ(lab.write_second(old, 0, 14, 2).error, Error::invalid_producer_epoch);
  EXPECT_EQ(lab.write_second(p, 0, 14, 0).error, Error::none);  // sequences begin anew
}

TEST(KafkaSecondProtocol, ARepeatedEndIsKnownByItsEpoch) {
  TransactionLab lab;
  const Identity p = lab.init();
  ASSERT_EQ(lab.write_second(p, 0, 11, 0).error, Error::none);
  ASSERT_EQ(lab.end_second(p, true).error, Error::none);
  lab.run_for(Duration::millis(5));
  EXPECT_EQ(lab.end_second(p, true).error, Error::none);
  EXPECT_EQ(lab.end_second(p, true).epoch, p.epoch + 1);
  EXPECT_EQ(lab.end_second(p, false).error, Error::invalid_txn_state);  // it was a commit
  EXPECT_EQ(lab.end_second({p.producer, 9}, true).error, Error::producer_fenced);
  EXPECT_EQ(lab.end_second({p.producer + 1, 0}, true).error, Error::invalid_producer_id_mapping);
}

TEST(KafkaSecondProtocol, OnlyAnAbortEndsWhatHasNoPartition) {
  TransactionLab lab;
  Identity p = lab.init();
  EXPECT_EQ(lab.end_second(p, true).error, Error::invalid_txn_state);
  const EndTxnAnswer& aborted = lab.end_second(p, false);
  EXPECT_EQ(aborted.error, Error::none);
  EXPECT_EQ(aborted.epoch, p.epoch + 1);
  p.epoch = aborted.epoch;
  lab.run_for(Duration::millis(5));
  EXPECT_EQ(lab.state(), TransactionState::complete_abort);
  EXPECT_EQ(lab.end_second(p, true).error,
            Error::invalid_txn_state);  // not a repeat: the epoch is the new one
  EXPECT_EQ(lab.write_second(p, 0, 11, 0).error, Error::none);
}

// What tears a transaction of the first protocol (KafkaTransaction.DelayedEndTearsTheNextTransaction).
TEST(KafkaSecondProtocol, ADelayedEndIsFenced) {
  TransactionLab lab;
  Identity p = lab.init();
  ASSERT_EQ(lab.write_second(p, 0, 11, 0).error, Error::none);
  lab.send(lab.coordinator(), lab.second_end(p, true, 1), Duration::millis(100));  // the other connection
  p.epoch = lab.end_second(p, true).epoch;
  lab.run_for(Duration::millis(20));
  ASSERT_EQ(lab.write_second(p, 0, 21, 0).error, Error::none);
  lab.run_for(Duration::millis(150));
  EXPECT_EQ(lab.state(), TransactionState::ongoing);
  ASSERT_EQ(lab.write_second(p, 1, 22, 0).error, Error::none);
  EXPECT_EQ(lab.end_second(p, false).error, Error::none);
  lab.run_for(Duration::millis(5));
  EXPECT_EQ(lab.read(0, true), (Ids{11}));
  EXPECT_TRUE(lab.read(1, true).empty());
}

// A write that arrives when its transaction has ended opens none (the hanging transaction of the first
// protocol without verification).
TEST(KafkaSecondProtocol, ADelayedWriteIsFenced) {
  TransactionLab lab;
  Identity p = lab.init();
  ASSERT_EQ(lab.write_second(p, 0, 11, 0).error, Error::none);
  lab.send(lab.cluster().process(lab.leader(0)), lab.second_write(p, 0, 12, 1), Duration::millis(100));
  p.epoch = lab.end_second(p, false).epoch;
  lab.run_for(Duration::millis(200));
  EXPECT_EQ(lab.read(0, false), (Ids{11}));
  EXPECT_EQ(lab.led(0).lead->ledger.last_stable(lab.led(0).high_watermark), 2);
}

// The next transaction's first write comes before the last one's marker: its leader waits for the
// coordinator.
TEST(KafkaSecondProtocol, TheNextTransactionWaitsForTheMarkersOfTheLast) {
  TransactionLab lab;
  Identity p = lab.init();
  ASSERT_EQ(lab.write_second(p, 0, 11, 0).error, Error::none);
  const std::uint32_t end = lab.send(lab.coordinator(), lab.second_end(p, true));
  while (lab.answer<EndTxnAnswer>(end) == nullptr) ASSERT_TRUE(lab.world.step());
  p.epoch = lab.answer<EndTxnAnswer>(end)->epoch;
  const std::uint32_t early = lab.send(lab.cluster().process(lab.leader(0)), lab.second_write(p, 0, 21, 0));
  const auto* answer = lab.await<ProduceAnswer>(early);
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(answer->parts[0].error, Error::none);
  EXPECT_EQ(answer->parts[0].base_offset, 2);  // behind the marker
  EXPECT_EQ(lab.read(0, true), (Ids{11}));
}

TEST(KafkaSecondProtocol, OffsetsAddTheirGroup) {
  TransactionLab lab;
  Identity p = lab.init();
  const auto offsets = [&](std::int64_t offset) {
    auto* r = lab.make<TxnOffsetCommitRequest>(RequestKind::txn_offset_commit, 0);
    r->transactional_id = id;
    r->producer = p.producer;
    r->epoch = p.epoch;
    r->group = 5;
    r->second_protocol = true;
    r->offsets.push_back({0, offset});
    return lab.await<Answer>(lab.send(lab.cluster().process(lab.cluster().offsets_of(5).decided.leader), r))
        ->error;
  };
  ASSERT_EQ(offsets(17), Error::none);
  EXPECT_EQ(lab.state(), TransactionState::ongoing);
  EXPECT_EQ(lab.offsets(5, 0, true)->error, Error::unstable_offset_commit);
  p.epoch = lab.end_second(p, true).epoch;
  lab.run_for(Duration::millis(5));
  EXPECT_EQ(lab.offsets(5, 0, true)->offsets[0].offset, 17);
}

TEST(KafkaSecondProtocol, AnUnknownProducerBeginsWithSequenceZero) {
  TransactionLab lab;
  const Identity p = lab.init();
  EXPECT_EQ(lab.write_second(p, 0, 11, 3).error, Error::out_of_order_sequence);
}

TEST(KafkaSecondProtocol, UsedUpEpochsBringANewId) {
  TransactionLab lab({.nodes = 1});
  Identity p = lab.init();
  const std::int64_t first = p.producer;
  while (p.producer == first) {
    const Identity before = p;
    const EndTxnAnswer& end = lab.end_second(p, false);
    ASSERT_EQ(end.error, Error::none);
    p = {end.producer, end.epoch};
    lab.run_for(Duration::millis(5));
    if (p.producer != first) {
      EXPECT_EQ(before.epoch, 32'766);
      EXPECT_EQ(lab.end_second(before, false).producer, p.producer);  // asked again
    }
    for (auto& client : lab.clients) client->got.clear();
  }
  EXPECT_EQ(p.epoch, 0);
  EXPECT_EQ(lab.write_second(p, 0, 11, 0).error, Error::none);
}

TEST(KafkaSecondProtocol, ATransactionThatTimesOutIsAbortedUnderAHigherEpoch) {
  TransactionLab lab;
  const Identity p = lab.init();
  ASSERT_EQ(lab.write_second(p, 0, 11, 0).error, Error::none);
  lab.run_for(Duration::seconds(71));
  EXPECT_EQ(lab.state(), TransactionState::complete_abort);
  EXPECT_EQ(lab.end_second(p, true).error, Error::producer_fenced);
  EXPECT_EQ(lab.write_second(p, 0, 12, 1).error, Error::invalid_producer_epoch);
}

}  // namespace
}  // namespace mqlab::sim::kafka
