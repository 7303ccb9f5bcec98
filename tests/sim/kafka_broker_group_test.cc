// Kafka's broker: consumer groups of the classic protocol and their offsets.
#include <algorithm>

#include "tests/sim/kafka_broker_fixture.h"

namespace mqlab::sim::kafka {
namespace {

constexpr std::uint32_t group = 1;

/// One member as a client library would lead it, step by step.
struct Consumer {
  std::uint32_t client = 0;
  bool cooperative = false;
  std::uint32_t instance = 0;
  std::uint32_t member = 0;
  std::uint32_t generation = 0;
  std::vector<PlaceId> places = {};
};

struct GroupLab : Lab {
  explicit GroupLab(Options o = {}) : Lab(std::move(o)) {}
  ProcessId coordinator() { return cluster().process(cluster().offsets_of(group).decided.leader); }
  std::uint32_t join(Consumer& c, Duration poll = Duration::seconds(300)) {
    auto* r = make<JoinGroupRequest>(RequestKind::join_group, c.client);
    r->group = group;
    r->member = c.member;
    r->static_instance = c.instance;
    r->session_timeout = Duration::seconds(10);
    r->rebalance_timeout = poll;
    r->cooperative = c.cooperative;
    if (c.cooperative) r->owned.assign(c.places.begin(), c.places.end());
    r->topics.push_back(0);
    return send(coordinator(), r);
  }
  Error joined(Consumer& c, std::uint32_t call) {
    const auto* a = await<JoinGroupAnswer>(call, Duration::seconds(400));
    if (a == nullptr) return Error::timed_out_local;
    if (a->error == Error::none) c.member = a->member, c.generation = a->generation;
    return a->error;
  }
  std::uint32_t sync(Consumer& c) {
    auto* r = make<SyncGroupRequest>(RequestKind::sync_group, c.client);
    r->group = group;
    r->member = c.member;
    r->generation = c.generation;
    return send(coordinator(), r);
  }
  Error synced(Consumer& c, std::uint32_t call) {
    const auto* a = await<SyncGroupAnswer>(call, Duration::seconds(400));
    if (a == nullptr) return Error::timed_out_local;
    c.places.assign(a->places.begin(), a->places.end());
    return a->error;
  }
  /// All join together and are handed out what they get.
  void form(std::vector<Consumer*> members) {
    std::vector<std::uint32_t> calls;
    for (Consumer* c : members) calls.push_back(join(*c));
    for (std::size_t i = 0; i < members.size(); ++i) ASSERT_EQ(joined(*members[i], calls[i]), Error::none);
    calls.clear();
    for (Consumer* c : members) calls.push_back(sync(*c));
    for (std::size_t i = 0; i < members.size(); ++i) ASSERT_EQ(synced(*members[i], calls[i]), Error::none);
  }
  Error commit(const Consumer& c, PlaceId place, std::int64_t offset, std::int64_t epoch = no_epoch) {
    auto* r = make<OffsetCommitRequest>(RequestKind::offset_commit, c.client);
    r->group = group;
    r->member = c.member;
    r->generation = c.generation;
    r->offsets.push_back({place, offset, epoch});
    const auto* a = await<Answer>(send(coordinator(), r));
    return a == nullptr ? Error::timed_out_local : a->error;
  }
  std::int64_t committed(PlaceId place) { return fetched(place).offset; }
  CommittedOffset fetched(PlaceId place) {
    auto* r = make<OffsetFetchRequest>(RequestKind::offset_fetch, 3);
    r->group = group;
    r->places.push_back(place);
    const auto* a = await<OffsetFetchAnswer>(send(coordinator(), r));
    return a == nullptr || a->error != Error::none ? CommittedOffset{place, -2} : a->offsets[0];
  }
  Error heartbeat(const Consumer& c) {
    auto* r = make<HeartbeatRequest>(RequestKind::heartbeat, c.client);
    r->group = group;
    r->member = c.member;
    r->generation = c.generation;
    return await<Answer>(send(coordinator(), r))->error;
  }
};

using Places = std::vector<PlaceId>;

TEST(KafkaGroup, InitialDelayIsExtendedByNewcomers) {
  GroupLab lab;
  Consumer a{0}, b{1};
  const std::uint32_t first = lab.join(a);
  lab.run_until(Instant{2'000'000'000});
  const std::uint32_t second = lab.join(b);
  EXPECT_EQ(lab.joined(a, first), Error::none);
  EXPECT_EQ(lab.joined(b, second), Error::none);
  // 3 s from the first join, and 3 s more as somebody came meanwhile.
  EXPECT_EQ(lab.answered_at(first), Instant{6'000'400'000});
  EXPECT_EQ(a.generation, 1u);
  EXPECT_EQ(b.generation, 1u);
}

TEST(KafkaGroup, RangeAssignmentAndIdleWithoutEvents) {
  GroupLab lab;
  Consumer a{0}, b{1};
  lab.form({&a, &b});
  EXPECT_EQ(a.places, (Places{0, 1}));
  EXPECT_EQ(b.places, (Places{2}));
  const std::uint64_t steps = lab.world.steps();
  lab.run_for(Duration::seconds(200));
  EXPECT_LE(lab.world.steps() - steps, 2u);  // heartbeats cost nothing
}

TEST(KafkaGroup, CommitsAndFencing) {
  GroupLab lab;
  Consumer a{0};
  lab.form({&a});
  EXPECT_EQ(lab.committed(0), -1);
  EXPECT_EQ(lab.commit(a, 0, 5), Error::none);
  EXPECT_EQ(lab.committed(0), 5);
  Consumer wrong = a;
  ++wrong.generation;
  EXPECT_EQ(lab.commit(wrong, 0, 6), Error::illegal_generation);
  wrong = a;
  wrong.member = 999;
  EXPECT_EQ(lab.commit(wrong, 0, 6), Error::unknown_member_id);
  EXPECT_EQ(lab.commit(Consumer{2}, 0, 6),
            Error::unknown_member_id);  // standalone, but somebody is in the group
  EXPECT_EQ(lab.committed(0), 5);
}

TEST(KafkaGroup, NewcomerTriggersRebalanceAtTheNextHeartbeatAndOldCommitsAreTaken) {
  GroupLab lab;
  Consumer a{0}, b{1};
  lab.form({&a});
  lab.run_for(Duration::seconds(10));
  const std::uint32_t call = lab.join(b);
  const Instant asked = lab.now();
  while (lab.clients[0]->beats.empty()) ASSERT_TRUE(lab.world.step());
  EXPECT_EQ(lab.clients[0]->beats[0].error, Error::rebalance_in_progress);
  EXPECT_LE(lab.clients[0]->beats[0].at - asked, Duration::millis(3001));
  EXPECT_EQ(lab.heartbeat(a), Error::rebalance_in_progress);
  EXPECT_EQ(lab.commit(a, 0, 7), Error::none);  // the generation that ends
  const std::uint32_t again = lab.join(a);
  EXPECT_EQ(lab.joined(a, again), Error::none);
  EXPECT_EQ(lab.joined(b, call), Error::none);
  EXPECT_EQ(a.generation, 2u);
  EXPECT_EQ(lab.commit(a, 0, 8), Error::rebalance_in_progress);  // before the assignment is out
  const std::uint32_t sb = lab.sync(b), sa = lab.sync(a);
  EXPECT_EQ(lab.synced(a, sa), Error::none);
  EXPECT_EQ(lab.synced(b, sb), Error::none);
  EXPECT_EQ(a.places.size() + b.places.size(), 3u);
  EXPECT_EQ(lab.commit(a, 0, 8), Error::none);
}

TEST(KafkaGroup, KilledMemberIsOutAfterItsSession) {
  GroupLab lab;
  Consumer a{0}, b{1};
  lab.form({&a, &b});
  const Instant synced_at = lab.now();
  lab.run_for(Duration::seconds(7));
  lab.world.kill(lab.clients[0]->owner, false);
  while (lab.clients[1]->beats.empty()) ASSERT_TRUE(lab.world.step());
  // Its last heartbeat came 6 s after it was handed its partitions; the session of 10 s counts from there;
  // then the other hears of it with its own next heartbeat.
  const Duration after = lab.clients[1]->beats[0].at - synced_at;
  EXPECT_GT(after, Duration::millis(15'990));
  EXPECT_LT(after, Duration::millis(19'010));
  const std::uint32_t again = lab.join(b);
  EXPECT_EQ(lab.joined(b, again), Error::none);
  const std::uint32_t s = lab.sync(b);
  EXPECT_EQ(lab.synced(b, s), Error::none);
  EXPECT_EQ(b.places, (Places{0, 1, 2}));
}

TEST(KafkaGroup, PauseWithinTheSessionIsNotNoticedBeyondItIs) {
  GroupLab lab;
  Consumer a{0}, b{1};
  lab.form({&a, &b});
  lab.world.pause(lab.clients[0]->owner);
  lab.run_for(Duration::seconds(6));
  lab.world.resume(lab.clients[0]->owner);
  lab.run_for(Duration::seconds(30));
  EXPECT_TRUE(lab.clients[1]->beats.empty());
  EXPECT_EQ(lab.heartbeat(a), Error::none);
  lab.world.pause(lab.clients[0]->owner);
  lab.run_for(Duration::seconds(25));
  ASSERT_FALSE(lab.clients[1]->beats.empty());
  EXPECT_EQ(lab.clients[1]->beats[0].error, Error::rebalance_in_progress);
  EXPECT_TRUE(lab.clients[0]->beats.empty());
  lab.world.resume(lab.clients[0]->owner);
  lab.run_for(Duration::millis(2));
  ASSERT_FALSE(lab.clients[0]->beats.empty());
  EXPECT_EQ(lab.clients[0]->beats[0].error, Error::unknown_member_id);
  EXPECT_EQ(lab.commit(a, 0, 3), Error::unknown_member_id);
}

TEST(KafkaGroup, MemberThatDoesNotRejoinInTimeIsOut) {
  GroupLab lab;
  Consumer a{0}, b{1};
  lab.form({&a});
  const std::uint32_t call = lab.join(b, Duration::seconds(20));
  const Instant asked = lab.now();
  lab.run_for(Duration::seconds(299));
  EXPECT_EQ(lab.answer<JoinGroupAnswer>(call), nullptr);  // a's own limit, 300 s, is the longer one
  EXPECT_EQ(lab.joined(b, call), Error::none);
  EXPECT_EQ(lab.answered_at(call) - asked, Duration::seconds(300) + Duration::micros(400));
  lab.run_for(Duration::seconds(4));
  EXPECT_EQ(lab.clients[0]->beats.back().error, Error::unknown_member_id);
}

TEST(KafkaGroup, LeaveRebalancesAtOnce) {
  GroupLab lab;
  Consumer a{0}, b{1};
  lab.form({&a, &b});
  auto* r = lab.make<LeaveGroupRequest>(RequestKind::leave_group, 0);
  r->group = group;
  r->member = a.member;
  EXPECT_EQ(lab.await<Answer>(lab.send(lab.coordinator(), r))->error, Error::none);
  lab.run_for(Duration::seconds(4));
  EXPECT_EQ(lab.clients[1]->beats.size(), 1u);
  EXPECT_TRUE(lab.clients[0]->beats.empty());
}

TEST(KafkaGroup, CooperativeMovesOnlyWhatMustMoveInTwoRounds) {
  GroupLab lab({.partitions = 4});
  Consumer a{0, true}, b{1, true};
  lab.form({&a});
  EXPECT_EQ(a.places, (Places{0, 1, 2, 3}));
  std::uint32_t jb = lab.join(b);
  lab.run_for(Duration::seconds(4));
  std::uint32_t ja = lab.join(a);
  ASSERT_EQ(lab.joined(a, ja), Error::none);
  ASSERT_EQ(lab.joined(b, jb), Error::none);
  std::uint32_t sa = lab.sync(a), sb = lab.sync(b);
  ASSERT_EQ(lab.synced(a, sa), Error::none);
  ASSERT_EQ(lab.synced(b, sb), Error::none);
  EXPECT_EQ(a.places, (Places{0, 1}));
  EXPECT_TRUE(b.places.empty());  // a has yet to release them
  ja = lab.join(a);               // having released, a joins again
  lab.run_for(Duration::seconds(4));
  jb = lab.join(b);
  ASSERT_EQ(lab.joined(a, ja), Error::none);
  ASSERT_EQ(lab.joined(b, jb), Error::none);
  sa = lab.sync(a), sb = lab.sync(b);
  ASSERT_EQ(lab.synced(a, sa), Error::none);
  ASSERT_EQ(lab.synced(b, sb), Error::none);
  EXPECT_EQ(a.places, (Places{0, 1}));
  EXPECT_EQ(b.places, (Places{2, 3}));
}

TEST(KafkaGroup, StaticMemberComesBackWithoutRebalance) {
  GroupLab lab;
  Consumer a{0, false, 1}, b{1, false, 2};
  lab.form({&a, &b});
  const Consumer before = b;
  Consumer back{2, false, 2};
  const std::uint32_t j = lab.join(back);
  EXPECT_EQ(lab.joined(back, j), Error::none);
  EXPECT_EQ(back.generation, before.generation);
  EXPECT_NE(back.member, before.member);
  const std::uint32_t s = lab.sync(back);
  EXPECT_EQ(lab.synced(back, s), Error::none);
  EXPECT_EQ(back.places, before.places);
  EXPECT_EQ(lab.commit(before, 2, 1), Error::unknown_member_id);
}

TEST(KafkaGroup, SessionTimeoutOutOfRange) {
  GroupLab lab;
  auto* r = lab.make<JoinGroupRequest>(RequestKind::join_group, 0);
  r->group = group;
  r->session_timeout = Duration::seconds(5);
  r->rebalance_timeout = Duration::seconds(60);
  EXPECT_EQ(lab.await<JoinGroupAnswer>(lab.send(lab.coordinator(), r))->error,
            Error::invalid_session_timeout);
}

// Group, generation and offsets are in the log: a new coordinator goes on with them.
TEST(KafkaGroup, CoordinatorFailsOver) {
  GroupLab lab({.broker = with(fast_failover, {{"min.insync.replicas", "2"}})});
  Consumer a{0}, b{1};
  lab.form({&a, &b});
  ASSERT_EQ(lab.commit(a, 0, 42), Error::none);
  const ProcessId old = lab.coordinator();
  lab.world.kill(old, false);
  lab.run_for(Duration::seconds(6));
  ASSERT_NE(lab.coordinator(), old);
  EXPECT_EQ(lab.committed(0), 42);
  EXPECT_EQ(lab.heartbeat(a), Error::none);
  EXPECT_EQ(lab.commit(b, 2, 7), Error::none);
  lab.run_for(Duration::seconds(60));  // alive members stay
  EXPECT_EQ(lab.heartbeat(b), Error::none);
  lab.cluster().audit();
  std::vector<std::pair<PlaceId, std::int64_t>> offsets;
  for (std::size_t i = 0; i < lab.world.history().size(); ++i) {
    const Row& row = lab.world.history()[i];
    if (row.kind == Kind::audit && row.op == 1) offsets.emplace_back(row.place, row.position);
  }
  EXPECT_EQ(offsets, (std::vector<std::pair<PlaceId, std::int64_t>>{{0, 42}, {2, 7}}));
}

TEST(KafkaGroup, NotCoordinator) {
  GroupLab lab;
  auto* f = lab.make<FindCoordinatorRequest>(RequestKind::find_coordinator, 0);
  f->key = group;
  const ProcessId found = lab.await<FindCoordinatorAnswer>(lab.send(lab.node(0), f))->node;
  EXPECT_EQ(found, lab.coordinator());
  auto* r = lab.make<OffsetFetchRequest>(RequestKind::offset_fetch, 0);
  r->group = group;
  EXPECT_EQ(lab.await<OffsetFetchAnswer>(lab.send(static_cast<ProcessId>((found + 1) % 3), r))->error,
            Error::not_coordinator);
}

TEST(KafkaGroup, OffsetsOfAnEmptyGroupAreForgottenAtALookAfterTheirRetention) {
  GroupLab lab({.broker = {{"offsets.retention.minutes", "5"}}});
  Consumer a{0};
  lab.form({&a});
  ASSERT_EQ(lab.commit(a, 0, 7), Error::none);
  lab.world.kill(lab.clients[0]->owner, false);
  lab.run_until(Instant{599'000'000'000});  // empty since some 14 s, forgotten from 314 s on
  EXPECT_EQ(lab.committed(0), 7);
  lab.run_until(Instant{601'000'000'000});  // looks come every 10 min
  EXPECT_EQ(lab.committed(0), -1);
  lab.kill(lab.cluster().offsets_of(group).decided.leader);
  lab.run_for(Duration::seconds(30));
  EXPECT_EQ(lab.committed(0), -1);  // the log says so, too
}

TEST(KafkaGroup, ACommitsEpochStandsInTheGroupsLog) {
  GroupLab lab(fast());
  Consumer a{0};
  lab.form({&a});
  ASSERT_EQ(lab.commit(a, 0, 7, 3), Error::none);
  ASSERT_EQ(lab.commit(a, 1, 8), Error::none);
  EXPECT_EQ(lab.fetched(0).epoch, 3);
  lab.kill(lab.cluster().offsets_of(group).decided.leader);
  lab.run_for(Duration::seconds(30));
  EXPECT_EQ(lab.committed(0), 7);
  EXPECT_EQ(lab.fetched(0).epoch, 3);
  EXPECT_EQ(lab.committed(1), 8);
  EXPECT_EQ(lab.fetched(1).epoch, no_epoch);
}

TEST(KafkaGroup, OffsetsOfAGroupWithMembersAreKept) {
  GroupLab lab({.broker = {{"offsets.retention.minutes", "5"}}});
  Consumer a{0};
  lab.form({&a});
  ASSERT_EQ(lab.commit(a, 0, 7), Error::none);
  lab.run_until(Instant{1'900'000'000'000});
  EXPECT_EQ(lab.committed(0), 7);
}

}  // namespace
}  // namespace mqlab::sim::kafka
