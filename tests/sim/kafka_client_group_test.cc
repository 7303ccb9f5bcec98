// Membership of a group: the handshake of a rebalance, the poll limit, coordinators that go, by flavour.
#include "tests/sim/kafka_client_lab.h"

namespace mqlab::sim::kafka::client_test {
namespace {

using Ids = std::vector<MessageId>;
using Offsets = std::vector<std::pair<PlaceId, std::int64_t>>;
const auto java = Flavour::java;
const auto librdkafka = Flavour::librdkafka;
const Property earliest = {"auto.offset.reset", "earliest"};
const Property manual = {"enable.auto.commit", "false"};

constexpr Duration ms(std::int64_t n) { return Duration::millis(n); }

class KafkaMemberBoth : public testing::TestWithParam<Flavour> {};
INSTANTIATE_TEST_SUITE_P(Members, KafkaMemberBoth, testing::Values(java, librdkafka),
                         [](const auto& p) { return std::string(name_of(p.param)); });

/// Accepts and releases what it is told; asks for `max` at the start, and again at once after each answer if
/// `again`.
void obey(Puppet& puppet, std::uint32_t max, bool again) {
  puppet.react = [=](const Event& event, Effects& e) {
    if (event.kind == EventKind::start) e.fetch(0, max);
    if (event.kind == EventKind::assigned) e.accept(event.places, event.generation);
    if (event.kind == EventKind::revoking) e.release(event.places, event.generation);
    if (event.kind == EventKind::delivered && again) e.fetch(0, max);
  };
}

void all_partitions(Lab& lab, std::uint32_t partitions) {
  for (PlaceId p = 0; p < partitions; ++p) lab.fakes.assignment.push_back(p);
}

TEST_P(KafkaMemberBoth, ARebalanceWaitsForThePoll) {
  Lab lab(stage_scenario(GetParam(), {earliest, manual}, 2));
  all_partitions(lab, 2);
  lab.fakes.log[0] = {1};
  Puppet& p = lab["work-0"];
  obey(p, 1, false);
  p.at(ms(900), [](Effects& e) { e.fetch(0, 1); });
  lab.run_until(ms(500));
  ASSERT_EQ(p.delivered(), Ids{1});
  lab.cluster().heartbeat(Error::rebalance_in_progress, 1);
  lab.run_until(ms(899));
  EXPECT_TRUE(p.of(EventKind::revoking).empty());
  EXPECT_EQ(lab.fakes.of(RequestKind::join_group).size(), 1u);
  lab.fakes.assignment = {1};
  lab.run_until(ms(1000));
  ASSERT_EQ(p.of(EventKind::revoking).size(), 1u);
  EXPECT_EQ(p.of(EventKind::revoking)[0].ms, 900);
  EXPECT_EQ(p.of(EventKind::revoking)[0].places.size(), 2u);
  EXPECT_FALSE(p.of(EventKind::revoking)[0].lost);
  const auto joins = lab.fakes.of(RequestKind::join_group);
  ASSERT_EQ(joins.size(), 2u);
  EXPECT_EQ(joins[1].member, 7u);
  ASSERT_EQ(p.of(EventKind::assigned).size(), 2u);
  EXPECT_EQ(p.of(EventKind::assigned)[1].places.size(), 1u);
  EXPECT_EQ(p.of(EventKind::assigned)[1].generation, 2u);
}

TEST(KafkaMember, LibrdkafkaHandsOverWhatItHadFetchedBeforeARebalance) {
  Lab lab(stage_scenario(librdkafka, {earliest, manual}));
  all_partitions(lab, 1);
  lab.fakes.log[0] = {1, 2, 3};
  Puppet& p = lab["work-0"];
  obey(p, 1, false);
  for (int i = 0; i < 3; ++i) p.at(ms(600 + 100 * i), [](Effects& e) { e.fetch(0, 1); });
  lab.run_until(ms(500));
  lab.cluster().heartbeat(Error::rebalance_in_progress, 1);
  lab.run_until(ms(2000));
  EXPECT_EQ(p.delivered(), (Ids{1, 2, 3, 1}));  // nothing was committed: from the start again
  ASSERT_EQ(p.of(EventKind::revoking).size(), 1u);
  EXPECT_EQ(p.of(EventKind::revoking)[0].ms, 800);
}

TEST_P(KafkaMemberBoth, AutoCommitComesBeforeTheNextJoin) {
  Lab lab(stage_scenario(GetParam(), {earliest, {"auto.commit.interval.ms", "60000"}}));
  all_partitions(lab, 1);
  lab.fakes.log[0] = {1, 2};
  obey(lab["work-0"], 10, true);
  lab.run_until(ms(500));
  lab.cluster().heartbeat(Error::rebalance_in_progress, 1);
  lab.run_until(ms(1000));
  std::vector<RequestKind> order;
  for (const Got& got : lab.fakes.got) {
    if (got.kind == RequestKind::offset_commit || got.kind == RequestKind::join_group)
      order.push_back(got.kind);
  }
  EXPECT_EQ(order, (std::vector<RequestKind>{RequestKind::join_group, RequestKind::offset_commit,
                                             RequestKind::join_group}));
  EXPECT_EQ(lab.fakes.of(RequestKind::offset_commit)[0].offsets, (Offsets{{0, 2}}));
}

TEST_P(KafkaMemberBoth, CooperativeMembersGiveBackOnlyWhatMoves) {
  const std::string assignor = GetParam() == java
                                   ? "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
                                   : "cooperative-sticky";
  Lab lab(stage_scenario(GetParam(), {earliest, manual, {"partition.assignment.strategy", assignor}}, 2));
  all_partitions(lab, 2);
  Puppet& p = lab["work-0"];
  obey(p, 10, true);
  lab.run_until(ms(500));
  lab.fakes.assignment = {0};
  lab.cluster().heartbeat(Error::rebalance_in_progress, 1);
  lab.run_until(ms(1000));
  const auto joins = lab.fakes.of(RequestKind::join_group);
  ASSERT_EQ(joins.size(), 3u);
  EXPECT_EQ(joins[1].places, (std::vector<PlaceId>{0, 1}));  // still owned while it joins
  EXPECT_EQ(joins[2].places, (std::vector<PlaceId>{0}));     // given back: another round for the new owner
  ASSERT_EQ(p.of(EventKind::revoking).size(), 1u);
  ASSERT_EQ(p.of(EventKind::revoking)[0].places.size(), 1u);
  EXPECT_EQ(p.of(EventKind::revoking)[0].places[0].place, 1u);
  lab.cluster().append(0, 5, 1);
  lab.cluster().append(1, 6, 1);
  lab.run_until(ms(2000));
  EXPECT_EQ(p.delivered(), Ids{5});
}

TEST_P(KafkaMemberBoth, WhoDoesNotPollInTimeLeaves) {
  Lab lab(stage_scenario(
      GetParam(), {earliest, manual, {"max.poll.interval.ms", "6000"}, {"session.timeout.ms", "6000"}}));
  all_partitions(lab, 1);
  lab.fakes.log[0] = {1};
  Puppet& p = lab["work-0"];
  obey(p, 1, false);
  p.at(ms(8000), [](Effects& e) { e.fetch(0, 1); });
  lab.run_until(ms(7000));
  const auto leaves = lab.fakes.of(RequestKind::leave_group);
  ASSERT_EQ(leaves.size(), 1u);
  EXPECT_NEAR(leaves[0].ms, p.of(EventKind::delivered)[0].ms + 6001, 1);
  EXPECT_TRUE(p.of(EventKind::revoking).empty());
  lab.run_until(ms(9000));
  ASSERT_EQ(p.of(EventKind::revoking).size(), 1u);
  EXPECT_TRUE(p.of(EventKind::revoking)[0].lost);
  EXPECT_EQ(p.of(EventKind::revoking)[0].ms, 8000);
  EXPECT_EQ(lab.fakes.of(RequestKind::join_group)[1].member, 0u);  // as a new member
}

TEST_P(KafkaMemberBoth, AWaitingPollIsNoStuckOne) {
  Lab lab(stage_scenario(
      GetParam(), {earliest, manual, {"max.poll.interval.ms", "6000"}, {"session.timeout.ms", "6000"}}));
  all_partitions(lab, 1);
  obey(lab["work-0"], 1, true);
  lab.run_until(Duration::seconds(60));
  EXPECT_TRUE(lab.fakes.of(RequestKind::leave_group).empty());
}

TEST_P(KafkaMemberBoth, AnUnknownMemberLosesItsPartitions) {
  Lab lab(stage_scenario(GetParam(), {earliest, manual}));
  all_partitions(lab, 1);
  Puppet& p = lab["work-0"];
  obey(p, 1, true);
  lab.run_until(ms(500));
  lab.cluster().heartbeat(Error::unknown_member_id, 1);
  lab.run_until(ms(1000));
  ASSERT_EQ(p.of(EventKind::revoking).size(), 1u);
  EXPECT_TRUE(p.of(EventKind::revoking)[0].lost);
  EXPECT_EQ(lab.fakes.of(RequestKind::join_group)[1].member, 0u);
  EXPECT_EQ(p.of(EventKind::assigned).size(), 2u);
}

TEST(KafkaMember, TheCoordinatorDiesAndAHeartbeatGoesToTheNext) {
  for (const Flavour flavour : {java, librdkafka}) {
    Lab lab(stage_scenario(
        flavour, {earliest, manual, {"session.timeout.ms", "6000"}, {"max.poll.interval.ms", "8000"}}, 1, {},
        2));
    all_partitions(lab, 1);
    Puppet& p = lab["work-0"];
    obey(p, 10, true);
    lab.begin();
    lab.fakes.leaders[0] = lab.process("kafka-2");
    lab.run_until(ms(500));
    lab.world->kill(lab.process("kafka-1"), false);
    lab.fakes.coordinator = lab.process("kafka-2");
    lab.run_until(ms(20'000));
    ASSERT_EQ(lab.fakes.of(RequestKind::heartbeat).size(), 1u);
    EXPECT_EQ(lab.fakes.of(RequestKind::heartbeat)[0].node, lab.process("kafka-2"));
    EXPECT_TRUE(p.of(EventKind::revoking).empty());
  }
}

TEST(KafkaMember, WithoutACoordinatorLibrdkafkaGivesUpAfterTheSessionJavaDoesNot) {
  for (const Flavour flavour : {java, librdkafka}) {
    Lab lab(stage_scenario(
        flavour, {earliest, manual, {"session.timeout.ms", "6000"}, {"max.poll.interval.ms", "8000"}}, 1, {},
        2));
    all_partitions(lab, 1);
    Puppet& p = lab["work-0"];
    obey(p, 10, true);
    lab.begin();
    lab.fakes.leaders[0] = lab.process("kafka-2");
    lab.run_until(ms(500));
    lab.fakes.errors[RequestKind::find_coordinator].assign(1000, Error::coordinator_not_available);
    lab.world->kill(lab.process("kafka-1"), false);
    lab.run_until(ms(20'000));
    ASSERT_EQ(p.of(EventKind::revoking).size(), flavour == java ? 0u : 1u);
    if (flavour == librdkafka) {
      EXPECT_TRUE(p.of(EventKind::revoking)[0].lost);
      EXPECT_NEAR(p.of(EventKind::revoking)[0].ms, 6000, 100);
    }
  }
}

TEST_P(KafkaMemberBoth, LeavingTellsTheGroup) {
  Lab lab(stage_scenario(GetParam(), {earliest, {"auto.commit.interval.ms", "60000"}}));
  all_partitions(lab, 1);
  lab.fakes.log[0] = {1, 2};
  Puppet& p = lab["work-0"];
  obey(p, 10, true);
  p.at(ms(500), [](Effects& e) { e.leave(); });
  lab.run_until(ms(1000));
  ASSERT_EQ(p.settled(Kind::leave).size(), 1u);
  EXPECT_EQ(lab.fakes.of(RequestKind::leave_group).size(), 1u);
  EXPECT_EQ(lab.fakes.of(RequestKind::offset_commit)[0].offsets, (Offsets{{0, 2}}));
}

}  // namespace
}  // namespace mqlab::sim::kafka::client_test
