// Kafka's broker: what is deleted, and what an unclean election cuts.
#include "tests/sim/kafka_broker_fixture.h"

namespace mqlab::sim::kafka {
namespace {

const Properties ten_minutes = {{"retention.ms", "600000"}, {"segment.ms", "240000"}};

/// Offset of the earliest record, as a client is told it.
std::int64_t earliest(Lab& lab, PlaceId place) {
  auto* r = lab.make<ListOffsetsRequest>(RequestKind::list_offsets, 3);
  r->place = place;
  return lab.await<ListOffsetsAnswer>(lab.send(lab.cluster().process(lab.leader(place)), r))->offset;
}

// strimzi.io/blog/2021/12/17/kafka-segment-retention: a record lives until its segment is full or old, then
// retention.ms, then until the next look.
TEST(KafkaRetention, RecordsGoBySegmentsAtTheNextLook) {
  Lab lab({.topic = ten_minutes});
  ASSERT_EQ(lab.produced(0, lab.batch(1, 1)).error, Error::none);
  lab.run_until(Instant{230'000'000'000});
  ASSERT_EQ(lab.produced(0, lab.batch(2, 1)).error, Error::none);  // the same segment: its newest record
  lab.run_until(Instant{250'000'000'000});
  ASSERT_EQ(lab.produced(0, lab.batch(3, 1)).error, Error::none);  // a new one: the first is older than 4 min
  lab.run_until(Instant{829'000'000'000});
  EXPECT_EQ(earliest(lab, 0), 0);
  // Looks come at 30 s and every 5 min: 830 s is none; at 930 s both are older than 10 min.
  lab.run_until(Instant{929'000'000'000});
  EXPECT_EQ(earliest(lab, 0), 0);
  lab.run_until(Instant{931'000'000'000});
  EXPECT_EQ(earliest(lab, 0), 3);
  EXPECT_TRUE(lab.read(0).empty());
  const auto* gone = lab.await<FetchAnswer>(lab.fetch(0, 0));
  ASSERT_EQ(gone->parts.size(), 1u);
  EXPECT_EQ(gone->parts[0].error, Error::offset_out_of_range);
  EXPECT_EQ(gone->parts[0].log_start, 3);
  EXPECT_EQ(lab.produced(0, lab.batch(4, 1)).base_offset, 3);  // offsets go on
  EXPECT_EQ(lab.isr(0), 7u);
}

TEST(KafkaRetention, OnlyWholeSegmentsGoForTheirSize) {
  Lab lab({.broker = {{"log.retention.check.interval.ms", "1000"}},
           .topic = {{"retention.bytes", "3000000"}, {"segment.bytes", "1048576"}, {"retention.ms", "-1"}}});
  lab.run_until(Instant{31'000'000'000});
  for (MessageId id = 1; id <= 40; ++id)
    ASSERT_EQ(lab.produced(0, lab.batch(id, 1, 100'000)).error, Error::none);
  lab.run_for(Duration::seconds(2));
  // Ten batches a segment: 4 of 1 MB; one may go (3 MB are left), another may not.
  EXPECT_EQ(earliest(lab, 0), 10);
  const auto* rest = lab.await<FetchAnswer>(lab.fetch(0, 10));
  ASSERT_FALSE(rest->runs.empty());
  EXPECT_EQ(rest->runs[0].batch->records[0].id, 11u);
}

TEST(KafkaRetention, CompactedTopicsKeepTheirRecords) {
  Lab lab({.topic = {{"retention.ms", "1000"}, {"cleanup.policy", "compact"}}});
  Batch* keyed = lab.batch(1, 1);
  keyed->records[0].key = 1;
  ASSERT_EQ(lab.produced(0, keyed).error, Error::none);
  lab.run_for(Duration::seconds(1000));
  EXPECT_EQ(earliest(lab, 0), 0);
}

TEST(KafkaRetention, ABrokerThatIsFrozenAtALookGoesOnLooking) {
  Lab lab({.broker = {{"log.retention.check.interval.ms", "1000"}}, .topic = {{"retention.ms", "60000"}}});
  const PlaceId place = led_apart(lab);
  const NodeIndex frozen = lab.leader(place);
  ASSERT_EQ(lab.produced(place, lab.batch(1, 1)).error, Error::none);
  lab.run_until(Instant{59'000'000'000});
  lab.world.pause(lab.cluster().process(frozen));
  lab.run_for(Duration::seconds(5));
  lab.world.resume(lab.cluster().process(frozen));
  lab.run_for(Duration::seconds(60));
  EXPECT_EQ(lab.replica(place, frozen).log.start(), 1);
}

TEST(KafkaRetention, AFollowerThatWasAwayBeginsWhereTheLeadersLogDoes) {
  Lab lab({.broker = {{"log.retention.check.interval.ms", "1000"}}, .topic = {{"retention.ms", "60000"}}});
  ASSERT_EQ(lab.produced(0, lab.batch(1, 2)).error, Error::none);
  const NodeIndex away = lab.other({lab.leader(0), lab.controller()});
  lab.kill(away);
  lab.run_for(Duration::seconds(20));
  ASSERT_EQ(lab.produced(0, lab.batch(3, 2)).error, Error::none);
  lab.run_for(Duration::seconds(70));
  ASSERT_EQ(earliest(lab, 0), 4);
  lab.start(away);
  lab.run_for(Duration::seconds(20));
  ASSERT_EQ(lab.produced(0, lab.batch(5, 1)).base_offset, 4);
  lab.run_for(Duration::seconds(5));
  EXPECT_EQ(lab.replica(0, away).log.start(), 4);
  EXPECT_EQ(lab.replica(0, away).log.end(), 5);
  EXPECT_EQ(lab.isr(0), 7u);
}

// KAFKA-10751: log ends 10, 5 and 2, only the first in sync; it dies, and the one furthest behind is there.
struct UncleanLab : Lab {
  explicit UncleanLab(const std::string& unclean)
      : Lab({.nodes = 4,
             .partitions = 4,
             .broker = {{"broker.session.timeout.ms", "2000"},
                        {"broker.heartbeat.interval.ms", "500"},
                        {"replica.lag.time.max.ms", "3000"},
                        {"controller.quorum.fetch.timeout.ms", "1000"},
                        {"controller.quorum.election.timeout.ms", "500"},
                        {"controller.quorum.election.backoff.max.ms", "250"}},
             .topic = {{"unclean.leader.election.enable", unclean}},
             .replication = 3}) {
    while (partition(place).slot(controller()) < 3) ++place;  // the controller's node has no replica
    a = leader(place);
    c = partition(place).node(1);  // the first in the assignment, so the one that an election takes
    b = partition(place).node(2);
    const ProcessId leads = cluster().process(a);
    write(2);
    cut(cluster().process(c), leads);
    write(3);
    cut(cluster().process(b), leads);
    write(5);
    run_for(Duration::seconds(6));
    EXPECT_EQ(isr(place), set_of(a));
    EXPECT_EQ(ends(), (std::vector<std::int64_t>{10, 5, 2}));
    kill(a);
    run_for(Duration::seconds(4));
    cut(cluster().process(c), leads, false);
    cut(cluster().process(b), leads, false);
  }
  void write(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i)
      ASSERT_EQ(produced(place, batch(++id, 1), 1).error, Error::none);
    run_for(Duration::millis(10));
  }
  std::vector<std::int64_t> ends() {
    return {replica(place, a).log.end(), replica(place, b).log.end(), replica(place, c).log.end()};
  }
  PlaceId place = 0;
  NodeIndex a = 0, b = 0, c = 0;
  MessageId id = 0;
};

TEST(KafkaUnclean, TheOthersAreCutToTheEndOfTheOneThatWasElected) {
  UncleanLab lab("true");
  EXPECT_EQ(lab.leader(lab.place), lab.c);
  lab.start(lab.a);
  lab.run_for(Duration::seconds(10));
  EXPECT_EQ(lab.ends(), (std::vector<std::int64_t>{2, 2, 2}));  // 8 and 3 records are gone
  EXPECT_EQ(lab.read(lab.place), (Ids{1, 2}));
}

TEST(KafkaUnclean, WithoutItThePartitionWaitsAndLosesNothing) {
  UncleanLab lab("false");
  EXPECT_EQ(lab.leader(lab.place), no_node);
  lab.start(lab.a);
  lab.run_for(Duration::seconds(10));
  EXPECT_EQ(lab.ends(), (std::vector<std::int64_t>{10, 10, 10}));
  EXPECT_EQ(lab.read(lab.place).size(), 10u);
}

}  // namespace
}  // namespace mqlab::sim::kafka
