// Java's client with transaction.version 2: partitions come with the writes, the end brings the next epoch.
#include "tests/sim/kafka_client_transactions.h"

namespace mqlab::sim::kafka::client_test {
namespace {

constexpr Duration ms(std::int64_t n) { return Duration::millis(n); }

Lab make(std::string version = "4.1") {
  Scenario s = stage_scenario(
      Flavour::java, {{"auto.offset.reset", "earliest"}, {"enable.auto.commit", "false"}}, 1,
      {{"transactional.id", "work-{instance}"}, {"linger.ms", "0"}, {"request.timeout.ms", "2000"}});
  s.brokers[0].version = std::move(version);
  return Lab(std::move(s));
}

TEST(KafkaSecondProtocolClient, NothingIsAddedByRequest) {
  Lab lab = make();
  Puppet& p = lab["work-0"];
  begin(p, ms(100));
  publish(p, ms(110), 1);
  p.at(ms(130), [](Effects& e) {
    const PlacePosition next = {0, 5};
    e.offsets_to_transaction({&next, 1}, 1);
  });
  commit(p, ms(140));
  lab.run_until(ms(1000));
  EXPECT_EQ(kinds(lab.fakes),
            (Kinds{RequestKind::produce, RequestKind::txn_offset_commit, RequestKind::end_txn}));
  EXPECT_EQ(p.settled(Kind::commit_transaction)[0].outcome, Outcome::ok);
}

TEST(KafkaSecondProtocolClient, TheEndBringsTheNextEpochAndSequencesBeginAnew) {
  Lab lab = make();
  Puppet& p = lab["work-0"];
  begin(p, ms(100));
  publish(p, ms(110), 1);
  commit(p, ms(140));
  begin(p, ms(200));
  publish(p, ms(210), 2);
  abort(p, ms(240));
  lab.run_until(ms(1000));
  const auto produced = lab.fakes.of(RequestKind::produce);
  ASSERT_EQ(produced.size(), 2u);
  EXPECT_EQ(produced[0].batches[0].epoch, 0);
  EXPECT_EQ(produced[1].batches[0].epoch, 1);
  EXPECT_EQ(produced[1].batches[0].sequence, 0);
  EXPECT_EQ(lab.fakes.of(RequestKind::end_txn)[1].epoch, 1);
}

TEST(KafkaSecondProtocolClient, AnEndWithoutAnswerIsAskedAgainUnderTheSameEpoch) {
  Lab lab = make();
  Puppet& p = lab["work-0"];
  lab.fakes.errors[RequestKind::end_txn] = {Error::timed_out_local};
  begin(p, ms(100));
  publish(p, ms(110), 1);
  commit(p, ms(200));
  lab.run_until(ms(9000));
  const auto ends = lab.fakes.of(RequestKind::end_txn);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0].epoch, ends[1].epoch);
  EXPECT_EQ(p.settled(Kind::commit_transaction)[0].outcome, Outcome::ok);
}

TEST(KafkaSecondProtocolClient, AnAbortNeedsNoNewIdentity) {
  Lab lab = make();
  Puppet& p = lab["work-0"];
  lab.fakes.errors[RequestKind::produce] = {Error::message_too_large};
  begin(p, ms(100));
  publish(p, ms(110), 1);
  abort(p, ms(300));
  begin(p, ms(900));
  publish(p, ms(910), 2);
  commit(p, ms(950));
  lab.run_until(ms(2000));
  EXPECT_EQ(lab.fakes.of(RequestKind::init_producer_id).size(), 1u);  // the end has raised the epoch
  EXPECT_EQ(lab.fakes.of(RequestKind::produce).back().batches[0].epoch, 1);
  EXPECT_EQ(lab.fakes.of(RequestKind::produce).back().batches[0].sequence, 0);
  EXPECT_EQ(p.settled(Kind::commit_transaction)[0].outcome, Outcome::ok);
}

TEST(KafkaSecondProtocolClient, BrokersBefore40AreSpokenToByTheFirst) {
  Lab lab = make("3.9");
  Puppet& p = lab["work-0"];
  begin(p, ms(100));
  publish(p, ms(110), 1);
  commit(p, ms(140));
  lab.run_until(ms(1000));
  EXPECT_EQ(kinds(lab.fakes),
            (Kinds{RequestKind::add_partitions_to_txn, RequestKind::produce, RequestKind::end_txn}));
}

}  // namespace
}  // namespace mqlab::sim::kafka::client_test
