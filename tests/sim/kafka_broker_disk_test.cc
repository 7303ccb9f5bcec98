// Kafka's broker on a full disk: what still fits, the end of its process, the others, the restart.
#include "tests/sim/kafka_broker_fixture.h"

namespace mqlab::sim::kafka {
namespace {

void disk(Lab& lab, NodeIndex n, LifeChange change) {
  lab.cluster().at(n).life_changed(lab.cluster().process(n), change);
}
bool alive(Lab& lab, NodeIndex n) { return lab.world.alive(lab.cluster().process(n)); }

TEST(KafkaDisk, WhatFitsIntoTheLastBlockIsTakenAndThenTheBrokerEnds) {
  Lab lab({.nodes = 1, .broker = fast_failover});
  ASSERT_EQ(lab.produced(0, lab.batch(1, 1)).error, Error::none);
  disk(lab, 0, LifeChange::disk_full);
  // 1000 of 4096 bytes are taken: three more batches fit.
  for (MessageId i = 2; i <= 4; ++i) EXPECT_EQ(lab.produced(0, lab.batch(i, 1)).error, Error::none);
  EXPECT_TRUE(alive(lab, 0));
  EXPECT_NE(lab.produced(0, lab.batch(5, 1)).error, Error::none);
  EXPECT_FALSE(alive(lab, 0));
  disk(lab, 0, LifeChange::disk_healed);
  lab.start(0);
  lab.run_for(Duration::seconds(5));
  EXPECT_EQ(lab.read(0), range(1, 4));
  EXPECT_EQ(lab.produced(0, lab.batch(6, 1)).error, Error::none);
}

TEST(KafkaDisk, AnEmptyFileHasNoRoomAtAll) {
  Lab lab({.nodes = 1, .broker = fast_failover});
  disk(lab, 0, LifeChange::disk_full);
  EXPECT_NE(lab.produced(0, lab.batch(1, 1)).error, Error::none);
  EXPECT_FALSE(alive(lab, 0));
}

TEST(KafkaDisk, WithNothingToAppendACheckpointFindsOut) {
  Lab lab({.nodes = 1, .broker = fast_failover});
  lab.run_for(Duration::seconds(7));
  disk(lab, 0, LifeChange::disk_full);
  lab.run_for(Duration::millis(2900));
  EXPECT_TRUE(alive(lab, 0));
  lab.run_for(Duration::millis(200));
  EXPECT_FALSE(alive(lab, 0));
}

TEST(KafkaDisk, RoomInTimeIsNothingToIt) {
  Lab lab({.nodes = 1, .broker = fast_failover});
  disk(lab, 0, LifeChange::disk_full);
  lab.run_for(Duration::seconds(1));
  disk(lab, 0, LifeChange::disk_healed);
  lab.run_for(Duration::seconds(10));
  EXPECT_TRUE(alive(lab, 0));
  EXPECT_EQ(lab.produced(0, lab.batch(1, 1)).error, Error::none);
}

TEST(KafkaDisk, StartedAnewWithoutRoomItEndsAgain) {
  Lab lab({.nodes = 1, .broker = fast_failover});
  disk(lab, 0, LifeChange::disk_full);
  lab.run_for(Duration::seconds(6));
  ASSERT_FALSE(alive(lab, 0));
  lab.start(0);
  lab.run_for(Duration::millis(1));
  EXPECT_FALSE(alive(lab, 0));
}

// A leader, or a follower: the others go on, and what was acknowledged is there with all of them afterwards.
TEST(KafkaDisk, OneOfThreeLosesNothing) {
  for (const bool leads : {true, false}) {
    Lab lab(fast());
    for (MessageId i = 1; i <= 10; ++i) ASSERT_EQ(lab.produced(0, lab.batch(i, 1)).error, Error::none);
    const NodeIndex full = leads ? lab.leader(0) : lab.other({lab.leader(0)});
    disk(lab, full, LifeChange::disk_full);
    lab.produced(0, lab.batch(11, 1, 4000));
    lab.run_for(Duration::seconds(5));
    EXPECT_FALSE(alive(lab, full));
    EXPECT_NE(lab.leader(0), full);
    ASSERT_EQ(lab.produced(0, lab.batch(12, 1)).error, Error::none);
    disk(lab, full, LifeChange::disk_healed);
    lab.start(full);
    lab.run_for(Duration::seconds(15));
    Ids left = lab.read(0);
    std::erase(left, MessageId{11});  // refused by the full leader, taken with the full follower
    EXPECT_EQ(left, (Ids{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12}));
    EXPECT_EQ(lab.isr(0), 7);
    expect_same_logs(lab, 0);
  }
}

// Measured on 4.1.1: 0.5 s after the first sync that failed, by KafkaRaftClient.pollLeader.
TEST(KafkaDisk, WhereSyncsFailTheMetadataLogEndsTheBrokerWithinHalfASecond) {
  Lab lab({.nodes = 1, .broker = fast_failover});
  lab.run_for(Duration::millis(2100));
  ASSERT_EQ(lab.produced(0, lab.batch(1, 1)).error, Error::none);
  disk(lab, 0, LifeChange::syncs_fail);
  EXPECT_EQ(lab.produced(0, lab.batch(2, 1)).error, Error::none);  // it goes to the page cache only
  lab.run_until(Instant{2'499'000'000});
  EXPECT_TRUE(alive(lab, 0));
  lab.run_until(Instant{2'501'000'000});
  EXPECT_FALSE(alive(lab, 0));
  disk(lab, 0, LifeChange::disk_healed);
  lab.start(0);
  lab.run_for(Duration::seconds(5));
  EXPECT_EQ(lab.read(0), range(1, 2));
}

TEST(KafkaDisk, AnAppendThatCannotBeSyncedIsNotAnsweredAndStaysInTheLog) {
  Lab lab({.nodes = 1, .broker = fast_failover, .topic = {{"flush.messages", "1"}}});
  lab.run_for(Duration::millis(2100));
  ASSERT_EQ(lab.produced(0, lab.batch(1, 1)).error, Error::none);
  disk(lab, 0, LifeChange::syncs_fail);
  EXPECT_NE(lab.produced(0, lab.batch(2, 1)).error, Error::none);
  EXPECT_FALSE(alive(lab, 0));
  disk(lab, 0, LifeChange::disk_healed);
  lab.start(0);
  lab.run_for(Duration::seconds(5));
  EXPECT_EQ(lab.read(0), range(1, 2));
  ASSERT_EQ(lab.produced(0, lab.batch(3, 1)).error, Error::none);
}

// A segment that is full is synced by another thread (kafka UnifiedLog.roll, "flush-log").
TEST(KafkaDisk, ASegmentThatCannotBeSyncedFailsNoAppend) {
  Lab lab({.nodes = 1, .broker = fast_failover, .topic = {{"segment.bytes", "1048576"}}});
  lab.run_for(Duration::millis(2100));
  disk(lab, 0, LifeChange::syncs_fail);
  for (MessageId i = 1; i <= 12; ++i)
    EXPECT_EQ(lab.produced(0, lab.batch(i, 1, 100'000)).error, Error::none) << i;
  EXPECT_TRUE(alive(lab, 0));
}

TEST(KafkaDisk, WhatCouldNotBeSyncedIsLostWithThePower) {
  Lab lab({.nodes = 1, .broker = fast_failover, .topic = {{"flush.messages", "1"}}});
  ASSERT_EQ(lab.produced(0, lab.batch(1, 1)).error, Error::none);
  Log& log = lab.led(0).log;
  log.fail_syncs(true);
  ASSERT_FALSE(log.append(lab.now(), {1, lab.batch(2, 1), lab.now(), 1, 0, 1000}, lab.partition(0).topic));
  EXPECT_EQ(log.end(), 2);
  log.lose_power(lab.now(), lab.partition(0).topic, 0);
  EXPECT_EQ(log.end(), 1);
}

}  // namespace
}  // namespace mqlab::sim::kafka
