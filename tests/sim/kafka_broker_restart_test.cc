// Kafka's broker: all nodes dead, power loss, restarts, controlled shutdown; forks of a run.
#include "tests/sim/kafka_broker_fixture.h"

namespace mqlab::sim::kafka {
namespace {

TEST(KafkaRestart, ProcessDeathOfAllLosesNothing) {
  Lab lab(fast());
  for (MessageId i = 1; i <= 10; ++i) ASSERT_EQ(lab.produced(0, lab.batch(i, 1)).error, Error::none);
  for (NodeIndex n = 0; n < 3; ++n) lab.kill(n);
  lab.run_for(Duration::seconds(1));
  for (NodeIndex n = 0; n < 3; ++n) lab.start(n);
  lab.run_for(Duration::seconds(15));
  EXPECT_EQ(lab.read(0), range(1, 10));
  EXPECT_EQ(lab.isr(0), 7);
}

TEST(KafkaRestart, PowerLossOfAllLosesWhatWasNotWrittenBack) {
  std::size_t kept_least = 100;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Lab::Options o = fast();
    o.seed = seed;
    Lab lab(o);
    for (MessageId i = 1; i <= 10; ++i) ASSERT_EQ(lab.produced(0, lab.batch(i, 1)).error, Error::none);
    for (NodeIndex n = 0; n < 3; ++n) lab.kill(n, true);
    lab.run_for(Duration::seconds(1));
    for (NodeIndex n = 0; n < 3; ++n) lab.start(n);
    lab.run_for(Duration::seconds(15));
    const Ids left = lab.read(0);
    EXPECT_EQ(left, range(1, static_cast<MessageId>(left.size())));  // a prefix
    kept_least = std::min(kept_least, left.size());
    EXPECT_EQ(lab.isr(0), 7);
    expect_same_logs(lab, 0);
  }
  EXPECT_EQ(kept_least, 0u);
}

TEST(KafkaRestart, PowerLossLaterOrOfOneOrWithFlushLosesNothing) {
  for (const int how : {0, 1, 2}) {
    Lab lab(fast(how == 2 ? Properties{{"log.flush.interval.messages", "1"}} : Properties{}));
    for (MessageId i = 1; i <= 10; ++i) ASSERT_EQ(lab.produced(0, lab.batch(i, 1)).error, Error::none);
    if (how == 0) lab.run_for(Duration::seconds(45));
    for (NodeIndex n = 0; n < 3; ++n) {
      if (how != 1 || n == lab.leader(0)) lab.kill(n, true);
    }
    lab.run_for(Duration::seconds(5));
    for (NodeIndex n = 0; n < 3; ++n) {
      if (!lab.world.alive(lab.cluster().process(n))) lab.start(n);
    }
    lab.run_for(Duration::seconds(15));
    EXPECT_EQ(lab.read(0), range(1, 10)) << how;
    EXPECT_EQ(lab.isr(0), 7);
    expect_same_logs(lab, 0);
  }
}

TEST(KafkaRestart, SingleNodeComesBack) {
  Lab lab({.nodes = 1, .broker = fast_failover});
  for (MessageId i = 1; i <= 4; ++i) ASSERT_EQ(lab.produced(0, lab.batch(i, 1)).error, Error::none);
  EXPECT_EQ(lab.now().ns, 4 * 400'000);
  lab.kill(0);
  lab.run_for(Duration::seconds(1));
  lab.start(0);
  lab.run_for(Duration::seconds(1));
  const auto* refused = lab.await<ProduceAnswer>(lab.produce_to(lab.node(0), 0, lab.batch(9, 1)));
  EXPECT_EQ(refused->error, Error::disconnected);  // its process is there, the broker is still starting
  lab.run_for(Duration::seconds(5));
  EXPECT_EQ(lab.read(0), range(1, 4));
  EXPECT_EQ(lab.produced(0, lab.batch(5, 1)).base_offset, 4);
}

TEST(KafkaRestart, ControlledShutdownMovesLeadersFirst) {
  Lab lab({});
  const PlaceId place = led_apart(lab);
  ASSERT_EQ(lab.produced(place, lab.batch(1, 1)).error, Error::none);
  const NodeIndex old = lab.leader(place);
  EXPECT_TRUE(lab.cluster().stop(lab.cluster().process(old)));
  lab.run_for(Duration::millis(5));
  ASSERT_NE(lab.leader(place), old);
  EXPECT_FALSE(has(lab.isr(place), old));
  lab.run_for(Duration::seconds(1));
  EXPECT_FALSE(lab.world.alive(lab.cluster().process(old)));
  const Instant before = lab.now();
  ASSERT_EQ(lab.produced(place, lab.batch(2, 1)).error, Error::none);
  EXPECT_LT(lab.now() - before, Duration::millis(2));
  lab.start(old);
  lab.run_for(Duration::seconds(5));
  EXPECT_EQ(lab.isr(place), 7);
}

TEST(KafkaRestart, EligibleLeaderReplicas) {  // KIP-966, on from 4.1
  Lab::Options o = fast({{"min.insync.replicas", "2"}});
  o.version = "4.1";
  Lab lab(o);
  const PlaceId place = led_apart(lab, false);
  ASSERT_EQ(lab.produced(place, lab.batch(1, 1)).error, Error::none);
  const NodeIndex leader = lab.leader(place), a = lab.other({leader}), b = lab.other({leader, a});
  lab.kill(a);
  lab.run_for(Duration::seconds(3));
  EXPECT_EQ(lab.partition(place).eligible, 0);  // two are in sync still
  lab.kill(leader);
  lab.start(a);  // the two others are the quorum
  lab.run_for(Duration::seconds(10));
  EXPECT_EQ(lab.leader(place), b);
  EXPECT_EQ(lab.isr(place), NodeSet(set_of(a) | set_of(b)));
  lab.start(leader);
  lab.run_for(Duration::seconds(6));
  EXPECT_EQ(lab.isr(place), 7);
}

TEST(KafkaRestart, OfTheEligibleOnlyWhoEndedProperlyMayLead) {
  for (const bool properly : {true, false}) {
    Lab::Options o = fast({{"min.insync.replicas", "2"}});
    o.version = "4.1";
    o.replication = 2;
    Lab lab(o);
    const PlaceId place = 0;
    ASSERT_EQ(lab.produced(place, lab.batch(1, 1)).error, Error::none);
    const NodeIndex first = lab.leader(place);
    if (properly) {
      EXPECT_TRUE(lab.cluster().stop(lab.cluster().process(first)));
    } else {
      lab.kill(first);
    }
    lab.run_for(Duration::seconds(5));
    const NodeIndex last = lab.leader(place);
    ASSERT_NE(last, first);
    EXPECT_EQ(lab.isr(place), set_of(last));
    EXPECT_EQ(lab.partition(place).eligible, set_of(first));
    lab.kill(last);
    lab.start(first);
    lab.run_for(Duration::seconds(12));
    EXPECT_EQ(lab.leader(place), properly ? first : no_node);
    lab.start(last);  // killed, so not eligible; but known to have led last
    lab.run_for(Duration::seconds(12));
    EXPECT_EQ(lab.leader(place), properly ? first : last);
    EXPECT_EQ(lab.read(place), (Ids{1}));
    EXPECT_EQ(size_of(lab.isr(place)), 2u);
  }
}

TEST(KafkaRestart, IdempotentRetryAfterFailoverIsRecognised) {
  Lab lab(fast());
  const PlaceId place = led_apart(lab);
  ASSERT_EQ(lab.produced(place, lab.sequenced(1, 2, 7, 0, 0)).error, Error::none);
  lab.kill(lab.leader(place));
  lab.run_for(Duration::seconds(3));
  const ProducedPart repeat = lab.produced(place, lab.sequenced(1, 2, 7, 0, 0));
  EXPECT_TRUE(repeat.duplicate);
  EXPECT_EQ(repeat.base_offset, 0);
  EXPECT_EQ(lab.produced(place, lab.sequenced(3, 1, 7, 0, 2)).base_offset, 2);
}

TEST(KafkaRestart, SameSeedSameHistoryOfEvents) {
  const auto run = [] {
    Lab lab(fast());
    for (MessageId i = 1; i <= 20; ++i) lab.produce(i % 3, lab.batch(i, 1));
    lab.run_for(Duration::millis(1));
    lab.kill(lab.leader(0));
    lab.run_for(Duration::seconds(3));
    lab.start(0);
    lab.run_for(Duration::seconds(10));
    return std::pair{lab.world.steps(), lab.world.arena().used_bytes()};
  };
  EXPECT_EQ(run(), run());
}

TEST(KafkaRestart, SnapshotsForkARun) {
  Lab lab(fast());
  ASSERT_EQ(lab.produced(0, lab.batch(1, 1)).error, Error::none);
  World::Snapshot snapshot;
  lab.world.save(snapshot);
  for (int branch = 0; branch < 3; ++branch) {
    lab.world.restore(snapshot);
    for (auto& client : lab.clients) client->got.clear();
    ASSERT_EQ(lab.produced(0, lab.batch(10 + static_cast<MessageId>(branch), 1)).error, Error::none);
    EXPECT_EQ(lab.read(0), (Ids{1, 10 + static_cast<MessageId>(branch)}));
  }
}

}  // namespace
}  // namespace mqlab::sim::kafka
