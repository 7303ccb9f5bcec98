// The consumer: from assignment to records, commits and auto-commit by flavour, fetching ahead.
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

class KafkaConsumerBoth : public testing::TestWithParam<Flavour> {};
INSTANTIATE_TEST_SUITE_P(Consumers, KafkaConsumerBoth, testing::Values(java, librdkafka),
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

TEST_P(KafkaConsumerBoth, JoinsSyncsAsksForOffsetsAndReads) {
  Lab lab(stage_scenario(GetParam(), {earliest, manual}, 2));
  all_partitions(lab, 2);
  lab.fakes.committed[1] = 2;
  lab.fakes.log[0] = {1, 2};
  lab.fakes.log[1] = {11, 12, 13};
  obey(lab["work-0"], 100, true);
  lab.run_until(ms(1000));
  const auto assigned = lab["work-0"].of(EventKind::assigned);
  ASSERT_EQ(assigned.size(), 1u);
  EXPECT_EQ(assigned[0].generation, 1u);
  ASSERT_EQ(assigned[0].places.size(), 2u);
  EXPECT_EQ(assigned[0].places[0].position, -1);
  EXPECT_EQ(assigned[0].places[1].position, 2);
  Ids read = lab["work-0"].delivered();
  std::sort(read.begin(), read.end());
  EXPECT_EQ(read, (Ids{1, 2, 13}));
  EXPECT_EQ(lab.fakes.of(RequestKind::list_offsets).size(), 1u);
}

TEST_P(KafkaConsumerBoth, NothingIsReadBeforeAccept) {
  Lab lab(stage_scenario(GetParam(), {earliest, manual}));
  all_partitions(lab, 1);
  lab.fakes.log[0] = {1};
  Puppet& p = lab["work-0"];
  p.react = [](const Event& event, Effects& e) {
    if (event.kind == EventKind::start) e.fetch(0, 10);
  };
  p.at(ms(500), [](Effects& e) {
    const PlacePosition start = {0, 0};
    e.accept({&start, 1}, 1);
  });
  lab.run_until(ms(499));
  EXPECT_TRUE(lab.fakes.of(RequestKind::fetch).empty());
  lab.run_until(ms(600));
  EXPECT_EQ(p.delivered(), Ids{1});
}

TEST_P(KafkaConsumerBoth, LatestSkipsWhatIsThereNoneFailsTheFetch) {
  Lab lab(stage_scenario(GetParam(), {{"auto.offset.reset", "latest"}, manual}));
  all_partitions(lab, 1);
  lab.fakes.log[0] = {1, 2, 3};
  obey(lab["work-0"], 10, true);
  lab.run_until(ms(500));
  lab.cluster().append(0, 4, 1);
  lab.run_until(ms(1000));
  EXPECT_EQ(lab["work-0"].delivered(), Ids{4});

  Lab none(
      stage_scenario(GetParam(), {{"auto.offset.reset", GetParam() == java ? "none" : "error"}, manual}));
  all_partitions(none, 1);
  obey(none["work-0"], 10, true);
  none.run_until(ms(500));
  ASSERT_EQ(none["work-0"].settled(Kind::fetch).size(), 1u);
  EXPECT_EQ(none["work-0"].settled(Kind::fetch)[0].error, ErrorClass::fatal);
}

TEST(KafkaConsumer, LibrdkafkaCommitsTheRecordInHand) {
  Lab lab(stage_scenario(librdkafka, {earliest, {"auto.commit.interval.ms", "200"}}));
  all_partitions(lab, 1);
  lab.fakes.log[0] = {1, 2, 3};
  Puppet& p = lab["work-0"];
  obey(p, 1, false);
  p.at(ms(450), [](Effects& e) { e.fetch(0, 1); });  // the first record took so long
  lab.run_until(ms(449));
  const auto commits = lab.fakes.of(RequestKind::offset_commit);
  ASSERT_EQ(commits.size(), 1u);  // once: nothing new was stored since
  EXPECT_EQ(commits[0].ms, 201);  // the timer's beat since the client began, 1 ms on the wire
  EXPECT_EQ(commits[0].offsets, (Offsets{{0, 1}}));
  lab.run_until(ms(700));
  EXPECT_EQ(lab.fakes.of(RequestKind::offset_commit).back().offsets, (Offsets{{0, 2}}));
  EXPECT_EQ(lab.fakes.of(RequestKind::offset_commit).size(), 2u);
}

TEST(KafkaConsumer, JavaCommitsAtAPollWhatEarlierPollsReturned) {
  Lab lab(stage_scenario(java, {earliest, {"auto.commit.interval.ms", "200"}}));
  all_partitions(lab, 1);
  lab.fakes.log[0] = {1, 2, 3};
  Puppet& p = lab["work-0"];
  obey(p, 1, false);
  p.at(ms(450), [](Effects& e) { e.fetch(0, 1); });
  lab.run_until(ms(449));
  EXPECT_TRUE(lab.fakes.of(RequestKind::offset_commit).empty());
  lab.run_until(ms(460));
  const auto commits = lab.fakes.of(RequestKind::offset_commit);
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(commits[0].offsets, (Offsets{{0, 1}}));  // not record 2, which this very poll returns
  EXPECT_EQ(p.delivered(), (Ids{1, 2}));
}

TEST(KafkaConsumer, WithoutStoringNothingIsCommitted) {
  Lab lab(stage_scenario(
      librdkafka, {earliest, {"auto.commit.interval.ms", "100"}, {"enable.auto.offset.store", "false"}}));
  all_partitions(lab, 1);
  lab.fakes.log[0] = {1};
  obey(lab["work-0"], 1, true);
  lab.run_until(ms(2000));
  EXPECT_TRUE(lab.fakes.of(RequestKind::offset_commit).empty());
}

TEST_P(KafkaConsumerBoth, ACommitIsTriedAgainAtTheNewCoordinator) {
  Lab lab(stage_scenario(GetParam(), {earliest, manual}, 1, {}, 2));
  all_partitions(lab, 1);
  Puppet& p = lab["work-0"];
  obey(p, 1, true);
  lab.fakes.errors[RequestKind::offset_commit] = {Error::not_coordinator,
                                                  Error::coordinator_load_in_progress};
  p.at(ms(500), [](Effects& e) {
    const PlacePosition at = {0, 3};
    e.commit({&at, 1}, true, 1);
  });
  lab.run_until(ms(2000));
  EXPECT_EQ(lab.fakes.of(RequestKind::offset_commit).size(), 3u);
  ASSERT_EQ(p.settled(Kind::commit).size(), 1u);
  EXPECT_EQ(p.settled(Kind::commit)[0].outcome, Outcome::ok);
  EXPECT_EQ(lab.fakes.of(RequestKind::find_coordinator).size(), 2u);
}

TEST(KafkaConsumer, JavaDoesNotTryAnAsynchronousCommitAgain) {
  Lab lab(stage_scenario(java, {earliest, manual}));
  all_partitions(lab, 1);
  Puppet& p = lab["work-0"];
  obey(p, 1, true);
  lab.fakes.errors[RequestKind::offset_commit] = {Error::not_coordinator};
  p.at(ms(500), [](Effects& e) {
    const PlacePosition at = {0, 3};
    e.commit({&at, 1}, false, 1);
  });
  lab.run_until(ms(2000));
  EXPECT_EQ(lab.fakes.of(RequestKind::offset_commit).size(), 1u);
  EXPECT_EQ(p.settled(Kind::commit)[0].outcome, Outcome::fail);
  EXPECT_EQ(p.settled(Kind::commit)[0].error, ErrorClass::retriable);
}

TEST_P(KafkaConsumerBoth, ACommitOfAnOldGenerationFailsAndThePartitionsAreLost) {
  Lab lab(stage_scenario(GetParam(), {earliest, manual}));
  all_partitions(lab, 1);
  Puppet& p = lab["work-0"];
  obey(p, 1, true);
  lab.fakes.errors[RequestKind::offset_commit] = {Error::illegal_generation};
  p.at(ms(500), [](Effects& e) {
    const PlacePosition at = {0, 3};
    e.commit({&at, 1}, true, 1);
  });
  lab.run_until(ms(2000));
  EXPECT_EQ(p.settled(Kind::commit)[0].outcome, Outcome::fail);
  ASSERT_EQ(p.of(EventKind::revoking).size(), 1u);
  EXPECT_TRUE(p.of(EventKind::revoking)[0].lost);
}

TEST(KafkaConsumer, JavaFetchesOneAnswerAheadLibrdkafkaUntilItsQueueIsFull) {
  for (const Flavour flavour : {java, librdkafka}) {
    Properties settings = {earliest, manual};
    if (flavour == librdkafka) settings.push_back({"queued.min.messages", "30"});
    Lab lab(stage_scenario(flavour, settings));
    all_partitions(lab, 1);
    for (MessageId id = 1; id <= 100; ++id) lab.fakes.log[0].push_back(id);
    lab.fakes.fetch_batch = 10;
    obey(lab["work-0"], 5, false);
    lab.run_until(ms(1000));
    EXPECT_EQ(lab["work-0"].delivered(), (Ids{1, 2, 3, 4, 5}));
    EXPECT_EQ(lab.fakes.of(RequestKind::fetch).size(), flavour == java ? 1u : 4u);
  }
}

TEST(KafkaConsumer, LibrdkafkaBeginsEachFetchWithTheNextPartition) {
  for (const Flavour flavour : {java, librdkafka}) {
    Lab lab(stage_scenario(flavour, {earliest, manual}, 2));
    all_partitions(lab, 2);
    for (MessageId id = 1; id <= 40; ++id) lab.fakes.log[id % 2].push_back(id);
    lab.fakes.fetch_batch = 5;
    obey(lab["work-0"], 100, true);
    lab.run_until(ms(1000));
    std::vector<PlaceId> first;
    for (const Got& got : lab.fakes.of(RequestKind::fetch)) {
      if (got.offsets.size() == 2) first.push_back(got.offsets[0].first);
    }
    ASSERT_GE(first.size(), 4u);
    first.resize(4);
    EXPECT_EQ(first,
              flavour == java ? (std::vector<PlaceId>{0, 0, 0, 0}) : (std::vector<PlaceId>{1, 0, 1, 0}));
  }
}

TEST(KafkaConsumer, JavaReturnsAtMostMaxPollRecords) {
  Lab lab(stage_scenario(java, {earliest, manual, {"max.poll.records", "3"}}));
  all_partitions(lab, 1);
  lab.fakes.log[0] = {1, 2, 3, 4, 5};
  obey(lab["work-0"], 100, true);
  lab.run_until(ms(1000));
  const auto polls = lab["work-0"].of(EventKind::delivered);
  ASSERT_EQ(polls.size(), 2u);
  EXPECT_EQ(polls[0].messages, (Ids{1, 2, 3}));
  EXPECT_EQ(polls[1].messages, (Ids{4, 5}));
}

TEST_P(KafkaConsumerBoth, AnEmptyPollEndsAfterItsWait) {
  Lab lab(stage_scenario(GetParam(), {earliest, manual}));
  all_partitions(lab, 1);
  Puppet& p = lab["work-0"];
  obey(p, 1, false);
  p.react = [](const Event& event, Effects& e) {
    if (event.kind == EventKind::start) e.fetch(0, 1, ms(250));
    if (event.kind == EventKind::assigned) e.accept(event.places, event.generation);
  };
  lab.run_until(ms(1000));
  ASSERT_EQ(p.of(EventKind::delivered).size(), 1u);
  EXPECT_EQ(p.of(EventKind::delivered)[0].ms, 250);
  EXPECT_TRUE(p.of(EventKind::delivered)[0].messages.empty());
}

TEST_P(KafkaConsumerBoth, ASeekGoesOutWhenTheWaitingFetchWouldHaveEnded) {
  const std::string wait = GetParam() == java ? "fetch.max.wait.ms" : "fetch.wait.max.ms";
  Lab lab(stage_scenario(GetParam(), {earliest, manual, {wait, "100"}}));
  all_partitions(lab, 1);
  lab.fakes.log[0] = {1, 2};
  Puppet& p = lab["work-0"];
  obey(p, 10, true);
  p.at(ms(520), [](Effects& e) {
    const PlacePosition to = {0, 1};
    e.seek({&to, 1});
  });
  lab.run_until(ms(1000));
  EXPECT_EQ(p.delivered(), (Ids{1, 2, 2}));
  const auto fetches = lab.fakes.of(RequestKind::fetch);
  const std::int64_t first_idle = fetches[1].ms - 1;
  const std::int64_t again = fetches[2].ms - 1;
  EXPECT_EQ((again - first_idle) % 100, 0);
  EXPECT_GE(again, 520);
  EXPECT_LT(again, 621);
}

TEST_P(KafkaConsumerBoth, APausedPartitionIsNotRead) {
  Lab lab(stage_scenario(GetParam(), {earliest, manual}, 2));
  all_partitions(lab, 2);
  Puppet& p = lab["work-0"];
  obey(p, 10, true);
  p.at(ms(300), [](Effects& e) {
    const PlacePosition place = {0, -1};
    e.pause({&place, 1});
  });
  p.at(ms(2000), [](Effects& e) {
    const PlacePosition place = {0, -1};
    e.resume({&place, 1});
  });
  lab.run_until(ms(1000));
  lab.cluster().append(0, 1, 1);
  lab.cluster().append(1, 2, 1);
  lab.run_until(ms(1999));
  EXPECT_EQ(p.delivered(), Ids{2});
  lab.run_until(ms(3000));
  EXPECT_EQ(p.delivered(), (Ids{2, 1}));
}

TEST_P(KafkaConsumerBoth, ReadsOnAtTheNewLeader) {
  Lab lab(stage_scenario(GetParam(), {earliest, manual}, 1, {}, 2));
  all_partitions(lab, 1);
  Puppet& p = lab["work-0"];
  obey(p, 10, true);
  lab.fakes.log[0] = {1};
  lab.begin();
  lab.fakes.coordinator = lab.process("kafka-2");
  lab.run_until(ms(500));
  EXPECT_EQ(p.delivered(), Ids{1});
  lab.world->kill(lab.process("kafka-1"), false);
  lab.run_until(ms(1000));
  lab.fakes.leaders[0] = lab.process("kafka-2");
  lab.run_until(ms(3500));
  lab.cluster().append(0, 2, 1);
  lab.run_until(ms(4000));
  EXPECT_EQ(p.delivered(), (Ids{1, 2}));
}

}  // namespace
}  // namespace mqlab::sim::kafka::client_test
