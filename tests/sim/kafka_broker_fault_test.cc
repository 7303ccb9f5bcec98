// Kafka's broker: death, pause, partition and power loss of nodes; elections, in-sync replicas, truncation.
#include "tests/sim/kafka_broker_fixture.h"

namespace mqlab::sim::kafka {
namespace {

TEST(KafkaFaults, LeaderDiesTheNextInSyncReplicaLeadsAndNothingIsLost) {
  Lab lab(fast({{"min.insync.replicas", "2"}}));
  const PlaceId place = led_apart(lab);
  for (MessageId i = 1; i <= 5; ++i) ASSERT_EQ(lab.produced(place, lab.batch(i, 1)).error, Error::none);
  lab.run_until(Instant{10'000'000'000});
  const NodeIndex old = lab.leader(place);
  lab.kill(old);
  lab.run_for(
      Duration::millis(1490));  // a heartbeat came at most 500 ms ago; its session lasts 2 s from there
  EXPECT_EQ(lab.leader(place), old);
  EXPECT_EQ(lab.cluster().leader(place), no_process);
  lab.run_for(Duration::millis(520));
  EXPECT_EQ(lab.leader(place), lab.partition(place).node(1));
  EXPECT_EQ(lab.isr(place), NodeSet(7 & ~set_of(old)));
  ASSERT_EQ(lab.produced(place, lab.batch(6, 1)).error, Error::none);
  EXPECT_EQ(lab.read(place), range(1, 6));
  lab.start(old);
  lab.run_for(Duration::seconds(5));
  EXPECT_EQ(lab.isr(place), 7);
  expect_same_logs(lab, place);
  EXPECT_EQ(lab.leader(place), lab.partition(place).node(1));
}

TEST(KafkaFaults, LeaderWithTheControllerTakesLonger) {
  Lab lab(fast());
  const PlaceId place = led_apart(lab, false);
  const NodeIndex old = lab.leader(place);
  lab.run_until(Instant{10'000'000'000});
  lab.kill(old);
  lab.run_for(Duration::millis(2990));  // 1 s fetch timeout of the quorum at least, then a whole session
  EXPECT_EQ(lab.leader(place), old);
  lab.run_for(Duration::millis(270));
  EXPECT_NE(lab.leader(place), old);
  EXPECT_NE(lab.controller(), old);
}

// acks=all waits for the whole ISR, so a dead follower holds it up until the controller has fenced it.
TEST(KafkaFaults, DeadFollowerHoldsUpAcksAllUntilItIsFenced) {
  Lab lab({});
  const PlaceId place = led_apart(lab, false);
  const NodeIndex follower = lab.other({lab.leader(place)});
  lab.run_until(Instant{20'000'000'000});
  lab.kill(follower);
  const Instant killed = lab.now();
  const std::uint32_t c = lab.produce(place, lab.batch(1, 1));
  ASSERT_NE(lab.await<ProduceAnswer>(c), nullptr);
  EXPECT_GT(lab.answered_at(c) - killed, Duration::seconds(7));
  EXPECT_LT(lab.answered_at(c) - killed, Duration::seconds(9) + Duration::millis(10));
  EXPECT_EQ(lab.answer<ProduceAnswer>(c)->parts[0].error, Error::none);
}

TEST(KafkaFaults, BelowMinIsrTheHighWatermarkStands) {
  Lab lab(fast({{"min.insync.replicas", "2"}}));
  const PlaceId place = led_apart(lab, false);
  ASSERT_EQ(lab.produced(place, lab.batch(1, 1)).error, Error::none);
  const NodeIndex leader = lab.leader(place), a = lab.other({leader}), b = lab.other({leader, a});
  lab.world.pause(lab.cluster().process(a));
  lab.run_for(Duration::seconds(6));
  ASSERT_EQ(lab.isr(place), NodeSet(set_of(leader) | set_of(b)));
  lab.cut(lab.cluster().process(leader),
          lab.cluster().process(b));  // alone, and no quorum: the leader cannot drop b
  const std::uint32_t stuck = lab.produce(place, lab.batch(2, 1));
  lab.run_for(Duration::seconds(5));
  EXPECT_EQ(lab.answer<ProduceAnswer>(stuck), nullptr);
  lab.cut(lab.cluster().process(leader), lab.cluster().process(b), false);
  lab.run_for(Duration::millis(10));
  ASSERT_NE(lab.answer<ProduceAnswer>(stuck), nullptr);
  EXPECT_EQ(lab.answer<ProduceAnswer>(stuck)->parts[0].error, Error::none);
}

// KAFKA-15583: what acks=1 wrote was visible below min.insync.replicas before 3.7, and is not since.
TEST(KafkaFaults, Before37TheHighWatermarkMovedBelowMinIsr) {
  for (const char* version : {"3.6", "3.9", "4.1"}) {
    Lab::Options options = fast({{"min.insync.replicas", "3"}});
    options.version = version;
    Lab lab(options);
    lab.kill(lab.other({lab.leader(0), lab.controller()}));
    lab.run_for(Duration::seconds(6));
    ASSERT_EQ(size_of(lab.isr(0)), 2u);
    EXPECT_EQ(lab.produced(0, lab.batch(1, 1)).error, Error::not_enough_replicas);
    EXPECT_EQ(lab.produced(0, lab.batch(2, 1), 1).error, Error::none);
    lab.run_for(Duration::millis(10));
    EXPECT_EQ(lab.read(0), version == std::string("3.6") ? Ids{2} : Ids{}) << version;
  }
}

TEST(KafkaFaults, OneInSyncReplicaOfTwoNeeded) {
  Lab lab(fast({{"min.insync.replicas", "2"}}));
  const PlaceId place = led_apart(lab, false);
  ASSERT_EQ(lab.produced(place, lab.batch(1, 1)).error, Error::none);
  const NodeIndex leader = lab.leader(place);
  // As if both had been dropped, and could not ask to join yet.
  Partition& p = lab.partition(place);
  p.decided.isr = set_of(leader);
  ++p.decided.version;
  lab.led(place).lead->isr = set_of(leader);
  lab.led(place).lead->version = p.decided.version;
  lab.led(place).lead->asked = set_of(leader);
  EXPECT_EQ(lab.produced(place, lab.batch(2, 1), -1).error, Error::not_enough_replicas);
  EXPECT_EQ(lab.produced(place, lab.batch(3, 1), 1).error, Error::none);
  lab.run_for(Duration::seconds(1));
  EXPECT_EQ(lab.read(place), (Ids{1}));  // accepted, and invisible
  EXPECT_EQ(lab.led(place).log.end(), 2);
  lab.led(place).lead->asked = 0;
  ASSERT_EQ(lab.produced(place, lab.batch(4, 1), 1).error,
            Error::none);  // its replication lets them join again
  lab.run_for(Duration::seconds(1));
  EXPECT_EQ(lab.isr(place), 7);
  EXPECT_EQ(lab.read(place), (Ids{1, 3, 4}));
}

// A leader cut off from the others, but not from its client, goes on taking acks=1; the others elect; what it
// took is cut off when it is back.
TEST(KafkaFaults, CutOffLeaderLosesWhatOnlyItHas) {
  Lab lab(fast({{"min.insync.replicas", "2"}}));
  const PlaceId place = led_apart(lab);
  ASSERT_EQ(lab.produced(place, lab.batch(1, 1)).error, Error::none);
  const NodeIndex old = lab.leader(place), a = lab.other({old}), b = lab.other({old, a});
  const ProcessId p = lab.cluster().process(old);
  lab.cut(p, lab.cluster().process(a));
  lab.cut(p, lab.cluster().process(b));
  const std::uint32_t one = lab.produce_to(p, place, lab.batch(2, 1), 1);
  const std::uint32_t all = lab.produce_to(p, place, lab.batch(3, 1), -1, 2);
  lab.run_for(Duration::seconds(3));
  ASSERT_NE(lab.answer<ProduceAnswer>(one), nullptr);
  EXPECT_EQ(lab.answer<ProduceAnswer>(one)->parts[0].error, Error::none);
  EXPECT_EQ(lab.answer<ProduceAnswer>(all), nullptr);
  ASSERT_NE(lab.leader(place), old);
  ASSERT_EQ(lab.produced(place, lab.batch(4, 1)).error, Error::none);
  lab.cut(p, lab.cluster().process(a), false);
  lab.cut(p, lab.cluster().process(b), false);
  lab.run_for(Duration::seconds(3));
  ASSERT_NE(lab.answer<ProduceAnswer>(all), nullptr);
  EXPECT_EQ(lab.answer<ProduceAnswer>(all)->parts[0].error, Error::not_leader_or_follower);
  EXPECT_EQ(lab.read(place), (Ids{1, 4}));
  EXPECT_EQ(lab.isr(place), 7);
  expect_same_logs(lab, place);
}

TEST(KafkaFaults, LaggingFollowerIsDroppedByItsLeaderAndJoinsAgain) {
  Lab lab(fast());
  const PlaceId place = led_apart(lab);
  const NodeIndex leader = lab.leader(place), follower = lab.other({leader, lab.controller()});
  lab.run_until(Instant{10'100'000'000});
  lab.cut(lab.cluster().process(leader),
          lab.cluster().process(follower));  // both still talk with the controller
  const Instant since = lab.now();
  const std::uint32_t c = lab.produce(place, lab.batch(1, 1));
  ASSERT_NE(lab.await<ProduceAnswer>(c), nullptr);
  EXPECT_EQ(lab.answer<ProduceAnswer>(c)->parts[0].error, Error::none);
  EXPECT_GT(lab.answered_at(c) - since,
            Duration::millis(2500));  // replica.lag.time.max.ms, by half of it, less one wait
  EXPECT_LT(lab.answered_at(c) - since, Duration::millis(4510));
  EXPECT_FALSE(has(lab.isr(place), follower));
  lab.cut(lab.cluster().process(leader), lab.cluster().process(follower), false);
  lab.run_for(Duration::millis(20));
  EXPECT_EQ(lab.isr(place), 7);
  expect_same_logs(lab, place);
}

TEST(KafkaFaults, RequestTimeoutLeavesTheRecordInTheLog) {
  Lab lab({});
  const PlaceId place = led_apart(lab, false);
  const NodeIndex follower = lab.other({lab.leader(place)});
  lab.world.pause(lab.cluster().process(follower));
  auto* r = lab.make<ProduceRequest>(RequestKind::produce, 0);
  r->timeout = Duration::seconds(2);
  r->parts.push_back({place, lab.batch(1, 1)});
  const std::uint32_t c = lab.send(lab.cluster().process(lab.leader(place)), r);
  ASSERT_NE(lab.await<ProduceAnswer>(c), nullptr);
  EXPECT_EQ(lab.answer<ProduceAnswer>(c)->parts[0].error, Error::request_timed_out);
  EXPECT_EQ(lab.answered_at(c), Instant{2'000'400'000});
  lab.world.resume(lab.cluster().process(follower));
  lab.run_for(Duration::millis(10));
  EXPECT_EQ(lab.read(place), (Ids{1}));
}

TEST(KafkaFaults, PausedFollowerIsFencedAndComesBack) {
  Lab lab(fast());
  const PlaceId place = led_apart(lab, false);
  const NodeIndex follower = lab.other({lab.leader(place)});
  lab.world.pause(lab.cluster().process(follower));
  lab.run_for(Duration::seconds(3));
  EXPECT_FALSE(has(lab.isr(place), follower));
  for (MessageId i = 1; i <= 3; ++i) ASSERT_EQ(lab.produced(place, lab.batch(i, 2)).error, Error::none);
  lab.world.resume(lab.cluster().process(follower));
  lab.run_for(Duration::millis(50));
  EXPECT_EQ(lab.isr(place), 7);
  expect_same_logs(lab, place);
}

TEST(KafkaFaults, PausedLeaderIsAZombieWhenItResumes) {
  Lab lab(fast());
  const PlaceId place = led_apart(lab);
  const NodeIndex old = lab.leader(place);
  ASSERT_EQ(lab.produced(place, lab.batch(1, 1)).error, Error::none);
  lab.world.pause(lab.cluster().process(old));
  const std::uint32_t late = lab.produce_to(lab.cluster().process(old), place, lab.batch(2, 1), 1, 2);
  lab.run_for(Duration::seconds(4));
  ASSERT_NE(lab.leader(place), old);
  ASSERT_EQ(lab.produced(place, lab.batch(3, 1)).error, Error::none);
  lab.world.resume(lab.cluster().process(old));
  lab.run_for(Duration::millis(100));
  // It took the write before it heard that it was deposed; then it cut its log to the new leader's.
  EXPECT_EQ(lab.answer<ProduceAnswer>(late)->parts[0].error, Error::none);
  EXPECT_EQ(lab.read(place), (Ids{1, 3}));
  EXPECT_EQ(lab.isr(place), 7);
  expect_same_logs(lab, place);
}

TEST(KafkaFaults, ThePartitionWaitsForItsLastInSyncReplica) {
  Lab lab(fast());
  const PlaceId place = led_apart(lab, false);
  ASSERT_EQ(lab.produced(place, lab.batch(1, 1)).error, Error::none);
  const NodeIndex leader = lab.leader(place), a = lab.other({leader}), b = lab.other({leader, a});
  lab.kill(a);
  lab.run_for(Duration::seconds(3));
  lab.kill(b);
  lab.run_for(Duration::seconds(3));  // no quorum is left: b stays in the ISR, and acks=all waits for it
  EXPECT_EQ(lab.produced(place, lab.batch(2, 1), 1).error, Error::none);
  lab.kill(leader);
  lab.start(a);
  lab.start(b);
  lab.run_for(Duration::seconds(10));
  ASSERT_EQ(lab.leader(place), b);
  EXPECT_EQ(lab.read(place), (Ids{1}));
  lab.start(leader);
  lab.run_for(Duration::seconds(10));
  EXPECT_EQ(lab.isr(place), 7);
  expect_same_logs(lab, place);
}

TEST(KafkaFaults, UncleanElectionLosesCommittedRecords) {
  for (const bool unclean : {false, true}) {
    Lab lab({.nodes = 5,
             .broker = with(fast_failover, {{"unclean.leader.election.enable", unclean ? "true" : "false"}}),
             .replication = 3});
    const PlaceId place = 0;
    ASSERT_EQ(lab.produced(place, lab.batch(1, 1)).error, Error::none);
    lab.kill(2);
    lab.run_for(Duration::seconds(5));
    ASSERT_EQ(lab.isr(place), 3);
    ASSERT_EQ(lab.produced(place, lab.batch(2, 1)).error, Error::none);
    lab.kill(0);
    lab.kill(1);
    lab.start(2);
    lab.run_for(Duration::seconds(12));
    if (unclean) {
      ASSERT_EQ(lab.leader(place), 2);
      EXPECT_EQ(lab.isr(place), set_of(2));
      EXPECT_EQ(lab.read(place), (Ids{1}));
      ASSERT_EQ(lab.produced(place, lab.batch(3, 1)).error, Error::none);
    } else {
      EXPECT_EQ(lab.leader(place), no_node);
    }
    lab.start(0);
    lab.start(1);
    lab.run_for(Duration::seconds(12));
    EXPECT_EQ(lab.read(place), (unclean ? Ids{1, 3} : Ids{1, 2}));
    EXPECT_EQ(lab.isr(place), 7);
  }
}

}  // namespace
}  // namespace mqlab::sim::kafka
