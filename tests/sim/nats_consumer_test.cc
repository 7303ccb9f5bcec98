#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/nats_run.h"

namespace mqlab::sim::nats {
namespace {

using testing::ElementsAre;

TEST(NatsConsumer, GivesMessagesInStreamOrderWithSequenceAndAttempt) {
  ScenarioRun run(system());
  run.script("p", publisher(3));
  run.script("c-0", consumer(1, ack));
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1, 2, 3));
  const auto rows = run.rows(Kind::deliver);
  EXPECT_EQ(rows[1].position, 2);
  EXPECT_EQ(rows[1].attempt, 1);
  EXPECT_EQ(run.committed(), 4);
  EXPECT_TRUE(run.quiet());
}

// broker-facts vector 9: m1 is not acked, m2 and m3 are.
TEST(NatsConsumer, AMessageNotAcknowledgedComesAgainAfterItsTime) {
  ScenarioRun run(system());
  run.script("p", publisher(3));
  run.script("c-0", consumer(1, [](const Message& m, Effects& e) {
               if (m.id != 1 || m.attempt == 2) ack(m, e);
             }));
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1, 2, 3, 1));
  const auto rows = run.rows(Kind::deliver);
  EXPECT_EQ(rows[3].attempt, 2);
  // 30 s and the timer's millisecond; then the client is between two fetches of 1 s for another 3 ms.
  EXPECT_NEAR(at(rows[3]) - at(rows[0]), 30.00423, 0.0001);
}

TEST(NatsConsumer, OneAckPendingKeepsOrderAndWaits) {
  ScenarioRun run(system("", "max_ack_pending = 1"));
  run.script("p", publisher(3));
  run.script("c-0", consumer(1, [](const Message& m, Effects& e) {
               if (m.id != 1 || m.attempt == 2) ack(m, e);
             }));
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1, 1, 2, 3));
  EXPECT_NEAR(at(run.rows(Kind::deliver)[1]), 30.0, 0.1);
}

// Both the expired m1 and the new m4 are ready when the consumer asks again: m1 goes first.
TEST(NatsConsumer, RedeliveryGoesBeforeNewMessages) {
  ScenarioRun run(system("", "ack_wait = \"1s\""));
  run.script("p", [](const Now&, const Event& e, Effects& effects) {
    if (e.kind == EventKind::start) effects.publish(0, message(1));
    if (e.kind == EventKind::invoke) effects.publish(0, message(4));  // at 1 s
  });
  run.script("c-0",
             [](const Now&, const Event& e, Effects& effects) {
               if (e.kind == EventKind::start) effects.fetch(0, 1);
               if (e.kind == EventKind::tick) effects.fetch(0, 10);
               for (const Message& m : e.messages) {
                 if (m.attempt > 1 || m.id != 1) ack(m, effects);
               }
             },
             {Duration::seconds(2)});
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1, 1, 4));
}

TEST(NatsConsumer, NackGivesItBackAtOnceOrAfterADelay) {
  ScenarioRun run(system());
  run.script("p", publisher(2));
  run.script("c-0", consumer(1, [](const Message& m, Effects& e) {
               if (m.attempt == 3) return ack(m, e);
               if (m.id == 1) e.nack({&m.receipt, 1}, m.attempt == 1 ? Duration{} : Duration::seconds(5));
               if (m.id == 2) ack(m, e);
             }));
  run.run();
  const auto rows = run.rows(Kind::deliver);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1, 1, 2, 1));
  EXPECT_LT(at(rows[1]) - at(rows[0]), 0.01);
  EXPECT_NEAR(at(rows[3]) - at(rows[1]), 5.0, 0.02);
  EXPECT_EQ(run.committed(), 3);
}

TEST(NatsConsumer, InProgressStartsTheTimeAgain) {
  ScenarioRun run(system("", "ack_wait = \"2s\""));
  run.script("p", publisher(1));
  std::uint64_t receipt = 0;
  run.script("c-0",
             [&](const Now& now, const Event& e, Effects& effects) {
               if (e.kind == EventKind::start) effects.fetch(0, 1);
               if (e.kind == EventKind::delivered) {
                 receipt = e.messages[0].receipt;
                 effects.fetch(0, 1);
               }
               if (e.kind != EventKind::tick) return;
               if (now.mono < Instant{} + Duration::seconds(6)) {
                 effects.progress({&receipt, 1});
               } else {
                 effects.ack({&receipt, 1});
               }
             },
             {Duration::millis(1500), Duration::seconds(3), Duration::millis(4500), Duration::seconds(6)});
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1));
  EXPECT_EQ(run.committed(), 2);
}

TEST(NatsConsumer, TerminatedIsDoneWith) {
  ScenarioRun run(system("", "ack_wait = \"1s\""));
  run.script("p", publisher(1));
  run.script("c-0", consumer(1, [](const Message& m, Effects& e) { e.terminate({&m.receipt, 1}); }));
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1));
  EXPECT_EQ(run.committed(), 2);
}

// Case: seq 1 three times, then seq 2 three times, then silence; both stay in the stream.
TEST(NatsConsumer, BeyondMaxDeliverAMessageIsPassedOver) {
  ScenarioRun run(system("", "ack_wait = \"1s\", max_deliver = 3, max_ack_pending = 1"));
  run.script("p", publisher(2));
  run.script("c-0", consumer(1, [](const Message&, Effects&) {}));
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_THAT(run.stored(), ElementsAre(1, 2));
  EXPECT_EQ(run.committed(), 3);
  EXPECT_TRUE(run.quiet());
}

TEST(NatsConsumer, BackoffReplacesAckWaitByDelivery) {
  ScenarioRun run(system("", "backoff = [\"1s\", \"3s\", \"7s\"], max_deliver = 5"));
  run.script("p", publisher(1));
  run.script("c-0", consumer(1, [](const Message&, Effects&) {}));
  run.run();
  const auto rows = run.rows(Kind::deliver);
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_NEAR(at(rows[1]) - at(rows[0]), 1.0, 0.01);
  EXPECT_NEAR(at(rows[2]) - at(rows[1]), 3.0, 0.01);
  EXPECT_NEAR(at(rows[3]) - at(rows[2]), 7.0, 0.01);
  EXPECT_NEAR(at(rows[4]) - at(rows[3]), 7.0, 0.01);
}

TEST(NatsConsumer, AckAllCoversWhatWasDeliveredBefore) {
  ScenarioRun run(system("", "ack_policy = \"all\", ack_wait = \"1s\""));
  run.script("p", publisher(3));
  run.script("c-0", consumer(1, [](const Message& m, Effects& e) {
               if (m.id == 3) ack(m, e);
             }));
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1, 2, 3));
  EXPECT_EQ(run.committed(), 4);
}

TEST(NatsConsumer, AckNoneGivesEachOnce) {
  ScenarioRun run(system("", "ack_policy = \"none\""));
  EXPECT_FALSE(run.setup().capabilities[run.process("c-0")].negative_ack);
  run.script("p", publisher(3));
  run.script("c-0", consumer(2, [](const Message&, Effects&) {}));
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1, 2, 3));
}

// nats-server#4786: the ack of an earlier delivery settles the later one too.
TEST(NatsConsumer, ALateAckSettlesAnothersDelivery) {
  const std::string two =
      "[[stages]]\nname = \"d\"\nmodule = \"consumer\"\ninput = \"s\"\nconsumer = { durable = \"c\" }\n";
  ScenarioRun run(system("", "ack_wait = \"1s\"", "", "", two));
  run.script("p", publisher(1));
  std::uint64_t receipt = 0;
  run.script("c-0",
             [&](const Now&, const Event& e, Effects& effects) {
               if (e.kind == EventKind::start) effects.fetch(0, 1);
               if (e.kind == EventKind::delivered) receipt = e.messages[0].receipt;
               if (e.kind == EventKind::tick) effects.ack({&receipt, 1});
             },
             {Duration::millis(1500)});
  run.script("d-0",
             [](const Now&, const Event& e, Effects& effects) {
               if (e.kind == EventKind::tick || e.kind == EventKind::delivered) effects.fetch(0, 1);
             },
             {Duration::millis(100)});
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1));
  EXPECT_THAT(run.delivered("d-0"), ElementsAre(1));  // at 1 s, and never again though d does not ack it
  EXPECT_EQ(run.committed(), 2);
  EXPECT_TRUE(run.quiet());
}

TEST(NatsConsumer, RequestsTakeTurns) {
  const std::string two =
      "[[stages]]\nname = \"d\"\nmodule = \"consumer\"\ninput = \"s\"\nconsumer = { durable = \"c\" }\n";
  ScenarioRun run(system("", "", "", "", two));
  run.script("p", [](const Now&, const Event& e, Effects& effects) {
    if (e.kind != EventKind::invoke) return;  // at 1 s: both wait by then
    for (MessageId id = 1; id <= 4; ++id) effects.publish(0, message(id));
  });
  for (const char* name : {"c-0", "d-0"}) run.script(name, consumer(10, ack));
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1, 3));
  EXPECT_THAT(run.delivered("d-0"), ElementsAre(2, 4));
}

TEST(NatsConsumer, AFetchOfManyTakesWhatThereIs) {
  ScenarioRun run(system());
  run.script("p", publisher(3));
  run.script("c-0", [](const Now&, const Event& e, Effects& effects) {
    if (e.kind == EventKind::start) effects.fetch(0, 10, Duration::seconds(3));
    if (e.kind == EventKind::delivered && !e.messages.empty()) effects.fetch(0, 10, Duration::seconds(3));
  });
  run.run();
  const auto answers = run.rows(Kind::fetch, Phase::ok);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].aux, 3);
  EXPECT_LT(at(answers[0]), 0.01);
  EXPECT_EQ(answers[1].aux, 0);  // nothing more within its time
  EXPECT_NEAR(at(answers[1]) - at(answers[0]), 3.0, 0.001);
}

// Held back by max_ack_pending, the library waits for the rest until its request of 1 s runs out.
TEST(NatsConsumer, AFetchBeyondMaxAckPendingWaitsItsRequestOut) {
  ScenarioRun run(system("", "max_ack_pending = 2"));
  run.script("p", publisher(5));
  run.script("c-0", consumer(4, ack));
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1, 2, 3, 4, 5));
  const auto answers = run.rows(Kind::fetch, Phase::ok);
  EXPECT_EQ(answers[0].aux, 2);
  EXPECT_NEAR(at(answers[0]), 0.99, 0.001);
}

// A waiting application's fetch is a chain of requests; the server drops each 10 ms before the next one
// comes.
TEST(NatsConsumer, BetweenTwoFetchesNobodyWaits) {
  ScenarioRun run(system("", "expires = \"500ms\""));
  run.script("p",
             [](const Now&, const Event& e, Effects& effects) {
               static MessageId id = 0;
               if (e.kind == EventKind::start) id = 0;
               if (e.kind == EventKind::tick) effects.publish(0, message(++id));
             },
             {Duration::millis(200), Duration::millis(695)});
  run.script("c-0", consumer(1, ack));
  run.run();
  const auto rows = run.rows(Kind::deliver);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_NEAR(at(rows[0]), 0.2014, 0.0001);
  // The second fetch began at 201 ms and its request arrived 1.2 ms later; the next one comes 500 ms after
  // it.
  EXPECT_NEAR(at(rows[1]), 0.7028, 0.0005);
}

// Acks and pull requests are worked off by two threads of the server: measured on a real one, a message whose
// ack comes after its time, together with the next pull, is given out again in three cases of five.
TEST(NatsConsumer, APullMayOvertakeTheAckBeforeIt) {
  int again = 0;
  const int trials = 200;
  for (std::uint64_t seed = 1; seed <= trials; ++seed) {
    ScenarioRun run(system("", "ack_wait = \"200ms\""));
    run.script("p", publisher(1));
    std::uint64_t receipt = 0;
    run.script("c-0",
               [&](const Now&, const Event& e, Effects& effects) {
                 if (e.kind == EventKind::start) effects.fetch(0, 1);
                 for (const Message& m : e.messages) {
                   receipt = m.receipt;
                   if (m.attempt > 1) effects.ack({&receipt, 1});
                 }
                 if (e.kind != EventKind::tick) return;
                 effects.ack({&receipt, 1});
                 effects.fetch(0, 1);
               },
               {Duration::millis(300)});
    run.run(seed);
    EXPECT_EQ(run.committed(), 2);
    again += run.delivered("c-0").size() > 1 ? 1 : 0;
  }
  EXPECT_NEAR(again, trials * 61 / 100, 20);
}

TEST(NatsConsumer, DoubleAckSettlesWhenTheServerHasConfirmed) {
  ScenarioRun plain(system()), confirmed(system("", "ack_sync = true"));
  for (ScenarioRun* run : {&plain, &confirmed}) {
    run->script("p", publisher(1));
    run->script("c-0", consumer(1, ack));
    run->run();
  }
  const auto took = [](ScenarioRun& run) {
    return run.rows(Kind::ack, Phase::ok).at(0).time - run.rows(Kind::ack, Phase::invoke).at(0).time;
  };
  EXPECT_EQ(took(plain), 0);
  EXPECT_NEAR(static_cast<double>(took(confirmed)), 1.407e6, 5e3);  // 1 ms of the flusher and a round trip
}

TEST(NatsConsumer, AKilledClientsRequestIsForgotten) {
  ScenarioRun run(system("", "ack_wait = \"20s\"", "", "", R"(
[[fault]]
at = { time = "500ms" }
action = "kill"
target = "c-0"
heal = "3s"
)"));
  run.script("p", [](const Now&, const Event& e, Effects& effects) {
    if (e.kind == EventKind::invoke) effects.publish(0, message(1));  // at 1 s, when nobody is there
  });
  run.script("c-0", consumer(1, ack));
  run.run();
  const auto rows = run.rows(Kind::deliver);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].attempt, 1);  // it was not given to the dead one
  EXPECT_NEAR(at(rows[0]), 3.5, 0.01);
}

// Killed with a message in hand: it comes to the next incarnation, as delivery 2, when its time is over.
TEST(NatsConsumer, WhatADeadClientHeldComesAgain) {
  ScenarioRun run(system("", "ack_wait = \"5s\"", "", "", R"(
[[fault]]
at = { process = "c-0", step = "deliver", message = 1 }
action = "kill"
heal = "1s"
)"));
  run.script("p", publisher(2));
  run.script("c-0", consumer(1, ack));
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1, 2, 1));
  EXPECT_EQ(run.rows(Kind::deliver)[2].attempt, 2);
  EXPECT_EQ(run.committed(), 3);
}

// Case nats.go#1929, seen on a real server (scaled): ack_wait 3 s, handler 2.8 s, ten records fetched in one
// batch by the first of two workers. It handles 1 to 10; from 3 s on the server hands 2 to 10 to the second
// one as well.
TEST(NatsConsumer, ABatchHandledOneByOnePassesTheAckWait) {
  ScenarioRun run(R"(
name = "t"
[broker]
kind = "nats"
[[streams]]
name = "s"
[workload]
name = "p"
topic = "s"
rate = "1/s"
messages = 1
[[stages]]
name = "w"
module = "consumer"
instances = 2
input = "s"
service_time = "2800ms"
batch = 10
consumer = { ack_wait = "3s" }
)");
  run.script("p", publisher(10));
  run.run();
  const auto first = run.rows(Kind::handle, "w-0"), second = run.rows(Kind::handle, "w-1");
  ASSERT_GE(first.size(), 10u);
  for (MessageId id = 1; id <= 10; ++id) EXPECT_EQ(first[id - 1].message, id);
  ASSERT_GE(second.size(), 9u);
  EXPECT_EQ(second[0].message, 2u);
  EXPECT_NEAR(at(second[0]) - at(first[0]), 3.0, 0.01);
  EXPECT_GE(first.size() + second.size(), 19u);
  EXPECT_LE(first.size() + second.size(), 21u);
  EXPECT_TRUE(run.quiet());
}

// Case flink-connector-nats#109: acks only once a second cap the rate at max_ack_pending per second.
TEST(NatsConsumer, AcksOncePerPeriodCapTheRate) {
  ScenarioRun run(system("", "max_ack_pending = 100, ack_policy = \"all\""));
  run.script("p", publisher(1000));
  std::uint64_t latest = 0;
  std::vector<std::size_t> by_second;
  std::size_t got = 0;
  std::vector<Duration> seconds;
  for (int i = 1; i <= 5; ++i) seconds.push_back(Duration::seconds(i));
  run.script(
      "c-0",
      [&](const Now&, const Event& e, Effects& effects) {
        if (e.kind == EventKind::tick) {
          by_second.push_back(got);
          effects.ack({&latest, 1});
        }
        for (const Message& m : e.messages) latest = m.receipt;
        got += e.messages.size();
        if (e.kind == EventKind::start || e.kind == EventKind::delivered) effects.fetch(0, 10);
      },
      seconds);
  run.run();
  EXPECT_THAT(by_second, ElementsAre(100, 200, 300, 400, 500));
}

}  // namespace
}  // namespace mqlab::sim::nats
