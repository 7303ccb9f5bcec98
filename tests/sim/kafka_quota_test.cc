// Quotas at the broker: the rate to the millisecond, what an answer says, and what waits meanwhile.
#include "sim/brokers/kafka/quota.h"

#include "core/scenario/kafka_quotas.h"
#include "tests/sim/kafka_broker_fixture.h"

namespace mqlab::sim::kafka {
namespace {

constexpr Duration ms(std::int64_t n) { return Duration::millis(n); }
constexpr Instant at(std::int64_t n) { return Instant{} + Duration::millis(n); }

/// Eleven windows of a second, as Kafka has them by default; a quota of 100 bytes per second.
struct Measured {
  Arena arena{1 << 20};
  SampledRate rate{arena, 11, Duration::seconds(1)};

  std::int64_t record(std::int64_t bytes, std::int64_t t) {
    rate.record(bytes, at(t));
    return throttle(t);
  }
  std::int64_t throttle(std::int64_t t) { return rate.throttle(100, at(t)).ns / 1'000'000; }
};

TEST(KafkaQuotaRate, TenWindowsAreTakenAsPassedAtOnce) {
  Measured m;
  EXPECT_EQ(m.record(1000, 5000), 0);  // 1000 bytes ÷ 10 s = the quota
  EXPECT_EQ(m.record(1, 5000), 10);    // 1001 ÷ 10 s: (100.1 − 100) ÷ 100 × 10 s
  EXPECT_EQ(m.record(499, 5000), 5000);
}

TEST(KafkaQuotaRate, OfTheFirstWindowsOnlyThePartThatIsOpenCounts) {
  Measured m;
  m.record(2000, 0);
  EXPECT_EQ(m.throttle(400), 9600);     // 10.4 s
  EXPECT_EQ(m.throttle(999), 9001);     // 10.999 s
  EXPECT_EQ(m.throttle(1000), 10'000);  // one is whole, nine are taken: 10 s again
  EXPECT_EQ(m.throttle(3700), 9300);
  EXPECT_EQ(m.throttle(10'000), 10'000);  // all ten are there
  EXPECT_EQ(m.throttle(10'999), 9001);
}

TEST(KafkaQuotaRate, AWindowGoesElevenSecondsAfterItsLastRecord) {
  Measured m;
  m.record(3000, 0);
  m.record(500, 900);                     // the same window
  EXPECT_EQ(m.throttle(11'000), 24'000);  // it began before the time that is looked at: 3500 ÷ 11 s
  EXPECT_EQ(m.throttle(11'899), 23'101);
  EXPECT_EQ(m.throttle(11'900), 0);
  EXPECT_EQ(m.record(1100, 11'900), 1000);  // and nothing is left of it: 10 s from here
}

TEST(KafkaQuotaRate, EachWindowGoesByItself) {
  Measured m;
  for (std::int64_t second = 0; second < 12; ++second) m.record(200, second * 1000);
  // At 11 s the first of the twelve is over: 11 × 200 bytes since 1 s, in 10 s.
  EXPECT_EQ(m.throttle(11'000), 12'000);
  EXPECT_EQ(m.throttle(11'600), 11'400);
}

TEST(KafkaQuotaRate, WhatIsTakenBackWasNeverThere) {
  Measured m;
  m.record(900, 0);
  EXPECT_EQ(m.record(300, 100), 1900);
  EXPECT_EQ(m.record(-300, 100), 0);
  EXPECT_EQ(m.record(100, 200), 0);
}

TEST(KafkaQuotaRate, HalfAMillisecondIsRoundedUpAndLessDown) {
  Measured m;
  m.rate.record(2001, at(0));
  EXPECT_EQ(m.rate.throttle(200, at(0)), ms(5));
  EXPECT_EQ(m.rate.throttle(2000 * 1000, at(0)), Duration{});
  Measured n;
  n.rate.record(100'003, at(0));
  EXPECT_EQ(n.rate.throttle(10'000, at(0)), Duration{});  // 0.3 ms
  n.rate.record(2, at(0));
  EXPECT_EQ(n.rate.throttle(10'000, at(0)), ms(1));  // 0.5 ms
}

Lab::Options limited(std::uint64_t produce, std::uint64_t consume) {
  return {.nodes = 1,
          .quotas = {{.client = "", .producer_byte_rate = produce, .consumer_byte_rate = consume}}};
}

ProduceRequest* request(Lab& lab, MessageId id, std::uint32_t bytes, std::uint32_t client = 0) {
  auto* r = lab.make<ProduceRequest>(RequestKind::produce, client);
  r->acks = 1;
  r->bytes = bytes;
  r->parts.push_back({0, lab.batch(id, 1)});
  return r;
}

TEST(KafkaQuota, AProducerIsAnsweredAtOnceAndItsNextRequestWaits) {
  Lab lab(limited(100, 0));
  const Instant begin = lab.now();
  const auto first = lab.await<ProduceAnswer>(lab.send(lab.node(0), request(lab, 1, 1000)));
  EXPECT_EQ(first->throttle, Duration{});
  const auto second = lab.await<ProduceAnswer>(lab.send(lab.node(0), request(lab, 2, 500)));
  EXPECT_EQ(second->throttle, ms(5000));
  EXPECT_LT(lab.now() - begin, ms(2));
  const Instant told = lab.now();
  const std::uint32_t third = lab.send(lab.node(0), request(lab, 3, 50));
  auto* metadata = lab.make<MetadataRequest>(RequestKind::metadata, 0);
  const std::uint32_t asked = lab.send(lab.node(0), metadata);
  lab.run_until(told + ms(4900));
  EXPECT_EQ(lab.read(0), range(1, 2));
  EXPECT_EQ(lab.answer<ProduceAnswer>(third), nullptr);
  ASSERT_NE(lab.await<ProduceAnswer>(third), nullptr);
  EXPECT_EQ(lab.now() - told, ms(5000));  // an answer's way back, and the same again
  // 1550 bytes, and by then five whole windows with the open one's first moment: 10 s.
  EXPECT_EQ(lab.answer<ProduceAnswer>(third)->throttle, ms(5500));
  lab.run_for(ms(5000));
  EXPECT_EQ(lab.answer<MetadataAnswer>(asked), nullptr);
  ASSERT_NE(lab.await<MetadataAnswer>(asked), nullptr);
}

TEST(KafkaQuota, OnlyThatConnectionWaits) {
  Lab lab(limited(100, 0));
  lab.await<ProduceAnswer>(lab.send(lab.node(0), request(lab, 1, 3000)));
  const Instant told = lab.now();
  auto* anew = request(lab, 2, 100);
  anew->generation = 1;
  auto* elsewhere = lab.make<MetadataRequest>(RequestKind::metadata, 0);
  elsewhere->channel = 1;
  const auto answer = lab.await<ProduceAnswer>(lab.send(lab.node(0), anew));
  lab.await<MetadataAnswer>(lab.send(lab.node(0), elsewhere));
  EXPECT_LT(lab.now() - told, ms(2));
  EXPECT_EQ(answer->throttle, ms(21'000));  // the same client all the same
  const auto other = lab.await<ProduceAnswer>(lab.send(lab.node(0), request(lab, 3, 900, 1)));
  EXPECT_EQ(other->throttle, Duration{});
}

TEST(KafkaQuota, WhatADeadClientSentIsStoredWhenItsTimeHasCome) {
  Lab lab(limited(100, 0));
  lab.await<ProduceAnswer>(lab.send(lab.node(0), request(lab, 1, 1500)));
  lab.send(lab.node(0), request(lab, 2, 100));
  lab.run_for(ms(100));
  lab.cluster().at(0).life_changed(lab.clients[0]->owner, LifeChange::killed);
  lab.run_for(ms(4500));
  EXPECT_EQ(lab.read(0), Ids{1});
  lab.run_for(ms(1000));
  EXPECT_EQ(lab.read(0), range(1, 2));
}

TEST(KafkaQuota, OfAConnectionThatIsGivenUpTwoMoreRequestsAreRead) {
  Lab lab(limited(1000, 0));
  lab.await<ProduceAnswer>(lab.send(lab.node(0), request(lab, 1, 11'000)));
  for (MessageId id = 2; id <= 5; ++id) lab.send(lab.node(0), request(lab, id, 100));
  lab.run_for(ms(100));
  auto* anew = request(lab, 6, 100);
  anew->generation = 1;
  lab.await<ProduceAnswer>(lab.send(lab.node(0), anew));
  lab.run_for(Duration::seconds(60));
  EXPECT_EQ(lab.read(0), (Ids{1, 6, 2, 3}));
}

TEST(KafkaQuota, ANodeStartedAnewHasForgotten) {
  Lab lab(limited(100, 0));
  EXPECT_EQ(lab.await<ProduceAnswer>(lab.send(lab.node(0), request(lab, 1, 1500)))->throttle, ms(5000));
  lab.kill(0);
  lab.run_for(ms(100));
  lab.start(0);
  lab.run_for(Duration::seconds(20));
  EXPECT_EQ(lab.await<ProduceAnswer>(lab.send(lab.node(0), request(lab, 2, 1000)))->throttle, Duration{});
}

TEST(KafkaQuota, AReaderAboveItsQuotaIsGivenNothing) {
  Lab lab(limited(0, 100));
  lab.produced(0, lab.batch(1, 1, 800));
  lab.produced(0, lab.batch(2, 1, 800));
  const auto first = lab.await<FetchAnswer>(lab.fetch(0, 0));
  ASSERT_EQ(first->runs.size(), 1u);  // no more than 10 s of the quota at once
  const auto second = lab.await<FetchAnswer>(lab.fetch(0, 1));
  EXPECT_TRUE(second->parts.empty());
  EXPECT_EQ(second->throttle, ms(6000));  // 1600 ÷ 10 s
  const Instant told = lab.now();
  const std::uint32_t replaced = lab.fetch(0, 1);
  lab.run_for(ms(100));
  const std::uint32_t third = lab.fetch(0, 1);
  const auto again = lab.await<FetchAnswer>(third);
  EXPECT_EQ(lab.answer<FetchAnswer>(replaced), nullptr);
  EXPECT_EQ(lab.now() - told, ms(6000));
  // What was not given out does not count, but 800 of 6 s before do.
  EXPECT_TRUE(again->parts.empty());
  EXPECT_EQ(again->throttle, ms(6000));
  const auto last = lab.await<FetchAnswer>(lab.fetch(0, 1));
  EXPECT_EQ(last->runs.size(), 1u);
  EXPECT_EQ(last->throttle, Duration{});
}

TEST(KafkaQuota, ABatchAboveTenSecondsOfTheQuotaIsNeverGivenOut) {
  Lab lab(limited(0, 100));
  lab.produced(0, lab.batch(1, 1, 1200));
  const auto first = lab.await<FetchAnswer>(lab.fetch(0, 0));
  EXPECT_EQ(first->throttle, ms(2000));
  lab.run_for(Duration::seconds(60));
  const auto later = lab.await<FetchAnswer>(lab.fetch(0, 0));
  EXPECT_EQ(later->throttle, ms(2000));
  EXPECT_TRUE(later->parts.empty());
}

TEST(KafkaQuota, TheMostParticularWordCounts) {
  Lab::Options options = limited(100, 50);
  options.quotas.push_back({.client = "app", .producer_byte_rate = 200});
  options.quotas.push_back({.client = "app-1", .producer_byte_rate = 400, .consumer_byte_rate = 10});
  Lab lab(options);
  const std::vector<ClientQuota> quotas =
      client_quotas(lab.setup.scenario.brokers.front(), lab.setup.topology);
  const auto of = [&](const char* name) { return quotas[lab.setup.topology.process(name)]; };
  EXPECT_EQ(of("app-0").produce, 200u);
  EXPECT_EQ(of("app-0").consume, 50u);
  EXPECT_EQ(of("app-1").produce, 400u);
  EXPECT_EQ(of("app-1").consume, 10u);
  EXPECT_FALSE(of("kafka-1").any());
}

}  // namespace
}  // namespace mqlab::sim::kafka
