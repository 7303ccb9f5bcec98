// What a stream keeps and refuses. The figures are those of nats-server 2.15.1 with nats.c 3.4.1, byte by
// byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/brokers/nats/protocol.h"
#include "tests/sim/nats_run.h"

namespace mqlab::sim::nats {
namespace {

using testing::ElementsAre;

struct Sent {
  MessageId id;
  std::uint32_t size = 100;
  std::uint32_t key = 0;
};

/// All at once at the start; the stream's subject is "s.*".
ScenarioRun sends(const std::string& properties, const std::vector<Sent>& what,
                  const std::string& producer = "", const std::string& broker = "") {
  ScenarioRun run(system("subjects = [\"s.*\"]\nproperties = { " + properties + " }", "", producer, broker));
  run.script("p", [what](const Now&, const Event& event, Effects& effects) {
    if (event.kind != EventKind::start) return;
    for (const Sent& s : what) {
      Message m = message(s.id, s.size);
      m.key = s.key;
      effects.publish(0, m);
    }
  });
  run.script("c-0", silent());
  return run;
}

/// The largest value of message 1 that is taken.
std::uint32_t largest(const std::string& properties, std::uint32_t from, std::uint32_t to,
                      const std::string& producer = "", const std::string& broker = "") {
  for (std::uint32_t size = from; size <= to; ++size) {
    ScenarioRun run = sends(properties, {{1, size}}, producer, broker);
    run.run();
    if (run.acked().empty()) return size - 1;
  }
  return to;
}

TEST(NatsLimits, SizesToTheByte) {
  // Header of id "1": 28 bytes.
  EXPECT_EQ(largest("max_msg_size = 100", 60, 110), 72u);
  EXPECT_EQ(largest("max_msg_size = 100", 60, 110, "msg_id = false"), 100u);
  const std::string small = "properties = { max_payload = 1000 }";
  EXPECT_EQ(largest("", 950, 1010, "", small), 972u);
  EXPECT_EQ(largest("", 950, 1010, "msg_id = false", small), 1000u);
  // In a file: 30 bytes, subject "s.m" of 3, header with its length of 4. In memory: 16 bytes and the
  // subject.
  const std::string bytes = "discard = \"new\", max_bytes = 500";
  EXPECT_EQ(largest(bytes, 430, 490), 435u);
  EXPECT_EQ(largest(bytes, 430, 490, "msg_id = false"), 467u);
  EXPECT_EQ(largest(bytes + ", storage = \"memory\"", 430, 490, "msg_id = false"), 481u);
}

TEST(NatsLimits, TooLargeIsSaidByWhoeverNoticesFirst) {
  ScenarioRun client = sends("", {{1, 2000}}, "", "properties = { max_payload = 1000 }");
  client.run();
  EXPECT_EQ(client.rows(Kind::publish, Phase::fail).at(0).code, 21);  // NATS_MAX_PAYLOAD
  EXPECT_TRUE(client.rows(Kind::request, "p").empty());
  ScenarioRun server = sends("max_msg_size = 1000", {{1, 2000}});
  server.run();
  EXPECT_EQ(server.rows(Kind::publish, Phase::fail).at(0).code, code::exceeds_maximum);
}

TEST(NatsLimits, DiscardOldDropsTheOldest) {
  ScenarioRun count = sends("max_msgs = 3", {{1}, {2}, {3}, {4}, {5}});
  count.run();
  EXPECT_THAT(count.stored(), ElementsAre(3, 4, 5));
  EXPECT_THAT(count.acked(), ElementsAre(1, 2, 3, 4, 5));
  ScenarioRun bytes = sends("max_bytes = 500", {{1}, {2}, {3}, {4}});  // 165 bytes each
  bytes.run();
  EXPECT_THAT(bytes.stored(), ElementsAre(2, 3, 4));
  // What is larger than all there is room for is acknowledged, and gone with all others.
  ScenarioRun huge = sends("max_bytes = 500", {{1}, {2, 600}});
  huge.run();
  EXPECT_THAT(huge.acked(), ElementsAre(1, 2));
  EXPECT_THAT(huge.stored(), ElementsAre());
}

TEST(NatsLimits, DiscardNewRefuses) {
  ScenarioRun run = sends("discard = \"new\", max_msgs = 3", {{1}, {2}, {3}, {4}, {5}});
  run.run();
  EXPECT_THAT(run.stored(), ElementsAre(1, 2, 3));
  const auto refused = run.rows(Kind::publish, Phase::fail);
  ASSERT_EQ(refused.size(), 2u);
  EXPECT_EQ(refused[0].code, code::store_failed);
}

TEST(NatsLimits, PerSubject) {
  const std::vector<Sent> what = {{1, 100, 1}, {2, 100, 2}, {3, 100, 1}, {4, 100, 2}, {5, 100, 1}};
  ScenarioRun old = sends("max_msgs_per_subject = 2", what);
  old.run();
  EXPECT_THAT(old.stored(), ElementsAre(2, 3, 4, 5));
  ScenarioRun last = sends("max_msgs_per_subject = 1", what);
  last.run();
  EXPECT_THAT(last.stored(), ElementsAre(4, 5));
  // discard = new alone refuses nothing here: the new one takes the place of its subject's oldest.
  ScenarioRun replaced = sends("max_msgs_per_subject = 2, discard = \"new\"", what);
  replaced.run();
  EXPECT_THAT(replaced.stored(), ElementsAre(2, 3, 4, 5));
  ScenarioRun refused =
      sends("max_msgs_per_subject = 2, discard = \"new\", discard_new_per_subject = true", what);
  refused.run();
  EXPECT_THAT(refused.stored(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(refused.rows(Kind::publish, Phase::fail).at(0).code, code::store_failed);
}

// a, b, c, then d: refused; a and b again: they replace the old ones, which max_msgs does not mind.
TEST(NatsLimits, AMessageThatReplacesIsNotHeldAgainstMaxMsgs) {
  ScenarioRun run = sends("max_msgs = 3, max_msgs_per_subject = 1, discard = \"new\"",
                          {{1, 10, 1}, {2, 10, 2}, {3, 10, 3}, {4, 10, 4}, {5, 10, 1}, {6, 10, 2}});
  run.run();
  EXPECT_THAT(run.stored(), ElementsAre(3, 5, 6));
  EXPECT_EQ(run.rows(Kind::publish, Phase::fail).at(0).message, 4u);
}

// The id of a stored message is known before the stream is found full; that of a refused one is not.
TEST(NatsLimits, ARepeatIsRecognisedWhenFullButARefusalIsForgotten) {
  ScenarioRun run = sends("max_msgs = 1, discard = \"new\"", {{1}, {2}, {1}, {2}});
  run.run();
  const auto ok = run.rows(Kind::publish, Phase::ok);
  ASSERT_EQ(ok.size(), 2u);
  EXPECT_EQ(ok[1].message, 1u);
  EXPECT_EQ(ok[1].position, 1);
  EXPECT_EQ(run.rows(Kind::publish, Phase::fail).size(), 2u);
}

// Measured: ten messages 130 ms apart with max_age 1 s go two at a time, every 250 ms, the first ones after
// 1.25 s from a file and after 1 s from memory.
TEST(NatsLimits, MaxAge) {
  for (const bool memory : {false, true}) {
    ScenarioRun run(
        system(std::string("properties = { max_age = \"1s\", duplicate_window = \"100ms\", storage = \"") +
               (memory ? "memory" : "file") + "\" }"));
    std::vector<Duration> ticks;
    for (int i = 0; i < 10; ++i) ticks.push_back(Duration::millis(130 * i));
    for (int i = 0; i < 25; ++i) ticks.push_back(Duration::millis(1180 + 50 * i));
    std::vector<std::size_t> left;
    run.script(
        "p",
        [](const Now& now, const Event& e, Effects& effects) {
          if (e.kind == EventKind::tick && now.mono < Instant{} + Duration::millis(1175))
            effects.publish(0, message(static_cast<MessageId>(now.mono.ns / 130'000'000 + 1)));
        },
        ticks);
    std::vector<MessageId> got;
    // At 1.3 s a reader comes: what is there then, it is given.
    run.script("c-0",
               [&](const Now&, const Event& e, Effects& effects) {
                 if (e.kind == EventKind::tick) effects.fetch(0, 20);
                 for (const Message& m : e.messages) got.push_back(m.id);
               },
               {Duration::millis(1300)});
    run.run();
    EXPECT_THAT(got, ElementsAre(3, 4, 5, 6, 7, 8, 9, 10)) << memory;
    EXPECT_TRUE(run.stored().empty());
  }
}

// Case: three stored and acknowledged, the fourth refused under limits, stored in a work queue.
TEST(NatsLimits, AcknowledgedMessagesTakeRoomUnlessTheStreamIsAWorkQueue) {
  for (const std::string retention : {"limits", "workqueue", "interest"}) {
    ScenarioRun run(
        system("properties = { max_msgs = 3, discard = \"new\", retention = \"" + retention + "\" }"));
    run.script("p", [](const Now&, const Event& e, Effects& effects) {
      if (e.kind == EventKind::start)
        for (MessageId id = 1; id <= 3; ++id) effects.publish(0, message(id));
      if (e.kind == EventKind::invoke) effects.publish(0, message(4));  // at 1 s
    });
    run.script("c-0", consumer(1, ack));
    run.run();
    const bool refused = retention == "limits";
    EXPECT_EQ(run.rows(Kind::publish, Phase::fail).size(), refused ? 1u : 0u) << retention;
    EXPECT_EQ(run.stored().size(), refused ? 3u : 0u) << retention;
  }
}

// Case: past max_deliver the messages stay in the work queue and nobody is ever given them.
TEST(NatsLimits, WhatNobodyAcknowledgedStaysInAWorkQueue) {
  ScenarioRun run(system("properties = { retention = \"workqueue\" }",
                         "ack_wait = \"1s\", max_deliver = 3, max_ack_pending = 1"));
  run.script("p", publisher(2));
  run.script("c-0", consumer(1, [](const Message&, Effects&) {}));
  run.run();
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_THAT(run.stored(), ElementsAre(1, 2));
  EXPECT_TRUE(run.quiet());
}

// Where nobody is interested a message is acknowledged and gone at once.
TEST(NatsLimits, InterestOfNobody) {
  ScenarioRun run(system("properties = { retention = \"interest\" }", "ordered = true"));
  run.script("p", publisher(2));
  run.script("c-0", silent());
  run.run();
  EXPECT_THAT(run.acked(), ElementsAre(1, 2));
  EXPECT_TRUE(run.stored().empty());
}

}  // namespace
}  // namespace mqlab::sim::nats
