#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/scenario/error.h"
#include "tests/sim/nats_run.h"

namespace mqlab::sim::nats {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

std::vector<MessageId> up_to(MessageId n) {
  std::vector<MessageId> ids;
  for (MessageId id = 1; id <= n; ++id) ids.push_back(id);
  return ids;
}
std::string stage(const std::string& name, const std::string& consumer) {
  return "[[stages]]\nname = \"" + name + "\"\nmodule = \"consumer\"\ninput = \"s\"\nconsumer = { " +
         consumer + " }\n";
}

TEST(NatsPush, ComesWithoutBeingAskedForAndWaitsInTheClient) {
  ScenarioRun run(system("", "push = true"));
  run.script("p", publisher(5));
  run.script("c-0",
             [](const Now&, const Event& e, Effects& effects) {
               if (e.kind == EventKind::tick) effects.fetch(0, 3);
               for (const Message& m : e.messages) ack(m, effects);
               if (e.kind == EventKind::delivered) effects.fetch(0, 3);
             },
             {Duration::seconds(2)});
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAreArray(up_to(5)));
  EXPECT_EQ(at(run.rows(Kind::deliver)[0]), 2.0);  // it had been there for long
  const auto answers = run.rows(Kind::fetch, Phase::ok);
  EXPECT_EQ(answers[0].aux, 3);
  EXPECT_EQ(answers[1].aux, 2);
  EXPECT_EQ(run.committed(), 6);
  EXPECT_TRUE(run.quiet());
}

// The time to acknowledge runs from the delivery to the client: what waits there too long comes again.
TEST(NatsPush, WhatExpiresInTheClientIsDeliveredAgain) {
  ScenarioRun run(system("", "push = true, ack_wait = \"500ms\""));
  run.script("p", publisher(2));
  run.script("c-0",
             [](const Now&, const Event& e, Effects& effects) {
               if (e.kind == EventKind::tick) effects.fetch(0, 10);
               for (const Message& m : e.messages) ack(m, effects);
             },
             {Duration::millis(700)});
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1, 2, 1, 2));
  const auto rows = run.rows(Kind::deliver);
  EXPECT_EQ(rows[0].attempt, 1);
  EXPECT_EQ(rows[2].attempt, 2);
}

TEST(NatsPush, AQueueGroupSharesEachMessageGoesToOne) {
  ScenarioRun run(system("", "push = true, deliver_group = \"g\"", "", "",
                         stage("d", "durable = \"c\", push = true, deliver_group = \"g\"")));
  run.script("p", publisher(100));
  for (const char* name : {"c-0", "d-0"}) run.script(name, consumer(10, ack));
  run.run();
  const auto c = run.delivered("c-0"), d = run.delivered("d-0");
  EXPECT_EQ(c.size() + d.size(), 100u);
  EXPECT_GT(c.size(), 25u);
  EXPECT_GT(d.size(), 25u);
  EXPECT_THROW(
      ScenarioRun(system("", "push = true", "", "",
                         "[[stages]]\nname = \"d\"\nmodule = \"consumer\"\ninstances = 2\ninput = \"s\"\n"
                         "consumer = { push = true }\n")),
      ScenarioError);
}

TEST(NatsPush, MaxAckPendingHoldsBack) {
  ScenarioRun run(system("", "push = true, max_ack_pending = 2"));
  run.script("p", publisher(5));
  run.script("c-0",
             [](const Now&, const Event& e, Effects& effects) {
               if (e.kind == EventKind::tick) effects.fetch(0, 10);
               for (const Message& m : e.messages) ack(m, effects);
             },
             {Duration::seconds(1), Duration::seconds(2), Duration::seconds(3)});
  run.run();
  const auto answers = run.rows(Kind::fetch, Phase::ok);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0].aux, 2);
  EXPECT_EQ(answers[1].aux, 2);
  EXPECT_EQ(answers[2].aux, 1);
}

// A slow consumer: the library drops what is more than it holds; with acknowledgements it comes again,
// without them it is lost.
TEST(NatsPush, ASlowConsumerDropsMessages) {
  for (const bool acks : {true, false}) {
    ScenarioRun run(system("", std::string("push = true, pending_msgs_limit = 3, ack_policy = \"") +
                                   (acks ? "explicit\", ack_wait = \"2s\"" : "none\"")));
    run.script("p", publisher(5));
    run.script("c-0",
               [](const Now&, const Event& e, Effects& effects) {
                 if (e.kind == EventKind::tick || e.kind == EventKind::delivered) effects.fetch(0, 10);
                 for (const Message& m : e.messages) ack(m, effects);
               },
               {Duration::seconds(1)});
    run.run();
    if (acks)
      EXPECT_THAT(run.delivered("c-0"), ElementsAreArray(up_to(5)));
    else
      EXPECT_THAT(run.delivered("c-0"), ElementsAre(1, 2, 3));
  }
}

// 1 MB messages, a window that begins at 2 MiB and doubles, an application that takes one every 100 ms: at
// most 7 of the 12 wait in the client at a time; without flow control all of them.
TEST(NatsPush, FlowControlKeepsWhatIsUnderWaySmall) {
  std::size_t most[2] = {0, 0};
  for (const bool flow : {true, false}) {
    ScenarioRun run(system("", std::string("push = true, ack_policy = \"none\", pending_msgs_limit = 8") +
                                   (flow ? ", flow_control = true, idle_heartbeat = \"1s\"" : "")));
    run.script("p", publisher(12, 1'000'000));
    run.script(
        "c-0",
        [](const Now&, const Event& e, Effects& effects) {
          if (e.kind == EventKind::tick) effects.fetch(0, 1, Duration::millis(50));
        },
        tenths(60));
    run.run();
    most[flow ? 1 : 0] = run.delivered("c-0").size();
  }
  EXPECT_EQ(most[1], 12u);
  EXPECT_LT(most[0], 12u);  // without it the client is flooded and drops
}

// The first messages and their mark are lost with a server on their way: the heartbeat carries the mark once
// more.
TEST(NatsPush, AHeartbeatFreesAStalledConsumer) {
  const auto fault = [](const char* at, const char* action) {
    return std::string("[[fault]]\nat = \"") + at + "\"\naction = \"" + action +
           "\"\ntarget = \"nats-2\"\nheal = \"60s\"\n";
  };
  ScenarioRun run(system("replicas = 3",
                         "push = true, ack_policy = \"none\", flow_control = true, idle_heartbeat = \"5s\"",
                         "", "nodes = 3", fault("500ms", "pause") + fault("2s", "kill")));
  run.script("p",
             [](const Now&, const Event& e, Effects& effects) {
               if (e.kind != EventKind::tick) return;
               for (MessageId id = 1; id <= 8; ++id) effects.publish(0, message(id, 1'000'000));
             },
             {Duration::seconds(1)});
  run.script("c-0", consumer(1, ack));
  ASSERT_TRUE(run_until(run, [&] {
    const bool by_way_of_it = !run.rows(Kind::down, "c-0").empty() && run.rows(Kind::down, "p").empty();
    return by_way_of_it && run.acked().size() == 8;
  }));
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(4, 5, 6, 7, 8));
  EXPECT_GE(at(run.rows(Kind::deliver)[0]), 6.0);
}

TEST(NatsPush, GoesOnAfterARestartOfTheServerOrTheClient) {
  for (const char* target : {"nats-1", "c-0"}) {
    ScenarioRun run(system("", "push = true, ack_wait = \"2s\"", "", "",
                           std::string("[[fault]]\nat = \"300ms\"\naction = \"kill\"\ntarget = \"") + target +
                               "\"\nheal = \"1s\"\n"));
    run.script("p", steady(), tenths(50));
    run.script("c-0", consumer(10, ack));
    run.run();
    const auto got = run.delivered("c-0");
    const std::set<MessageId> seen(got.begin(), got.end());
    for (const MessageId id : run.acked()) EXPECT_TRUE(seen.contains(id)) << id << " " << target;
    EXPECT_TRUE(run.quiet()) << target;
  }
}

// Seen on nats.c 3.4.1: an ordered consumer is made anew with a reconnect, else at the second look of a clock
// of 10 s that finds nothing heard.
TEST(NatsPush, AnOrderedConsumerNoticesASilentServer) {
  ScenarioRun run(system("replicas = 3", "ordered = true", "", "nodes = 3",
                         "[[fault]]\nat = \"2s\"\naction = \"kill\"\ntarget = \"nats-1\"\nheal = \"60s\"\n"));
  run.script("p", steady(), tenths(300));
  run.script("c-0", consumer(10, ack));
  // It sits on another server than the leader.
  ASSERT_TRUE(run_until(run, [&] { return run.rows(Kind::down, "c-0").empty(); }));
  EXPECT_THAT(run.delivered("c-0"), ElementsAreArray(run.stored()));
  double gap = 0, last = 0;
  for (const Row& row : run.rows(Kind::deliver)) {
    if (at(row) - last > gap && last > 0) gap = at(row) - last;
    last = at(row);
  }
  EXPECT_GT(gap, 16.0);
  EXPECT_LT(gap, 18.5);  // from 2 s to the look at 20 s
}

}  // namespace
}  // namespace mqlab::sim::nats
