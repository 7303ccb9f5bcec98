// Transactions by the first protocol: order of requests, retries, what is unknown, fencing, aborts.
#include "tests/sim/kafka_client_transactions.h"

namespace mqlab::sim::kafka::client_test {
namespace {

const auto java = Flavour::java;
const auto librdkafka = Flavour::librdkafka;
constexpr PlaceId out = 1;  // the stage's only output partition; 0 is its input

constexpr Duration ms(std::int64_t n) { return Duration::millis(n); }

/// Java speaks the first protocol to brokers before 4.0.
Lab make(Flavour flavour, Properties producer = {}) {
  producer.push_back({"transactional.id", "work-{instance}"});
  if (find(producer, "linger.ms") == nullptr) producer.push_back({"linger.ms", "0"});
  if (flavour == librdkafka) {
    producer.push_back({"socket.timeout.ms", "2000"});
  } else {
    producer.push_back({"request.timeout.ms", "2000"});
  }
  Scenario s = stage_scenario(flavour, {{"auto.offset.reset", "earliest"}, {"enable.auto.commit", "false"}},
                              1, producer);
  s.brokers[0].version = "3.9";
  return Lab(std::move(s));
}

/// The requests about the transaction, in the order in which they reached a node.
void offsets(Puppet& p, Duration t) {
  p.at(t, [](Effects& e) {
    const PlacePosition next = {0, 5};
    e.offsets_to_transaction({&next, 1}, 1);
  });
}

class KafkaTransactions : public testing::TestWithParam<Flavour> {};
INSTANTIATE_TEST_SUITE_P(Clients, KafkaTransactions, testing::Values(java, librdkafka),
                         [](const auto& p) { return std::string(name_of(p.param)); });

TEST_P(KafkaTransactions, BeginWaitsForTheIdentity) {
  Lab lab = make(GetParam());
  lab.fakes.slow[RequestKind::init_producer_id] = ms(300);
  begin(lab["work-0"], ms(50));
  lab.run_until(ms(1000));
  ASSERT_EQ(lab["work-0"].settled(Kind::begin).size(), 1u);
  EXPECT_GE(lab["work-0"].of(EventKind::settled)[0].ms, 300);
}

TEST_P(KafkaTransactions, PartitionsAreAddedBeforeRecordsAndTheEndComesLast) {
  Lab lab = make(GetParam());
  Puppet& p = lab["work-0"];
  begin(p, ms(100));
  publish(p, ms(110), 1);
  publish(p, ms(120), 2);
  offsets(p, ms(130));
  commit(p, ms(140));
  lab.run_until(ms(1000));
  EXPECT_EQ(kinds(lab.fakes),
            (Kinds{RequestKind::add_partitions_to_txn, RequestKind::produce, RequestKind::produce,
                   RequestKind::add_offsets_to_txn, RequestKind::txn_offset_commit, RequestKind::end_txn}));
  EXPECT_EQ(lab.fakes.of(RequestKind::add_partitions_to_txn)[0].places, std::vector<PlaceId>{out});
  EXPECT_TRUE(lab.fakes.of(RequestKind::end_txn)[0].commit);
  ASSERT_EQ(p.settled(Kind::commit_transaction).size(), 1u);
  EXPECT_EQ(p.settled(Kind::commit_transaction)[0].outcome, Outcome::ok);
  EXPECT_EQ(p.settled(Kind::offsets_to_transaction)[0].outcome, Outcome::ok);
}

TEST_P(KafkaTransactions, AnEmptyTransactionAsksNobody) {
  Lab lab = make(GetParam());
  Puppet& p = lab["work-0"];
  begin(p, ms(100));
  commit(p, ms(110));
  begin(p, ms(120));
  abort(p, ms(130));
  lab.run_until(ms(1000));
  EXPECT_TRUE(kinds(lab.fakes).empty());
  EXPECT_EQ(p.settled(Kind::commit_transaction)[0].outcome, Outcome::ok);
  EXPECT_EQ(p.settled(Kind::abort_transaction)[0].outcome, Outcome::ok);
}

TEST_P(KafkaTransactions, TheCommitFlushesWithoutLinger) {
  Lab lab = make(GetParam(), {{"linger.ms", "3000"}});
  Puppet& p = lab["work-0"];
  begin(p, ms(100));
  publish(p, ms(110), 1);
  commit(p, ms(120));
  lab.run_until(ms(1000));
  ASSERT_EQ(p.settled(Kind::commit_transaction).size(), 1u);
  EXPECT_EQ(p.settled(Kind::publish)[0].outcome, Outcome::ok);
}

TEST_P(KafkaTransactions, AnEndWithoutAnswerIsSentAgain) {
  Lab lab = make(GetParam());
  Puppet& p = lab["work-0"];
  lab.fakes.errors[RequestKind::end_txn] = {Error::timed_out_local};
  begin(p, ms(100));
  publish(p, ms(110), 1);
  commit(p, ms(200));
  lab.run_until(ms(9000));
  EXPECT_EQ(lab.fakes.of(RequestKind::end_txn).size(), 2u);
  ASSERT_EQ(p.settled(Kind::commit_transaction).size(), 1u);
  EXPECT_EQ(p.settled(Kind::commit_transaction)[0].outcome, Outcome::ok);
}

TEST(KafkaTransactionLimit, ACommitThatTimesOutIsUnknownAndMayBeResumed) {
  Lab lab = make(librdkafka, {{"transaction.timeout.ms", "5000"}});
  Puppet& p = lab["work-0"];
  lab.fakes.errors[RequestKind::end_txn].assign(3, Error::timed_out_local);
  begin(p, ms(100));
  publish(p, ms(110), 1);
  commit(p, ms(200));
  commit(p, ms(9000));
  lab.run_until(ms(8000));
  auto ends = p.settled(Kind::commit_transaction);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].outcome, Outcome::unknown);
  EXPECT_EQ(ends[0].error, ErrorClass::retriable);
  EXPECT_EQ(p.of(EventKind::settled).back().ms, 5200);
  lab.run_until(ms(9100));
  ends = p.settled(Kind::commit_transaction);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[1].outcome, Outcome::ok);  // it went through meanwhile; no further request
  EXPECT_EQ(lab.fakes.of(RequestKind::end_txn).size(), 4u);
}

TEST_P(KafkaTransactions, ConcurrentTransactionsAreWaitedFor) {
  Lab lab = make(GetParam());
  Puppet& p = lab["work-0"];
  lab.fakes.errors[RequestKind::add_partitions_to_txn].assign(2, Error::concurrent_transactions);
  begin(p, ms(100));
  publish(p, ms(110), 1);
  commit(p, ms(120));
  lab.run_until(ms(1000));
  const auto added = lab.fakes.of(RequestKind::add_partitions_to_txn);
  ASSERT_EQ(added.size(), 3u);
  EXPECT_NEAR(added[1].ms - added[0].ms, 22, 1);  // 20 ms, fixed in both clients
  EXPECT_EQ(p.settled(Kind::commit_transaction)[0].outcome, Outcome::ok);
}

TEST_P(KafkaTransactions, AFencedProducerIsDone) {
  Lab lab = make(GetParam());
  Puppet& p = lab["work-0"];
  lab.fakes.errors[RequestKind::end_txn] = {Error::invalid_producer_epoch};
  begin(p, ms(100));
  publish(p, ms(110), 1);
  commit(p, ms(200));
  begin(p, ms(300));
  lab.run_until(ms(1000));
  ASSERT_EQ(p.settled(Kind::commit_transaction).size(), 1u);
  EXPECT_EQ(p.settled(Kind::commit_transaction)[0].outcome, Outcome::fail);
  EXPECT_EQ(p.settled(Kind::commit_transaction)[0].error, ErrorClass::fenced);
  EXPECT_EQ(p.settled(Kind::begin)[1].error, ErrorClass::fenced);
}

TEST_P(KafkaTransactions, AFencedCommitAfterALostAnswerIsUnknown) {
  Lab lab = make(GetParam());
  Puppet& p = lab["work-0"];
  lab.fakes.errors[RequestKind::end_txn] = {Error::timed_out_local, Error::producer_fenced};
  begin(p, ms(100));
  publish(p, ms(110), 1);
  commit(p, ms(200));
  lab.run_until(ms(9000));
  EXPECT_EQ(p.settled(Kind::commit_transaction)[0].outcome, Outcome::unknown);
  EXPECT_EQ(p.settled(Kind::commit_transaction)[0].error, ErrorClass::fenced);
}

TEST_P(KafkaTransactions, OffsetsOfAnOldGenerationCallForAnAbort) {
  Lab lab = make(GetParam());
  Puppet& p = lab["work-0"];
  lab.fakes.errors[RequestKind::txn_offset_commit] = {Error::illegal_generation};
  begin(p, ms(100));
  publish(p, ms(110), 1);
  offsets(p, ms(150));
  commit(p, ms(200));
  abort(p, ms(300));
  begin(p, ms(400));
  lab.run_until(ms(1000));
  EXPECT_EQ(p.settled(Kind::offsets_to_transaction)[0].error, ErrorClass::abortable);
  EXPECT_EQ(p.settled(Kind::commit_transaction)[0].error, ErrorClass::abortable);
  EXPECT_EQ(p.settled(Kind::abort_transaction)[0].outcome, Outcome::ok);
  EXPECT_EQ(p.settled(Kind::begin)[1].outcome, Outcome::ok);
  ASSERT_EQ(lab.fakes.of(RequestKind::end_txn).size(), 1u);
  EXPECT_FALSE(lab.fakes.of(RequestKind::end_txn)[0].commit);
}

TEST_P(KafkaTransactions, AnAbortGivesUpWhatIsQueued) {
  Lab lab = make(GetParam(), {{"linger.ms", "3000"}});
  Puppet& p = lab["work-0"];
  begin(p, ms(100));
  publish(p, ms(110), 1);
  abort(p, ms(200));
  lab.run_until(ms(1000));
  EXPECT_EQ(kinds(lab.fakes), (Kinds{RequestKind::add_partitions_to_txn, RequestKind::end_txn}));
  ASSERT_EQ(p.settled(Kind::publish).size(), 1u);
  EXPECT_EQ(p.settled(Kind::publish)[0].outcome, Outcome::fail);
  EXPECT_EQ(p.settled(Kind::abort_transaction)[0].outcome, Outcome::ok);
}

TEST_P(KafkaTransactions, ARefusedRecordCallsForAnAbortAndANewEpoch) {
  Lab lab = make(GetParam());
  Puppet& p = lab["work-0"];
  lab.fakes.errors[RequestKind::produce] = {Error::message_too_large};
  begin(p, ms(100));
  publish(p, ms(110), 1);
  commit(p, ms(200));
  abort(p, ms(300));
  begin(p, ms(900));
  publish(p, ms(910), 2);
  commit(p, ms(950));
  lab.run_until(ms(2000));
  EXPECT_EQ(p.settled(Kind::publish)[0].error, ErrorClass::abortable);
  EXPECT_EQ(p.settled(Kind::commit_transaction)[0].error, ErrorClass::abortable);
  EXPECT_EQ(p.settled(Kind::abort_transaction)[0].outcome, Outcome::ok);
  EXPECT_EQ(p.settled(Kind::commit_transaction)[1].outcome, Outcome::ok);
  const auto inits = lab.fakes.of(RequestKind::init_producer_id);
  ASSERT_EQ(inits.size(), 2u);
  EXPECT_EQ(inits[1].epoch, 0);  // names the epoch it wants raised (KIP-360)
  const auto produced = lab.fakes.of(RequestKind::produce);
  EXPECT_EQ(produced.back().batches[0].sequence, 0);
  EXPECT_EQ(produced.back().batches[0].epoch, 1);
}

TEST_P(KafkaTransactions, TheCoordinatorMoves) {
  Lab lab = make(GetParam());
  Puppet& p = lab["work-0"];
  lab.fakes.errors[RequestKind::end_txn] = {Error::not_coordinator, Error::coordinator_load_in_progress};
  begin(p, ms(100));
  publish(p, ms(110), 1);
  commit(p, ms(200));
  lab.run_until(ms(2000));
  EXPECT_EQ(lab.fakes.of(RequestKind::end_txn).size(), 3u);
  EXPECT_EQ(p.settled(Kind::commit_transaction)[0].outcome, Outcome::ok);
}

}  // namespace
}  // namespace mqlab::sim::kafka::client_test
