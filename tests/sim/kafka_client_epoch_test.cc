// What the flavours know of leader epochs: java's fetches and commits carry them (KIP-320), librdkafka's do
// not.
#include "tests/sim/kafka_client_lab.h"

namespace mqlab::sim::kafka::client_test {
namespace {

using Ids = std::vector<MessageId>;
using Epochs = std::vector<std::int64_t>;
using Offsets = std::vector<std::pair<PlaceId, std::int64_t>>;

constexpr Duration ms(std::int64_t n) { return Duration::millis(n); }

Properties reading(const std::string& reset) {
  return {{"auto.offset.reset", reset}, {"enable.auto.commit", "false"}};
}

/// A member that takes what it is given and reads for ever; the log of its one partition has three records.
struct Reader {
  explicit Reader(Flavour flavour, const Properties& consumer = reading("earliest"))
      : lab(stage_scenario(flavour, consumer)) {
    lab.fakes.assignment = {0};
    lab.fakes.log[0] = {1, 2, 3};
    puppet().react = [](const Event& event, Effects& e) {
      if (event.kind == EventKind::start) e.fetch(0, 100);
      if (event.kind == EventKind::assigned) e.accept(event.places, event.generation);
      if (event.kind == EventKind::delivered) e.fetch(0, 100);
    };
  }
  Puppet& puppet() { return lab["work-0"]; }
  Lab lab;
};

TEST(KafkaConsumerEpochs, JavaAsksTheLeaderWhetherItsLogHoldsWhatWasCommitted) {
  Reader reader(Flavour::java);
  reader.lab.fakes.committed[0] = 2;
  reader.lab.fakes.committed_epoch[0] = 1;
  reader.lab.run_until(ms(1000));
  const auto asked = reader.lab.fakes.of(RequestKind::offset_for_leader_epoch);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].epochs, Epochs{1});
  EXPECT_EQ(reader.puppet().delivered(), Ids{3});
  const auto fetches = reader.lab.fakes.of(RequestKind::fetch);
  ASSERT_FALSE(fetches.empty());
  EXPECT_EQ(fetches[0].epochs, Epochs{1});
}

TEST(KafkaConsumerEpochs, JavaGoesBackToTheEndOfACommitsEpoch) {
  Reader reader(Flavour::java);
  reader.lab.fakes.committed[0] = 10;
  reader.lab.fakes.committed_epoch[0] = 1;
  reader.lab.run_until(ms(1000));
  EXPECT_TRUE(reader.puppet().delivered().empty());
  reader.lab.cluster().append(0, 4, 1);
  reader.lab.run_until(ms(2000));
  EXPECT_EQ(reader.puppet().delivered(), Ids{4});
  EXPECT_TRUE(reader.lab.fakes.of(RequestKind::list_offsets).empty());
}

TEST(KafkaConsumerEpochs, WithoutAnEpochAnOffsetBeyondTheEndIsResetInBothFlavours) {
  for (const Flavour flavour : {Flavour::java, Flavour::librdkafka}) {
    Reader reader(flavour);
    reader.lab.fakes.committed[0] = 10;
    reader.lab.run_until(ms(2000));
    EXPECT_EQ(reader.puppet().delivered(), (Ids{1, 2, 3}));
    EXPECT_TRUE(reader.lab.fakes.of(RequestKind::offset_for_leader_epoch).empty());
  }
}

TEST(KafkaConsumerEpochs, LibrdkafkaKnowsNothingOfThem) {
  Reader reader(Flavour::librdkafka);
  reader.lab.fakes.committed[0] = 10;
  reader.lab.fakes.committed_epoch[0] = 1;
  reader.lab.run_until(ms(2000));
  EXPECT_EQ(reader.puppet().delivered(), (Ids{1, 2, 3}));
  for (const Got& fetch : reader.lab.fakes.of(RequestKind::fetch)) EXPECT_EQ(fetch.epochs, Epochs{no_epoch});
}

TEST(KafkaConsumerEpochs, WithoutAResetTheFetchFails) {
  Reader reader(Flavour::java, reading("none"));
  reader.lab.fakes.committed[0] = 10;
  reader.lab.fakes.committed_epoch[0] = 1;
  reader.lab.run_until(ms(2000));
  const auto settled = reader.puppet().settled(Kind::fetch);
  ASSERT_EQ(settled.size(), 1u);
  EXPECT_EQ(settled[0].outcome, Outcome::fail);
}

TEST(KafkaConsumerEpochs, AskingIsTriedAgain) {
  Reader reader(Flavour::java);
  reader.lab.fakes.committed[0] = 2;
  reader.lab.fakes.committed_epoch[0] = 1;
  reader.lab.fakes.errors[RequestKind::offset_for_leader_epoch] = {Error::not_leader_or_follower,
                                                                   Error::unknown_leader_epoch};
  reader.lab.run_until(ms(2000));
  const auto asked = reader.lab.fakes.of(RequestKind::offset_for_leader_epoch);
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_GE(asked[1].ms - asked[0].ms, 100);  // retry.backoff.ms
  EXPECT_EQ(reader.puppet().delivered(), Ids{3});
}

TEST(KafkaConsumerEpochs, ACommitOfThePositionCarriesItsEpochAndNoOtherOne) {
  for (const Flavour flavour : {Flavour::java, Flavour::librdkafka}) {
    Reader reader(flavour);
    const auto commit = [](std::int64_t offset) {
      return [offset](Effects& e) {
        const PlacePosition at = {0, offset};
        e.commit({&at, 1}, true, 1);
      };
    };
    reader.puppet().at(ms(1500), commit(3));
    reader.puppet().at(ms(1600), commit(2));
    reader.lab.run_until(ms(2000));
    const auto commits = reader.lab.fakes.of(RequestKind::offset_commit);
    ASSERT_EQ(commits.size(), 2u);
    EXPECT_EQ(commits[0].offsets, (Offsets{{0, 3}}));
    EXPECT_EQ(commits[0].epochs, Epochs{flavour == Flavour::java ? 1 : no_epoch});
    EXPECT_EQ(commits[1].epochs, Epochs{no_epoch});
  }
}

TEST(KafkaConsumerEpochs, AutomaticCommitsCarryTheEpoch) {
  Reader reader(Flavour::java, {{"auto.offset.reset", "earliest"}, {"auto.commit.interval.ms", "500"}});
  reader.lab.run_until(ms(5000));
  const auto commits = reader.lab.fakes.of(RequestKind::offset_commit);
  ASSERT_FALSE(commits.empty());
  EXPECT_EQ(commits.back().offsets, (Offsets{{0, 3}}));
  EXPECT_EQ(commits.back().epochs, Epochs{1});
}

TEST(KafkaConsumerEpochs, WhereItWentBackToIsCommittedWithoutAnotherRecord) {
  Reader reader(Flavour::java, {{"auto.offset.reset", "earliest"}, {"auto.commit.interval.ms", "500"}});
  reader.lab.fakes.committed[0] = 10;
  reader.lab.fakes.committed_epoch[0] = 1;
  reader.lab.run_until(ms(5000));
  const auto commits = reader.lab.fakes.of(RequestKind::offset_commit);
  ASSERT_FALSE(commits.empty());
  EXPECT_EQ(commits.back().offsets, (Offsets{{0, 3}}));
}

// Metadata.updateLastSeenEpochIfNewer: the leader that the metadata show is of the past.
TEST(KafkaConsumerEpochs, AnEpochAboveTheMetadatasWaitsForNewerOnes) {
  Reader reader(Flavour::java);
  reader.lab.fakes.committed[0] = 2;
  reader.lab.fakes.committed_epoch[0] = 2;
  reader.lab.run_until(ms(1000));
  EXPECT_TRUE(reader.lab.fakes.of(RequestKind::offset_for_leader_epoch).empty());
  EXPECT_TRUE(reader.lab.fakes.of(RequestKind::fetch).empty());
  reader.lab.fakes.epoch = 2;
  reader.lab.run_until(ms(3000));
  EXPECT_EQ(reader.lab.fakes.of(RequestKind::offset_for_leader_epoch).size(), 1u);
  EXPECT_EQ(reader.puppet().delivered(), Ids{3});
}

// A fetch that waits at a node that does not lead any more may be answered all the same.
TEST(KafkaConsumerEpochs, AnAnswerOfTheFormerLeaderIsNotTaken) {
  Lab lab(stage_scenario(Flavour::java, reading("earliest"), 2, {}, 2));
  lab.fakes.assignment = {0, 1};
  lab.fakes.log[0] = {1, 2, 3};
  lab.fakes.log[1] = {21};
  const ProcessId old_leader = lab.process("kafka-1"), leader = lab.process("kafka-2");
  lab.fakes.leaders = {{0, old_leader}, {1, leader}};
  lab["work-0"].react = [](const Event& event, Effects& e) {
    if (event.kind == EventKind::start) e.fetch(0, 100);
    if (event.kind == EventKind::assigned) e.accept(event.places, event.generation);
    if (event.kind == EventKind::delivered) e.fetch(0, 100);
  };
  lab.run_until(ms(1000));
  lab.cluster().append(1, 22, 1);  // its next fetch there finds that the leaders have changed
  lab.fakes.leaders = {{0, leader}, {1, old_leader}};
  lab.fakes.epoch = 2;
  lab.fakes.log[0] = {1};
  lab.run_until(ms(1500));
  lab.fakes.leaders[0] = old_leader;
  lab.fakes.log[0] = {1, 2, 3};
  lab.cluster().append(0, 4, 1);
  lab.run_until(ms(1600));
  lab.fakes.leaders[0] = leader;
  lab.fakes.log[0] = {1};
  lab.cluster().append(0, 12, 2);
  lab.run_until(ms(2000));
  Ids read = lab["work-0"].delivered();
  std::erase_if(read, [](MessageId id) { return id > 20; });
  EXPECT_EQ(read, (Ids{1, 2, 3, 12, 13}));
}

}  // namespace
}  // namespace mqlab::sim::kafka::client_test
