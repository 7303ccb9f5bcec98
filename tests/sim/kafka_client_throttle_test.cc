// What the client libraries make of an answer that says how long its connection is not read from.
#include "tests/sim/kafka_client_lab.h"

namespace mqlab::sim::kafka::client_test {
namespace {

const auto java = Flavour::java;
const auto librdkafka = Flavour::librdkafka;

constexpr Duration ms(std::int64_t n) { return Duration::millis(n); }

void publish(Puppet& puppet, Duration t, MessageId id) {
  puppet.at(t, [=](Effects& e) { e.publish(0, message(id)); });
}

std::vector<std::int64_t> times(const Fakes& fakes, RequestKind kind) {
  std::vector<std::int64_t> found;
  for (const Got& got : fakes.of(kind)) found.push_back(got.ms);
  return found;
}

TEST(KafkaThrottle, JavaSendsNothingForSoLongAndBatchesMeanwhile) {
  Lab lab(producer_scenario(java, {{"linger.ms", "0"}}));
  lab.fakes.throttles[RequestKind::produce] = {ms(2000)};
  for (MessageId id = 1; id <= 3; ++id) publish(lab["api"], ms(1000) * id, id);
  lab.run_until(ms(2900));
  EXPECT_EQ(times(lab.fakes, RequestKind::produce), (std::vector<std::int64_t>{1001}));
  lab.run_until(ms(5000));
  const auto got = lab.fakes.of(RequestKind::produce);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[1].ms, 3003);  // told at 1002.1
  EXPECT_EQ(got[1].batches[0].ids, (std::vector<MessageId>{2, 3}));
}

TEST(KafkaThrottle, LibrdkafkaGoesOn) {
  Lab lab(producer_scenario(librdkafka, {{"linger.ms", "0"}}));
  lab.fakes.throttles[RequestKind::produce] = {ms(2000)};
  publish(lab["api"], ms(1000), 1);
  publish(lab["api"], ms(1500), 2);
  lab.run_until(ms(1800));
  EXPECT_EQ(times(lab.fakes, RequestKind::produce), (std::vector<std::int64_t>{1001, 1501}));
}

/// The first is answered at once, with 2 s of throttling; the second never.
void two_in_flight(Lab& lab) {
  lab.fakes.throttles[RequestKind::produce] = {ms(2000)};
  lab.fakes.errors[RequestKind::produce] = {Error::none, Error::timed_out_local};
  publish(lab["api"], ms(1000), 1);
  publish(lab["api"], ms(1001), 2);
}

TEST(KafkaThrottle, JavaDoesNotCountItAgainstWhatIsUnderWay) {
  Lab lab(producer_scenario(java, {{"linger.ms", "0"},
                                   {"enable.idempotence", "false"},
                                   {"request.timeout.ms", "1000"},
                                   {"delivery.timeout.ms", "10000"}}));
  two_in_flight(lab);
  lab.run_until(ms(3900));
  EXPECT_EQ(lab.fakes.of(RequestKind::produce).size(), 2u);
  lab.run_until(ms(4500));
  EXPECT_EQ(lab.fakes.of(RequestKind::produce).size(), 3u);  // lost after 1 + 2 s, sent again
}

TEST(KafkaThrottle, LibrdkafkaTakesItForASilentBroker) {
  Lab lab(producer_scenario(librdkafka, {{"linger.ms", "0"}, {"socket.timeout.ms", "1000"}}));
  two_in_flight(lab);
  lab.run_until(ms(3900));
  EXPECT_EQ(lab.fakes.of(RequestKind::produce).size(), 3u);
}

TEST(KafkaThrottle, LibrdkafkaSendsAgainMessagesNotBatchesUnlessTheyHaveASequence) {
  for (const bool idempotent : {false, true}) {
    Lab lab(producer_scenario(librdkafka, {{"linger.ms", "0"},
                                           {"socket.timeout.ms", "1000"},
                                           {"enable.idempotence", idempotent ? "true" : "false"}}));
    lab.fakes.errors[RequestKind::produce] = {Error::timed_out_local, Error::timed_out_local};
    publish(lab["api"], ms(1000), 1);
    publish(lab["api"], ms(1010), 2);
    lab.run_until(ms(6000));
    std::vector<std::vector<MessageId>> batches;
    for (const Got& got : lab.fakes.of(RequestKind::produce)) batches.push_back(got.batches[0].ids);
    ASSERT_GE(batches.size(), 3u);
    EXPECT_EQ(batches[2], idempotent ? (std::vector<MessageId>{1}) : (std::vector<MessageId>{1, 2}));
    EXPECT_EQ(lab["api"].settled(Kind::publish).size(), 2u);
  }
}

TEST(KafkaThrottle, JavaReadsOnWhenItIsOver) {
  for (const Flavour flavour : {java, librdkafka}) {
    Lab lab(stage_scenario(flavour, {{"auto.offset.reset", "earliest"}}));
    lab.fakes.assignment = {0};
    lab.fakes.throttles[RequestKind::fetch] = {ms(2000)};
    lab.fakes.log[0] = {1, 2};
    lab.fakes.fetch_batch = 1;
    lab["work-0"].react = [](const Event& event, Effects& e) {
      if (event.kind == EventKind::start || event.kind == EventKind::delivered) e.fetch(0, 10);
      if (event.kind == EventKind::assigned) e.accept(event.places, event.generation);
    };
    lab.run_until(ms(8000));
    const auto fetches = times(lab.fakes, RequestKind::fetch);
    ASSERT_GE(fetches.size(), 2u);
    EXPECT_NEAR(static_cast<double>(fetches[1] - fetches[0]), flavour == java ? 2002.5 : 2.5, 0.5);
  }
}

}  // namespace
}  // namespace mqlab::sim::kafka::client_test
