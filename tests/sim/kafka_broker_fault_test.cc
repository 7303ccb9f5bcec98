// Kafka's broker: death, pause, partition and power loss of nodes; elections, in-sync replicas, truncation.
#include <numeric>

#include "tests/sim/kafka_broker_fixture.h"

namespace mqlab::sim::kafka {
namespace {

using Ids = std::vector<MessageId>;

Ids range(MessageId first, MessageId last) {
  Ids ids(last - first + 1);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

Lab::Options fast(const Properties& more = {}) { return {.broker = with(fast_failover, more)}; }

/// A partition whose leader does not have the controller, or does.
PlaceId led_apart(Lab& lab, bool apart = true) {
  PlaceId place = 0;
  while ((lab.leader(place) != lab.controller()) != apart) ++place;
  return place;
}

void expect_same_logs(Lab& lab, PlaceId place) {
  const Log& leader = lab.led(place).log;
  for (NodeIndex n = 0; n < lab.cluster().size(); ++n) {
    const Log& log = lab.replica(place, n).log;
    ASSERT_EQ(log.end(), leader.end()) << int{n};
    ASSERT_EQ(log.entries().size(), leader.entries().size());
    for (std::size_t i = 0; i < log.entries().size(); ++i) EXPECT_EQ(log.entries()[i].batch, leader.entries()[i].batch);
  }
}

TEST(KafkaFaults, LeaderDiesTheNextInSyncReplicaLeadsAndNothingIsLost) {
  Lab lab(fast({{"min.insync.replicas", "2"}}));
  const PlaceId place = led_apart(lab);
  for (MessageId i = 1; i <= 5; ++i) ASSERT_EQ(lab.produced(place, lab.batch(i, 1)).error, Error::none);
  lab.run_until(Instant{10'000'000'000});
  const NodeIndex old = lab.leader(place);
  lab.kill(old);
  lab.run_for(Duration::millis(1490));  // a heartbeat came at most 500 ms ago; its session lasts 2 s from there
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
  lab.cut(lab.cluster().process(leader), lab.cluster().process(b));  // alone, and no quorum: the leader cannot drop b
  const std::uint32_t stuck = lab.produce(place, lab.batch(2, 1));
  lab.run_for(Duration::seconds(5));
  EXPECT_EQ(lab.answer<ProduceAnswer>(stuck), nullptr);
  lab.cut(lab.cluster().process(leader), lab.cluster().process(b), false);
  lab.run_for(Duration::millis(10));
  ASSERT_NE(lab.answer<ProduceAnswer>(stuck), nullptr);
  EXPECT_EQ(lab.answer<ProduceAnswer>(stuck)->parts[0].error, Error::none);
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
  ASSERT_EQ(lab.produced(place, lab.batch(4, 1), 1).error, Error::none);  // its replication lets them join again
  lab.run_for(Duration::seconds(1));
  EXPECT_EQ(lab.isr(place), 7);
  EXPECT_EQ(lab.read(place), (Ids{1, 3, 4}));
}

// A leader cut off from the others, but not from its client, goes on taking acks=1; the others elect; what it took is
// cut off when it is back.
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
  lab.cut(lab.cluster().process(leader), lab.cluster().process(follower));  // both still talk with the controller
  const Instant since = lab.now();
  const std::uint32_t c = lab.produce(place, lab.batch(1, 1));
  ASSERT_NE(lab.await<ProduceAnswer>(c), nullptr);
  EXPECT_EQ(lab.answer<ProduceAnswer>(c)->parts[0].error, Error::none);
  EXPECT_GT(lab.answered_at(c) - since, Duration::millis(2500));  // replica.lag.time.max.ms, by half of it, less one wait
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
    Lab lab({.nodes = 5, .broker = with(fast_failover, {{"unclean.leader.election.enable", unclean ? "true" : "false"}}), .replication = 3});
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

TEST(KafkaFaults, ProcessDeathOfAllLosesNothing) {
  Lab lab(fast());
  for (MessageId i = 1; i <= 10; ++i) ASSERT_EQ(lab.produced(0, lab.batch(i, 1)).error, Error::none);
  for (NodeIndex n = 0; n < 3; ++n) lab.kill(n);
  lab.run_for(Duration::seconds(1));
  for (NodeIndex n = 0; n < 3; ++n) lab.start(n);
  lab.run_for(Duration::seconds(15));
  EXPECT_EQ(lab.read(0), range(1, 10));
  EXPECT_EQ(lab.isr(0), 7);
}

TEST(KafkaFaults, PowerLossOfAllLosesWhatWasNotWrittenBack) {
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

TEST(KafkaFaults, PowerLossLaterOrOfOneOrWithFlushLosesNothing) {
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

TEST(KafkaFaults, SingleNodeComesBack) {
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

TEST(KafkaFaults, ControlledShutdownMovesLeadersFirst) {
  Lab lab({});
  const PlaceId place = led_apart(lab);
  ASSERT_EQ(lab.produced(place, lab.batch(1, 1)).error, Error::none);
  const NodeIndex old = lab.leader(place);
  lab.cluster().shut_down(lab.cluster().process(old));
  lab.run_for(Duration::millis(5));
  ASSERT_NE(lab.leader(place), old);
  EXPECT_FALSE(has(lab.isr(place), old));
  const Instant before = lab.now();
  lab.kill(old);
  ASSERT_EQ(lab.produced(place, lab.batch(2, 1)).error, Error::none);
  EXPECT_LT(lab.now() - before, Duration::millis(2));
  lab.start(old);
  lab.run_for(Duration::seconds(5));
  EXPECT_EQ(lab.isr(place), 7);
}

TEST(KafkaFaults, EligibleLeaderReplicas) {  // KIP-966, on from 4.1
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

TEST(KafkaFaults, IdempotentRetryAfterFailoverIsRecognised) {
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

TEST(KafkaFaults, SameSeedSameHistoryOfEvents) {
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

TEST(KafkaFaults, SnapshotsForkARun) {
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
