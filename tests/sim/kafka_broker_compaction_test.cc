// Kafka's broker: what compaction takes away, and what it leaves.
#include "tests/sim/kafka_broker_transaction_lab.h"

namespace mqlab::sim::kafka {
namespace {

using Offsets = std::vector<std::int64_t>;

/// Segments of 100 ms, looked at every second; a tombstone is kept 10 s.
const Properties often = {{"log.cleaner.backoff.ms", "1000"}};
const Properties compacted = {{"cleanup.policy", "compact"},
                              {"segment.ms", "100"},
                              {"min.cleanable.dirty.ratio", "0"},
                              {"delete.retention.ms", "10000"}};

Properties but(Properties own, const Properties& more) {
  for (const Property& p : more) {
    std::erase_if(own, [&](const Property& o) { return o.key == p.key; });
    own.push_back(p);
  }
  return own;
}

struct CompactionLab : TransactionLab {
  explicit CompactionLab(const Properties& topic = compacted, const Properties& broker = often)
      : TransactionLab({.broker = broker, .topic = topic}) {
    run_until(Instant{100'000'000});
  }
  Batch* keyed(const std::vector<std::uint32_t>& keys, std::uint32_t size = 100) {
    Batch* b = batch(next_, static_cast<std::uint32_t>(keys.size()));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      b->records[i].key = keys[i];
      b->records[i].size = size;
    }
    next_ += b->count;
    return b;
  }
  using TransactionLab::write;
  /// In a segment of their own.
  void write(const std::vector<std::uint32_t>& keys, std::uint32_t size = 100) {
    run_for(Duration::millis(150));
    ASSERT_EQ(produced(0, keyed(keys, size)).error, Error::none);
  }
  void bury(std::uint32_t key) { write({key}, 0); }
  /// What a reader from `from` on is given.
  Offsets offsets(std::int64_t from = 0, bool read_committed = false) {
    const auto* a = await<FetchAnswer>(fetch(0, from, read_committed, 3, 1, Duration{}));
    Offsets all;
    for (const FetchedRecords& run : a->runs) {
      for (std::uint32_t i = 0; i < run.count; ++i) all.push_back(run.offset + i);
    }
    return all;
  }
  Offsets offsets_at(NodeIndex n) {
    Offsets all;
    for (const LogEntry& e : replica(0, n).log.entries()) {
      for (std::uint32_t i = 0; i < e.count; ++i) all.push_back(e.base + i);
    }
    return all;
  }

 private:
  MessageId next_ = 1;
};

TEST(KafkaCompaction, TheLatestOfEachKeyStaysWhereItWas) {
  CompactionLab lab;
  lab.write({1, 2, 3});
  lab.write({1, 2});
  lab.write({1, 4});
  lab.write({9});  // closes the segment before it
  lab.run_for(Duration::seconds(2));
  EXPECT_EQ(lab.offsets(), (Offsets{2, 4, 5, 6, 7}));
  EXPECT_EQ(lab.offsets(0).size(), 5u);
  for (const std::int64_t gone : {0, 1, 3}) EXPECT_EQ(lab.offsets(gone).front(), gone < 2 ? 2 : 4);
  for (NodeIndex n = 0; n < 3; ++n) EXPECT_EQ(lab.offsets_at(n), (Offsets{2, 4, 5, 6, 7})) << n;
  EXPECT_EQ(lab.produced(0, lab.keyed({1})).base_offset, 8);  // offsets go on
  EXPECT_EQ(lab.led(0).log.start(), 0);
}

TEST(KafkaCompaction, TheActiveSegmentIsNotTouched) {
  CompactionLab lab;
  lab.run_for(Duration::millis(150));
  for (int i = 0; i < 3; ++i) ASSERT_EQ(lab.produced(0, lab.keyed({1})).error, Error::none);
  lab.run_for(Duration::seconds(60));
  EXPECT_EQ(lab.offsets(), (Offsets{0, 1, 2}));
  lab.write({2});
  lab.run_for(Duration::seconds(2));
  EXPECT_EQ(lab.offsets(), (Offsets{2, 3}));
}

// KIP-534: a tombstone's time begins with the first cleaning it lives through, and ends with a cleaning.
TEST(KafkaCompaction, TombstonesGoAfterTheirTime) {
  CompactionLab lab;
  lab.write({1});
  lab.bury(1);
  lab.write({2});
  lab.run_for(Duration::seconds(2));
  EXPECT_EQ(lab.offsets(), (Offsets{1, 2}));  // what it buried is gone, it is not
  lab.write({3});
  lab.run_for(Duration::seconds(5));
  EXPECT_EQ(lab.offsets(), (Offsets{1, 2, 3}));
  lab.run_for(Duration::seconds(6));
  EXPECT_EQ(lab.offsets(), (Offsets{1, 2, 3}));  // its time is over, but nothing is cleaned
  lab.write({4});
  lab.run_for(Duration::seconds(2));
  EXPECT_EQ(lab.offsets(), (Offsets{2, 3, 4}));
}

TEST(KafkaCompaction, RecordsWithoutKeyAreRefused) {
  CompactionLab lab;
  EXPECT_EQ(lab.produced(0, lab.keyed({1, 0})).error, Error::invalid_record);
  EXPECT_EQ(lab.produced(0, lab.keyed({1, 2})).base_offset, 0);
  CompactionLab plain(Properties{});
  EXPECT_EQ(plain.produced(0, plain.keyed({0})).error, Error::none);
}

TEST(KafkaCompaction, EnoughMustBeDirty) {
  CompactionLab lab(but(compacted, {{"min.cleanable.dirty.ratio", "0.5"}}));
  for (int i = 0; i < 4; ++i) lab.write({1});
  lab.run_for(Duration::seconds(2));
  EXPECT_EQ(lab.offsets(), (Offsets{2, 3}));  // all of it was dirty
  lab.write({1});
  lab.run_for(Duration::seconds(2));
  EXPECT_EQ(lab.offsets(), (Offsets{2, 3, 4}));  // one of two batches is: half is not more than half
  lab.write({1});
  lab.run_for(Duration::seconds(2));
  EXPECT_EQ(lab.offsets(), (Offsets{4, 5}));
}

TEST(KafkaCompaction, YoungSegmentsWait) {
  CompactionLab lab(but(compacted, {{"min.compaction.lag.ms", "10000"}}));
  for (int i = 0; i < 3; ++i) lab.write({1});
  lab.run_for(Duration::seconds(9));
  EXPECT_EQ(lab.offsets(), (Offsets{0, 1, 2}));
  lab.run_for(Duration::seconds(3));
  EXPECT_EQ(lab.offsets(), (Offsets{1, 2}));
}

// KIP-354: however little is dirty; and the active segment is rolled by the first append after that time.
TEST(KafkaCompaction, OldSegmentsDoNotWait) {
  const Properties topic = {
      {"cleanup.policy", "compact"}, {"min.cleanable.dirty.ratio", "1"}, {"max.compaction.lag.ms", "5000"}};
  CompactionLab lab(topic);
  lab.write({1});
  lab.write({1});
  lab.run_for(Duration::seconds(4));
  lab.write({2});
  lab.run_for(Duration::seconds(3));
  EXPECT_EQ(lab.offsets(), (Offsets{0, 1, 2}));
  lab.write({3});
  lab.run_for(Duration::seconds(2));
  EXPECT_EQ(lab.offsets(), (Offsets{1, 2, 3}));
}

TEST(KafkaCompaction, WithDeletionOldSegmentsGoToo) {
  CompactionLab lab(but(compacted, {{"cleanup.policy", "compact,delete"}, {"retention.ms", "20000"}}));
  lab.write({1});
  lab.write({2});
  lab.write({3});
  lab.run_for(Duration::seconds(2));
  EXPECT_EQ(lab.offsets(), (Offsets{0, 1, 2}));
  lab.run_for(Duration::seconds(20));
  EXPECT_EQ(lab.led(0).log.start(), 3);
  EXPECT_EQ(lab.produced(0, lab.keyed({1})).base_offset, 3);
}

TEST(KafkaCompaction, WithoutTheCleanerNothingGoes) {
  CompactionLab lab(compacted, but(often, {{"log.cleaner.enable", "false"}}));
  for (int i = 0; i < 3; ++i) lab.write({1});
  lab.run_for(Duration::seconds(60));
  EXPECT_EQ(lab.offsets(), (Offsets{0, 1, 2}));
  EXPECT_EQ(lab.produced(0, lab.keyed({0})).error, Error::invalid_record);
}

// Of an idempotent producer the last batch leaves its sequence numbers behind, also for the next leader.
TEST(KafkaCompaction, ARepeatIsKnownThoughItsRecordsAreGone) {
  CompactionLab lab;
  const auto numbered = [&](std::uint32_t key, std::int32_t sequence) {
    Batch* b = lab.keyed({key});
    b->producer = 77;
    b->epoch = 0;
    b->first_sequence = sequence;
    return b;
  };
  ASSERT_EQ(lab.produced(0, numbered(1, 0)).base_offset, 0);
  lab.run_for(Duration::millis(150));
  ASSERT_EQ(lab.produced(0, numbered(1, 1)).base_offset, 1);
  lab.write({1});
  lab.write({2});
  lab.run_for(Duration::seconds(2));
  ASSERT_EQ(lab.offsets(), (Offsets{2, 3}));
  const NodeIndex before = lab.leader(0);
  lab.kill(before);
  lab.run_for(Duration::seconds(20));
  ASSERT_NE(lab.leader(0), before);
  const ProducedPart repeat = lab.produced(0, numbered(1, 1));
  EXPECT_TRUE(repeat.duplicate);
  EXPECT_EQ(repeat.base_offset, 1);
  EXPECT_EQ(lab.produced(0, numbered(5, 2)).base_offset, 4);
}

TEST(KafkaCompaction, AbortedRecordsGoAndOpenTransactionsAreNotPassed) {
  CompactionLab lab;
  const Identity p = lab.init();
  ASSERT_EQ(lab.add(p, {0}), Error::none);
  ASSERT_EQ(lab.write(p, 0, 100, 0, 1).base_offset, 0);
  ASSERT_EQ(lab.end(p, false), Error::none);
  lab.run_for(Duration::millis(5));
  lab.write({2});  // at 2, behind the marker
  lab.write({3});
  lab.run_for(Duration::seconds(2));
  EXPECT_EQ(lab.offsets(), (Offsets{2, 3}));
  ASSERT_EQ(lab.add(p, {0}), Error::none);
  ASSERT_EQ(lab.write(p, 0, 101, 1, 4).base_offset, 4);
  lab.write({2});
  lab.write({2});
  lab.write({9});
  lab.run_for(Duration::seconds(2));
  EXPECT_EQ(lab.offsets(), (Offsets{2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(lab.offsets(0, true), (Offsets{2, 3}));
  ASSERT_EQ(lab.end(p, true), Error::none);
  lab.write({10});
  lab.run_for(Duration::seconds(2));
  EXPECT_EQ(lab.offsets(0, true), (Offsets{3, 4, 6, 7, 9}));
}

TEST(KafkaCompaction, AFollowerThatWasAwayTakesTheGapsOver) {
  CompactionLab lab;
  lab.write({7});
  const NodeIndex away = lab.other({lab.leader(0), lab.controller()});
  lab.kill(away);
  lab.run_for(Duration::seconds(20));
  for (int i = 0; i < 4; ++i) lab.write({1});
  lab.run_for(Duration::seconds(2));
  ASSERT_EQ(lab.offsets(), (Offsets{0, 3, 4}));
  lab.start(away);
  lab.run_for(Duration::seconds(20));
  EXPECT_EQ(lab.offsets_at(away), (Offsets{0, 3, 4}));
  EXPECT_EQ(lab.replica(0, away).log.end(), 5);
  EXPECT_EQ(lab.isr(0), 7u);
}

TEST(KafkaCompaction, AfterAnElectionLogsAgreeThoughOneIsCompacted) {
  CompactionLab lab;
  for (int i = 0; i < 3; ++i) lab.write({1});
  lab.run_for(Duration::seconds(2));
  const NodeIndex first = lab.leader(0);
  lab.kill(first);
  lab.run_for(Duration::seconds(20));
  for (int i = 0; i < 3; ++i) lab.write({1});
  lab.run_for(Duration::seconds(2));
  lab.start(first);
  lab.run_for(Duration::seconds(20));
  EXPECT_EQ(lab.replica(0, first).log.end(), 6);
  EXPECT_EQ(lab.isr(0), 7u);
  EXPECT_EQ(lab.offsets(), (Offsets{4, 5}));
}

TEST(KafkaCompaction, ADeadBrokersCleanerGoesOnWhenItIsBack) {
  CompactionLab lab(but(compacted, {{"min.compaction.lag.ms", "30000"}}));
  for (int i = 0; i < 3; ++i) lab.write({1});
  const NodeIndex away = lab.other({lab.leader(0), lab.controller()});
  lab.kill(away);
  lab.run_for(Duration::seconds(40));
  EXPECT_EQ(lab.offsets(), (Offsets{1, 2}));
  lab.start(away);
  lab.run_for(Duration::seconds(20));
  EXPECT_EQ(lab.offsets_at(away), (Offsets{1, 2}));
}

}  // namespace
}  // namespace mqlab::sim::kafka
