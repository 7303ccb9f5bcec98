// Kafka's broker: groups of the consumer protocol (KIP-848).
#include "tests/sim/kafka_broker_fixture.h"

namespace mqlab::sim::kafka {
namespace {

constexpr std::uint32_t group = 1;
using Places = std::vector<PlaceId>;

/// One member as a client library would lead it, step by step.
struct Modern {
  std::uint32_t client = 0;
  std::uint32_t instance = 0;
  std::uint32_t member = 0;
  std::uint32_t epoch = 0;
  Places holds = {};  ///< what it reports
  Places told = {};   ///< what it may hold
};

struct ConsumerGroupLab : Lab {
  explicit ConsumerGroupLab(Options o = {}) : Lab(std::move(o)) {}
  ProcessId coordinator() { return cluster().process(cluster().offsets_of(group).decided.leader); }
  Error report(Modern& m) {
    auto* r = make<HeartbeatRequest>(RequestKind::heartbeat, m.client);
    r->group = group;
    r->member = m.member;
    r->generation = m.epoch;
    r->consumer_protocol = true;
    r->static_instance = m.instance;
    r->rebalance_timeout = Duration::seconds(30);
    r->owned.assign(m.holds.begin(), m.holds.end());
    r->topics.push_back(0);
    const auto* a = await<HeartbeatAnswer>(send(coordinator(), r));
    if (a == nullptr) return Error::timed_out_local;
    if (a->error != Error::none) return a->error;
    m.member = a->member;
    m.epoch = a->generation;
    m.told.assign(a->places.begin(), a->places.end());
    return Error::none;
  }
  /// Reports, and takes or gives back what it is told.
  void follow(Modern& m) {
    ASSERT_EQ(report(m), Error::none);
    m.holds = m.told;
  }
  /// How often it has been told that there is news.
  std::size_t news(const Modern& m) const {
    return static_cast<std::size_t>(std::count_if(
        clients[m.client]->beats.begin(), clients[m.client]->beats.end(), [&](const BareClient::Beat& b) {
          return b.member == m.member && b.error == Error::rebalance_in_progress;
        }));
  }
  Error commit(const Modern& m, std::int64_t offset) {
    auto* r = make<OffsetCommitRequest>(RequestKind::offset_commit, m.client);
    r->group = group;
    r->member = m.member;
    r->generation = m.epoch;
    r->offsets.push_back({0, offset});
    return await<Answer>(send(coordinator(), r))->error;
  }
};

TEST(KafkaConsumerGroup, TheFirstMemberGetsAllAtOnce) {
  ConsumerGroupLab lab;
  Modern a{0};
  const Instant asked = lab.now();
  lab.follow(a);
  EXPECT_EQ(a.told, (Places{0, 1, 2}));
  EXPECT_EQ(a.epoch, 1u);
  EXPECT_LT(lab.now() - asked, Duration::millis(5));  // no initial delay
}

TEST(KafkaConsumerGroup, APartitionIsGivenOnWhenItsHolderHasReportedThatItLetGo) {
  ConsumerGroupLab lab;
  Modern a{0}, b{1};
  lab.follow(a);
  lab.follow(b);
  EXPECT_TRUE(b.told.empty());  // all is held still
  EXPECT_EQ(b.epoch, 2u);
  lab.run_for(Duration::seconds(6));
  EXPECT_EQ(lab.news(a), 1u);
  ASSERT_EQ(lab.report(a), Error::none);
  EXPECT_EQ(a.told.size(), 2u);
  EXPECT_EQ(a.epoch, 1u);  // until it has let go
  lab.follow(b);
  EXPECT_TRUE(b.told.empty());
  a.holds = a.told;
  lab.follow(a);
  EXPECT_EQ(a.epoch, 2u);
  lab.run_for(Duration::seconds(6));
  EXPECT_EQ(lab.news(b), 1u);
  lab.follow(b);
  EXPECT_EQ(b.told, (Places{2}));
  EXPECT_EQ(a.told, (Places{0, 1}));  // kept all the while
}

TEST(KafkaConsumerGroup, CommitsNeedTheMembersEpoch) {
  ConsumerGroupLab lab;
  Modern a{0}, b{1};
  lab.follow(a);
  EXPECT_EQ(lab.commit(a, 5), Error::none);
  lab.follow(b);
  EXPECT_EQ(lab.commit(a, 6), Error::none);  // it has not followed yet: its epoch is the old one
  Modern stale = a;
  ++stale.epoch;
  EXPECT_EQ(lab.commit(stale, 7), Error::stale_member_epoch);
  stale = a;
  stale.member = 999;
  EXPECT_EQ(lab.commit(stale, 7), Error::unknown_member_id);
}

TEST(KafkaConsumerGroup, ADeadMembersPartitionsGoToTheOthersAfterItsSession) {
  ConsumerGroupLab lab;
  Modern a{0}, b{1};
  lab.follow(a);
  lab.follow(b);
  ASSERT_EQ(lab.report(a), Error::none);
  a.holds = a.told;
  lab.follow(a);
  lab.follow(b);
  ASSERT_EQ(b.told, (Places{2}));
  lab.world.kill(lab.clients[0]->owner, false);
  lab.run_for(Duration::seconds(44));
  lab.follow(b);
  EXPECT_EQ(b.told, (Places{2}));
  lab.run_for(Duration::seconds(7));
  lab.follow(b);
  EXPECT_EQ(b.told, (Places{0, 1, 2}));
}

TEST(KafkaConsumerGroup, WhoDoesNotLetGoInTimeIsFenced) {
  ConsumerGroupLab lab;
  Modern a{0}, b{1};
  lab.follow(a);
  lab.follow(b);
  ASSERT_EQ(lab.report(a), Error::none);
  ASSERT_EQ(a.told.size(), 2u);
  lab.run_for(Duration::seconds(31));  // holds all three still
  EXPECT_EQ(lab.report(a), Error::unknown_member_id);
  lab.follow(b);
  EXPECT_EQ(b.told, (Places{0, 1, 2}));
}

TEST(KafkaConsumerGroup, AnOldEpochIsFenced) {
  ConsumerGroupLab lab;
  Modern a{0};
  lab.follow(a);
  Modern other = a;
  other.epoch = 9;
  EXPECT_EQ(lab.report(other), Error::fenced_member_epoch);
}

TEST(KafkaConsumerGroup, AStaticMembersPlaceIsTakenUntilItsSessionEnds) {
  ConsumerGroupLab lab;
  Modern a{0, 7}, again{1, 7};
  lab.follow(a);
  lab.world.kill(lab.clients[0]->owner, false);
  EXPECT_EQ(lab.report(again), Error::unreleased_instance_id);
  lab.run_for(Duration::seconds(46));
  lab.follow(again);
  EXPECT_EQ(again.told, (Places{0, 1, 2}));
}

TEST(KafkaConsumerGroup, TheNextCoordinatorKnowsWhoHoldsWhat) {
  ConsumerGroupLab lab({.broker = {{"broker.session.timeout.ms", "2000"},
                                   {"broker.heartbeat.interval.ms", "500"},
                                   {"replica.lag.time.max.ms", "3000"},
                                   {"controller.quorum.fetch.timeout.ms", "1000"},
                                   {"controller.quorum.election.timeout.ms", "500"},
                                   {"controller.quorum.election.backoff.max.ms", "250"}}});
  Modern a{0}, b{1};
  lab.follow(a);
  lab.follow(b);
  const ProcessId old = lab.coordinator();
  lab.world.kill(old, false);
  lab.run_for(Duration::seconds(6));
  ASSERT_NE(lab.coordinator(), old);
  ASSERT_EQ(lab.report(a), Error::none);
  EXPECT_EQ(a.told.size(), 2u);
  a.holds = a.told;
  lab.follow(a);
  lab.follow(b);
  EXPECT_EQ(b.told.size(), 1u);
}

}  // namespace
}  // namespace mqlab::sim::kafka
