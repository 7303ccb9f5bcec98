// Kafka's broker: produce, idempotence, fetch.
#include "tests/sim/kafka_broker_fixture.h"

namespace mqlab::sim::kafka {
namespace {

TEST(KafkaProduce, AcksAllAnswersWhenAllInSyncReplicasHaveIt) {
  Lab lab({});
  const std::uint32_t c = lab.produce(lab.in(), lab.batch(1, 3));
  const auto* answer = lab.await<ProduceAnswer>(c);
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(answer->parts[0].error, Error::none);
  EXPECT_EQ(answer->parts[0].base_offset, 0);
  // To the leader, to the followers, their next fetches, back: four ways of 200 µs.
  EXPECT_EQ(lab.answered_at(c), Instant{800'000});
  for (NodeIndex n = 0; n < 3; ++n) EXPECT_EQ(lab.replica(lab.in(), n).log.end(), 3) << int{n};
  EXPECT_EQ(lab.led(lab.in()).high_watermark, 3);
}

TEST(KafkaProduce, AcksOneAnswersAtOnceAcksNoneNever) {
  Lab lab({});
  const std::uint32_t one = lab.produce(lab.in(), lab.batch(1, 1), 1);
  ASSERT_NE(lab.await<ProduceAnswer>(one), nullptr);
  EXPECT_EQ(lab.answered_at(one), Instant{400'000});
  const std::uint32_t none = lab.produce(lab.in(), lab.batch(2, 1), 0);
  EXPECT_EQ(lab.await<ProduceAnswer>(none, Duration::seconds(1)), nullptr);
  EXPECT_EQ(lab.read(lab.in()), (Ids{1, 2}));
}

TEST(KafkaProduce, OnlyTheLeaderTakesIt) {
  Lab lab({});
  const auto other = lab.cluster().process(static_cast<NodeIndex>((lab.leader(lab.in()) + 1) % 3));
  const auto* answer = lab.await<ProduceAnswer>(lab.produce_to(other, lab.in(), lab.batch(1, 1)));
  EXPECT_EQ(answer->parts[0].error, Error::not_leader_or_follower);
  const auto* unknown = lab.await<ProduceAnswer>(lab.produce_to(other, 999, lab.batch(1, 1)));
  EXPECT_EQ(unknown->parts[0].error, Error::unknown_topic_or_partition);
}

TEST(KafkaProduce, BatchLargerThanMaxMessageBytes) {
  Lab lab({.topic = {{"max.message.bytes", "2000"}}});
  EXPECT_EQ(lab.produced(lab.in(), lab.batch(1, 1, 2001)).error, Error::message_too_large);
  EXPECT_EQ(lab.produced(lab.in(), lab.batch(1, 1, 2000)).error, Error::none);
}

// A node reads the next request of a connection when it has answered the one before: five in flight do not
// overlap.
TEST(KafkaProduce, OneRequestOfAConnectionAtATime) {
  Lab lab({});
  const std::uint32_t a = lab.produce(lab.in(), lab.batch(1, 1));
  const std::uint32_t b = lab.produce(lab.in(), lab.batch(2, 1));
  ASSERT_NE(lab.await<ProduceAnswer>(b), nullptr);
  EXPECT_EQ(lab.answered_at(a), Instant{800'000});
  EXPECT_EQ(lab.answered_at(b), Instant{1'200'000});  // its two ways between nodes began when a was answered
}

TEST(KafkaIdempotence, RepeatWithinFiveBatchesIsAnsweredWithTheFirstOffset) {
  Lab lab({});
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(lab.produced(lab.in(), lab.sequenced(static_cast<MessageId>(1 + i), 1, 7, 0, i)).base_offset,
              i);
  }
  for (int back = 1; back <= 5; ++back) {
    const ProducedPart repeat = lab.produced(lab.in(), lab.sequenced(9, 1, 7, 0, 6 - back));
    EXPECT_EQ(repeat.error, Error::none);
    EXPECT_TRUE(repeat.duplicate);
    EXPECT_EQ(repeat.base_offset, 6 - back);
  }
  // Six back: forgotten, and no longer the next in sequence.
  EXPECT_EQ(lab.produced(lab.in(), lab.sequenced(9, 1, 7, 0, 0)).error, Error::out_of_order_sequence);
  EXPECT_EQ(lab.led(lab.in()).log.end(), 6);
}

TEST(KafkaIdempotence, GapsAndEpochs) {
  Lab lab({});
  EXPECT_EQ(lab.produced(lab.in(), lab.sequenced(1, 2, 7, 3, 40)).error,
            Error::none);  // nothing known: any sequence
  EXPECT_EQ(lab.produced(lab.in(), lab.sequenced(3, 1, 7, 3, 43)).error, Error::out_of_order_sequence);
  EXPECT_EQ(lab.produced(lab.in(), lab.sequenced(3, 1, 7, 3, 42)).error, Error::none);
  EXPECT_EQ(lab.produced(lab.in(), lab.sequenced(4, 1, 7, 2, 43)).error, Error::invalid_producer_epoch);
  EXPECT_EQ(lab.produced(lab.in(), lab.sequenced(4, 1, 7, 4, 43)).error,
            Error::out_of_order_sequence);  // new epoch: from 0
  EXPECT_EQ(lab.produced(lab.in(), lab.sequenced(4, 1, 7, 4, 0)).error, Error::none);
  EXPECT_EQ(lab.read(lab.in()), (Ids{1, 2, 3, 4}));
}

TEST(KafkaIdempotence, SequencesWrap) {
  EXPECT_EQ(sequence_after(0x7fff'ffff, 1), 0);
  Lab lab({});
  EXPECT_EQ(lab.produced(lab.in(), lab.sequenced(1, 2, 7, 0, 0x7fff'fffe)).error, Error::none);
  EXPECT_EQ(lab.produced(lab.in(), lab.sequenced(3, 1, 7, 0, 0)).error, Error::none);
}

TEST(KafkaFetch, ParkedUntilReplicatedAndWithoutEvents) {
  Lab lab({});
  const std::uint32_t f = lab.fetch(lab.in(), 0);
  lab.run_for(Duration::seconds(100));
  const std::uint64_t idle = lab.world.steps();
  EXPECT_LE(idle, 3u);  // the request and the test's own timer
  const Instant sent = lab.now();
  lab.produce(lab.in(), lab.batch(1, 3));
  const auto* answer = lab.await<FetchAnswer>(f);
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(lab.answered_at(f), sent + Duration::micros(800));
  ASSERT_EQ(answer->runs.size(), 1u);
  EXPECT_EQ(answer->runs[0].count, 3u);
  EXPECT_EQ(answer->parts[0].next_offset, 3);
  EXPECT_EQ(answer->parts[0].high_watermark, 3);
}

TEST(KafkaFetch, FromTheMiddleOfABatchAndOutOfRange) {
  Lab lab({});
  lab.produced(lab.in(), lab.batch(1, 5));
  const auto* answer = lab.await<FetchAnswer>(lab.fetch(lab.in(), 3));
  ASSERT_EQ(answer->runs.size(), 1u);
  EXPECT_EQ(answer->runs[0].first, 3u);
  EXPECT_EQ(answer->runs[0].count, 2u);
  EXPECT_EQ(answer->runs[0].offset, 3);
  EXPECT_EQ(lab.await<FetchAnswer>(lab.fetch(lab.in(), 6))->parts[0].error, Error::offset_out_of_range);
}

TEST(KafkaFetch, MinBytesWaitUntilMaxWait) {
  Lab lab({});
  const std::uint32_t f = lab.fetch(lab.in(), 0, false, 1, 1500);
  lab.run_for(Duration::millis(100));
  lab.produced(lab.in(), lab.batch(1, 1, 1000));  // less than was asked for
  ASSERT_NE(lab.await<FetchAnswer>(f), nullptr);
  EXPECT_EQ(lab.answered_at(f), Instant{500'400'000});
  const std::uint32_t g = lab.fetch(lab.in(), 1, false, 1, 1500);
  const Instant before = lab.now();
  lab.produce(lab.in(), lab.batch(2, 1, 1000));
  lab.produce(lab.in(), lab.batch(3, 1, 1000));
  ASSERT_NE(lab.await<FetchAnswer>(g), nullptr);
  EXPECT_LT(lab.answered_at(g) - before, Duration::millis(3));
  EXPECT_EQ(lab.answer<FetchAnswer>(g)->runs.size(), 2u);
}

TEST(KafkaFetch, SizesAreSoft) {
  Lab lab({});
  for (MessageId i = 1; i <= 3; ++i) lab.produced(lab.in(), lab.batch(i, 1, 5000));
  auto* r = lab.make<FetchRequest>(RequestKind::fetch, 1);
  r->max_wait = Duration::millis(500);
  r->parts.push_back({lab.in(), 0, 100});
  const auto* one = lab.await<FetchAnswer>(lab.send(lab.cluster().process(lab.leader(lab.in())), r));
  EXPECT_EQ(one->runs.size(), 1u);  // larger than the limit, and whole
  EXPECT_EQ(one->parts[0].next_offset, 1);
  r = lab.make<FetchRequest>(RequestKind::fetch, 1);
  r->max_wait = Duration::millis(500);
  r->parts.push_back({lab.in(), 0, 10'000});
  EXPECT_EQ(lab.await<FetchAnswer>(lab.send(lab.cluster().process(lab.leader(lab.in())), r))->runs.size(),
            2u);
}

TEST(KafkaFetch, ANewFetchReplacesTheParkedOne) {
  Lab lab({});
  const std::uint32_t first = lab.fetch(lab.in(), 0);
  const std::uint32_t second = lab.fetch(lab.in(), 0);
  lab.run_for(Duration::millis(1));
  lab.produced(lab.in(), lab.batch(1, 1));
  lab.run_for(Duration::millis(1));
  EXPECT_EQ(lab.answer<FetchAnswer>(first), nullptr);
  EXPECT_NE(lab.answer<FetchAnswer>(second), nullptr);
}

TEST(KafkaFetch, ListOffsetsAndMetadata) {
  Lab lab({});
  lab.produced(lab.in(), lab.batch(1, 4));
  auto* r = lab.make<ListOffsetsRequest>(RequestKind::list_offsets, 1);
  r->place = lab.in();
  r->latest = true;
  EXPECT_EQ(lab.await<ListOffsetsAnswer>(lab.send(lab.cluster().process(lab.leader(lab.in())), r))->offset,
            4);
  auto* m = lab.make<MetadataRequest>(RequestKind::metadata, 1);
  const auto* metadata = lab.await<MetadataAnswer>(lab.send(lab.node(2), m));
  ASSERT_EQ(metadata->leaders.size(), 6u);
  for (PlaceId p = 0; p < 6; ++p) EXPECT_EQ(metadata->leaders[p], lab.cluster().leader(p));
}

TEST(KafkaAudit, EveryRecordAndTheEnd) {
  Lab lab({});
  lab.produced(lab.in(1), lab.batch(5, 2));
  lab.cluster().audit();
  std::vector<std::pair<MessageId, std::int64_t>> found;
  int ends = 0;
  for (std::size_t i = 0; i < lab.world.history().size(); ++i) {
    const Row& row = lab.world.history()[i];
    if (row.kind == Kind::audit) found.emplace_back(row.message, row.position);
    if (row.kind == Kind::audit_end) ++ends;
  }
  EXPECT_EQ(found, (std::vector<std::pair<MessageId, std::int64_t>>{{5, 0}, {6, 1}}));
  EXPECT_EQ(ends, 6);
}

}  // namespace
}  // namespace mqlab::sim::kafka
