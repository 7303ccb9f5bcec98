// The producer: batching, limits in flight, order of retries by flavour, time-outs, what is refused at once.
#include <algorithm>

#include "core/scenario/partitioner.h"
#include "tests/sim/kafka_client_lab.h"

namespace mqlab::sim::kafka::client_test {
namespace {

using Ids = std::vector<MessageId>;
const auto java = Flavour::java;
const auto librdkafka = Flavour::librdkafka;

constexpr Duration ms(std::int64_t n) { return Duration::millis(n); }

std::vector<Ids> batches(const Fakes& fakes) {
  std::vector<Ids> found;
  for (const Got& got : fakes.of(RequestKind::produce)) {
    for (const SentBatch& batch : got.batches) found.push_back(batch.ids);
  }
  return found;
}

void publish(Puppet& puppet, Duration t, MessageId id, std::uint32_t size = 100, std::uint32_t key = 0) {
  puppet.at(t, [=](Effects& e) { e.publish(0, message(id, size, key)); });
}

class KafkaProducerBoth : public testing::TestWithParam<Flavour> {};
INSTANTIATE_TEST_SUITE_P(Clients, KafkaProducerBoth, testing::Values(java, librdkafka),
                         [](const auto& p) { return std::string(name_of(p.param)); });

TEST_P(KafkaProducerBoth, WhatComesWithinLingerGoesOutTogether) {
  Lab lab(producer_scenario(GetParam(), {{"linger.ms", "20"}}));
  publish(lab["api"], ms(100), 1);
  publish(lab["api"], ms(119), 2);
  publish(lab["api"], ms(121), 3);
  lab.run_until(ms(300));
  EXPECT_EQ(batches(lab.fakes), (std::vector<Ids>{{1, 2}, {3}}));
  const auto got = lab.fakes.of(RequestKind::produce);
  EXPECT_EQ(got[0].ms, 121);  // linger from the first record, 1 ms on the wire
  EXPECT_EQ(got[1].ms, 142);
  const auto settled = lab["api"].settled(Kind::publish);
  ASSERT_EQ(settled.size(), 3u);
  for (const Settlement& s : settled) {
    EXPECT_EQ(s.outcome, Outcome::ok);
    EXPECT_EQ(s.position, static_cast<std::int64_t>(s.message) - 1);
  }
}

TEST_P(KafkaProducerBoth, AFullBatchDoesNotLinger) {
  Lab lab(producer_scenario(GetParam(), {{"linger.ms", "500"}, {"batch.size", "1000"}}));
  lab["api"].at(ms(100), [](Effects& e) {
    for (MessageId id = 1; id <= 10; ++id) e.publish(0, message(id));
  });
  lab.run_until(ms(200));
  // 61 + n × (100 + 9) ≤ 1000
  EXPECT_EQ(batches(lab.fakes), (std::vector<Ids>{{1, 2, 3, 4, 5, 6, 7, 8}}));
  lab.run_until(ms(700));
  EXPECT_EQ(batches(lab.fakes).back(), (Ids{9, 10}));
}

TEST_P(KafkaProducerBoth, NoMoreRequestsThanAllowedAreInFlight) {
  Lab lab(producer_scenario(
      GetParam(),
      {{"linger.ms", "0"}, {"enable.idempotence", "false"}, {"max.in.flight.requests.per.connection", "2"}}));
  lab.fakes.slow[RequestKind::produce] = ms(100);
  for (MessageId id = 1; id <= 4; ++id) publish(lab["api"], ms(100 + id), id);
  lab.run_until(ms(190));
  EXPECT_EQ(batches(lab.fakes).size(), 2u);
  lab.run_until(ms(1000));
  EXPECT_EQ(batches(lab.fakes), (std::vector<Ids>{{1}, {2}, {3, 4}}));
}

TEST(KafkaProducer, JavaTakesTheOtherPartitionsOfANodeAlongLibrdkafkaDoesNot) {
  for (const Flavour flavour : {java, librdkafka}) {
    Lab lab(producer_scenario(flavour, {{"linger.ms", "50"}}, 2));
    const Partitioner by = flavour == java ? Partitioner::murmur2_random : Partitioner::consistent_random;
    // Two keys of different partitions.
    std::uint32_t other = 2;
    while (partition_of_key(by, other, 2) == partition_of_key(by, 1, 2)) ++other;
    publish(lab["api"], ms(100), 1, 100, 1);
    publish(lab["api"], ms(130), 2, 100, other);
    lab.run_until(ms(400));
    const auto got = lab.fakes.of(RequestKind::produce);
    if (flavour == java) {
      ASSERT_EQ(got.size(), 1u);
      EXPECT_EQ(got[0].batches.size(), 2u);
    } else {
      ASSERT_EQ(got.size(), 2u);
      EXPECT_EQ(got[1].ms - got[0].ms, 30);
    }
    EXPECT_EQ(got[0].batches[0].place, partition_of_key(by, 1, 2));
  }
}

/// The partitions that 40 records go to, one by one; all with key 1, or without.
std::vector<PlaceId> chosen(Flavour flavour, Properties settings, std::uint32_t key) {
  settings.push_back({"linger.ms", "0"});
  Lab lab(producer_scenario(flavour, settings, 4));
  for (MessageId id = 1; id <= 40; ++id) publish(lab["api"], ms(100 + 20 * id), id, 100, key);
  lab.run_until(ms(2000));
  std::vector<PlaceId> places;
  for (const Got& got : lab.fakes.of(RequestKind::produce)) {
    for (const SentBatch& batch : got.batches) places.push_back(batch.place);
  }
  EXPECT_EQ(places.size(), 40u);
  return places;
}
std::size_t different(std::vector<PlaceId> places) {
  std::sort(places.begin(), places.end());
  return static_cast<std::size_t>(std::unique(places.begin(), places.end()) - places.begin());
}

TEST(KafkaProducer, ThePartitionerSaysWhetherTheKeyPlacesARecord) {
  const auto by = [](const char* name) { return Properties{{"partitioner", name}}; };
  EXPECT_EQ(chosen(librdkafka, by("fnv1a_random"), 1),
            std::vector<PlaceId>(40, partition_of_key(Partitioner::fnv1a_random, 1, 4)));
  EXPECT_EQ(chosen(librdkafka, by("murmur2"), 1), chosen(java, {}, 1));
  EXPECT_EQ(different(chosen(librdkafka, by("random"), 1)), 4u);
  EXPECT_EQ(different(chosen(librdkafka, by("murmur2_random"), 0)), 4u);
  EXPECT_EQ(chosen(librdkafka, by("murmur2"), 0),
            std::vector<PlaceId>(40, partition_of_key(Partitioner::murmur2, 0, 4)));
  EXPECT_EQ(chosen(librdkafka, by("consistent"), 0), std::vector<PlaceId>(40, 0));
  // java sticks to one until batch.size bytes are in it
  const Properties small = {{"batch.size", "250"}, {"partitioner.ignore.keys", "true"}};
  EXPECT_EQ(different(chosen(java, small, 1)), 4u);
  EXPECT_EQ(different(chosen(java, {{"partitioner.ignore.keys", "true"}}, 1)), 1u);
}

/// Three batches in flight when the broker dies.
std::vector<Ids> after_a_kill(Flavour flavour, Properties settings) {
  settings.push_back({"linger.ms", "0"});
  Lab lab(producer_scenario(flavour, settings));
  lab.fakes.slow[RequestKind::produce] = ms(500);
  for (MessageId id = 1; id <= 3; ++id) publish(lab["api"], ms(100 + 10 * id), id);
  lab.run_until(ms(200));
  const std::size_t before = batches(lab.fakes).size();
  lab.world->kill(lab.process("kafka-1"), false);
  lab.run_until(ms(300));
  lab.world->start(lab.process("kafka-1"));
  lab.run_until(ms(8000));
  std::vector<Ids> sent = batches(lab.fakes);
  sent.erase(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(before));
  for (const Settlement& s : lab["api"].settled(Kind::publish)) EXPECT_EQ(s.outcome, Outcome::ok);
  EXPECT_EQ(lab["api"].settled(Kind::publish).size(), 3u);
  return sent;
}

TEST(KafkaProducer, FailedBatchesAreSentAgainInTheOrderOfTheFlavour) {
  const Property no_idempotence = {"enable.idempotence", "false"};
  // Java puts them back one by one, each in front.
  EXPECT_EQ(after_a_kill(java, {no_idempotence}), (std::vector<Ids>{{3}, {2}, {1}}));
  // With one in flight nothing can overtake.
  EXPECT_EQ(after_a_kill(java, {no_idempotence, {"max.in.flight.requests.per.connection", "1"}}),
            (std::vector<Ids>{{1}, {2, 3}}));
  EXPECT_EQ(after_a_kill(java, {}), (std::vector<Ids>{{1}, {2}, {3}}));
  // librdkafka puts messages back, and batches them anew unless they have a sequence.
  EXPECT_EQ(after_a_kill(librdkafka, {}), (std::vector<Ids>{{1, 2, 3}}));
  EXPECT_EQ(after_a_kill(librdkafka, {{"enable.idempotence", "true"}}), (std::vector<Ids>{{1}, {2}, {3}}));
}

TEST_P(KafkaProducerBoth, ARetriedBatchKeepsItsSequence) {
  Lab lab(producer_scenario(GetParam(), {{"linger.ms", "0"}, {"enable.idempotence", "true"}}));
  lab.fakes.errors[RequestKind::produce] = {Error::not_enough_replicas_after_append};
  publish(lab["api"], ms(100), 1);
  publish(lab["api"], ms(600), 2);
  lab.run_until(ms(2000));
  const auto got = lab.fakes.of(RequestKind::produce);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].batches[0].sequence, 0);
  EXPECT_EQ(got[1].batches[0].sequence, 0);
  EXPECT_EQ(got[2].batches[0].sequence, 1);
  EXPECT_EQ(got[1].ms - got[0].ms, 102);  // service and 1 ms back, then 100 ms of back-off, 1 ms there
}

TEST_P(KafkaProducerBoth, RetriesBackOffExponentially) {
  Lab lab(producer_scenario(GetParam(), {{"linger.ms", "0"}}));
  lab.fakes.errors[RequestKind::produce].assign(6, Error::not_enough_replicas);
  publish(lab["api"], ms(100), 1);
  lab.run_until(ms(9000));
  const auto got = lab.fakes.of(RequestKind::produce);
  ASSERT_EQ(got.size(), 7u);
  const std::vector<std::int64_t> waits = {100, 200, 400, 800, 1000, 1000};
  for (std::size_t i = 0; i < waits.size(); ++i) EXPECT_NEAR(got[i + 1].ms - got[i].ms, waits[i] + 2, 1) << i;
}

TEST(KafkaProducer, DeliveryTimeoutIsFailOnlyIfItWasNeverSent) {
  Lab lab(producer_scenario(java, {{"linger.ms", "0"},
                                   {"delivery.timeout.ms", "2000"},
                                   {"request.timeout.ms", "1500"},
                                   {"max.in.flight.requests.per.connection", "1"}}));
  lab.fakes.errors[RequestKind::produce].assign(20, Error::timed_out_local);
  publish(lab["api"], ms(100), 1);
  publish(lab["api"], ms(150), 2);
  lab.run_until(ms(5000));
  const auto settled = lab["api"].settled(Kind::publish);
  ASSERT_EQ(settled.size(), 2u);
  EXPECT_EQ(settled[0].message, 1u);
  EXPECT_EQ(settled[0].outcome, Outcome::unknown);
  EXPECT_EQ(settled[1].message, 2u);
  EXPECT_EQ(settled[1].outcome, Outcome::fail);
  EXPECT_EQ(lab["api"].of(EventKind::settled)[0].ms, 2100);
}

TEST(KafkaProducer, LibrdkafkaLooksForTimedOutMessagesOnceASecond) {
  Lab lab(producer_scenario(
      librdkafka, {{"linger.ms", "0"}, {"message.timeout.ms", "1300"}, {"socket.timeout.ms", "1000"}}));
  lab.fakes.errors[RequestKind::produce].assign(20, Error::timed_out_local);
  publish(lab["api"], ms(1100), 1);
  lab.run_until(ms(9000));
  const auto settled = lab["api"].settled(Kind::publish);
  ASSERT_EQ(settled.size(), 1u);
  EXPECT_EQ(settled[0].outcome, Outcome::unknown);
  const auto end = lab["api"].of(EventKind::settled)[0].ms;
  EXPECT_GE(end, 2400);
  EXPECT_EQ(end % 1000, 0);
}

TEST_P(KafkaProducerBoth, WithoutAcksNothingIsWaitedFor) {
  Lab lab(
      producer_scenario(GetParam(), {{"linger.ms", "0"}, {"acks", "0"}, {"enable.idempotence", "false"}}));
  publish(lab["api"], ms(100), 1);
  lab.run_until(ms(101));
  const auto settled = lab["api"].settled(Kind::publish);
  ASSERT_EQ(settled.size(), 1u);
  EXPECT_EQ(settled[0].outcome, Outcome::ok);
  EXPECT_EQ(settled[0].position, -1);
}

TEST(KafkaProducer, TheLargestRecordIsExactlyThatOfTheClient) {
  Lab lab(producer_scenario(java, {}));
  publish(lab["api"], ms(100), 1, 1'048'489);  // null key, defaults
  publish(lab["api"], ms(100), 2, 1'048'490);
  lab.run_until(ms(300));
  const auto settled = lab["api"].settled(Kind::publish);
  ASSERT_EQ(settled.size(), 2u);
  EXPECT_EQ(settled[0].message, 2u);  // refused at once
  EXPECT_EQ(settled[0].outcome, Outcome::fail);
  EXPECT_EQ(settled[0].code, static_cast<std::uint16_t>(Error::message_too_large));
  EXPECT_EQ(settled[1].outcome, Outcome::ok);

  Lab other(producer_scenario(librdkafka, {}));
  publish(other["api"], ms(100), 1, 1'000'000 - 36);
  publish(other["api"], ms(100), 2, 1'000'000 - 35);
  other.run_until(ms(300));
  ASSERT_EQ(other["api"].settled(Kind::publish).size(), 2u);
  EXPECT_EQ(other["api"].settled(Kind::publish)[0].message, 2u);
  EXPECT_EQ(other["api"].settled(Kind::publish)[0].outcome, Outcome::fail);
}

TEST(KafkaProducer, AFullQueueRefusesAndTellsWhenThereIsRoom) {
  for (const Flavour flavour : {java, librdkafka}) {
    const Property limit =
        flavour == java ? Property{"buffer.memory", "32768"} : Property{"queue.buffering.max.messages", "2"};
    Lab lab(producer_scenario(flavour, {limit, {"linger.ms", "10"}, {"batch.size", "16384"}}));
    const std::uint32_t size = flavour == java ? 16'000 : 100;
    for (MessageId id = 1; id <= 3; ++id) publish(lab["api"], ms(100), id, size);
    lab.run_until(ms(500));
    const auto settled = lab["api"].settled(Kind::publish);
    ASSERT_EQ(settled.size(), 3u);
    EXPECT_EQ(settled[0].message, 3u);
    EXPECT_EQ(settled[0].error, ErrorClass::full);
    ASSERT_EQ(lab["api"].of(EventKind::blocked).size(), 1u);
    ASSERT_EQ(lab["api"].of(EventKind::unblocked).size(), 1u);
    EXPECT_GT(lab["api"].of(EventKind::unblocked)[0].ms, 100);
  }
}

TEST(KafkaProducer, JavaSplitsWhatTheBrokerFindsTooLargeLibrdkafkaGivesItUp) {
  for (const Flavour flavour : {java, librdkafka}) {
    Lab lab(producer_scenario(flavour, {{"linger.ms", "5"}, {"enable.idempotence", "true"}}));
    lab.fakes.errors[RequestKind::produce] = {Error::message_too_large};
    lab["api"].at(ms(100), [](Effects& e) {
      e.publish(0, message(1, 8000));
      e.publish(0, message(2, 8000));
    });
    lab.run_until(ms(1000));
    const auto settled = lab["api"].settled(Kind::publish);
    ASSERT_EQ(settled.size(), 2u);
    EXPECT_EQ(settled[0].outcome, flavour == java ? Outcome::ok : Outcome::fail);
    // The same batch size gives the same batch again; it is accepted the second time.
    EXPECT_EQ(batches(lab.fakes).size(), flavour == java ? 2u : 1u);
  }
}

TEST(KafkaProducer, ASequenceTheBrokerRefuses) {
  // Java: not the next one expected → sent again; the head → a new epoch.
  Lab lab(producer_scenario(java, {{"linger.ms", "0"}}));
  lab.fakes.errors[RequestKind::produce] = {Error::out_of_order_sequence};
  publish(lab["api"], ms(100), 1);
  lab.run_until(ms(1000));
  const auto got = lab.fakes.of(RequestKind::produce);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[1].batches[0].sequence, 0);
  EXPECT_EQ(got[1].batches[0].epoch, got[0].batches[0].epoch + 1);
  EXPECT_EQ(lab["api"].settled(Kind::publish)[0].outcome, Outcome::ok);

  // librdkafka: producer and broker disagree: fatal.
  Lab other(producer_scenario(librdkafka, {{"linger.ms", "0"}, {"enable.idempotence", "true"}}));
  other.fakes.errors[RequestKind::produce] = {Error::out_of_order_sequence};
  publish(other["api"], ms(100), 1);
  publish(other["api"], ms(500), 2);
  other.run_until(ms(1000));
  ASSERT_EQ(other["api"].settled(Kind::publish).size(), 2u);
  EXPECT_EQ(other["api"].settled(Kind::publish)[0].outcome, Outcome::unknown);
  EXPECT_EQ(other["api"].settled(Kind::publish)[1].error, ErrorClass::fatal);
  EXPECT_EQ(other.fakes.of(RequestKind::produce).size(), 1u);
}

TEST_P(KafkaProducerBoth, ANewLeaderIsFoundByMetadata) {
  Lab lab(producer_scenario(GetParam(), {{"linger.ms", "0"}}, 1, 2));
  lab.begin();
  publish(lab["api"], ms(100), 1);
  publish(lab["api"], ms(200), 2);
  lab.run_until(ms(150));
  lab.fakes.leaders[0] = lab.process("kafka-2");
  lab.run_until(ms(2000));
  const auto got = lab.fakes.of(RequestKind::produce);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].node, lab.process("kafka-1"));
  EXPECT_EQ(got[1].node, lab.process("kafka-1"));
  EXPECT_EQ(got[2].node, lab.process("kafka-2"));
  EXPECT_EQ(lab["api"].settled(Kind::publish)[1].outcome, Outcome::ok);
}

TEST_P(KafkaProducerBoth, FlushWaitsForAllAndDoesNotLinger) {
  Lab lab(producer_scenario(GetParam(), {{"linger.ms", "5000"}}));
  publish(lab["api"], ms(100), 1);
  lab["api"].at(ms(200), [](Effects& e) { e.flush(); });
  lab.run_until(ms(400));
  ASSERT_EQ(lab["api"].settled(Kind::flush).size(), 1u);
  EXPECT_EQ(lab["api"].settled(Kind::publish).size(), 1u);
  EXPECT_EQ(lab["api"].seen.back().settlements[0].of, Kind::flush);
}

TEST(KafkaProducer, RecordsWithoutKeyStickToAPartition) {
  Lab lab(producer_scenario(librdkafka, {{"linger.ms", "5"}}, 8));
  for (MessageId id = 1; id <= 64; ++id) publish(lab["api"], ms(100 + 5 * id), id);
  lab.run_until(ms(1000));
  std::map<MessageId, PlaceId> place;
  for (const Settlement& s : lab["api"].settled(Kind::publish)) place[s.message] = s.place;
  ASSERT_EQ(place.size(), 64u);
  std::size_t moves = 0;
  for (MessageId id = 2; id <= 64; ++id) moves += place[id] != place[id - 1] ? 1 : 0;
  EXPECT_GT(moves, 10u);  // a partition is drawn every 10 ms
  EXPECT_LE(moves, 32u);
}

}  // namespace
}  // namespace mqlab::sim::kafka::client_test
