#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/brokers/nats/protocol.h"
#include "tests/sim/nats_run.h"

namespace mqlab::sim::nats {
namespace {

using testing::ElementsAre;

/// Publishes the given ids, each at its time.
Script at_times(std::vector<std::pair<Duration, MessageId>> plan) {
  return [plan](const Now& now, const Event& e, Effects& effects) {
    if (e.kind != EventKind::tick) return;
    for (const auto& [time, id] : plan) {
      if (Instant{} + time == now.mono) effects.publish(0, message(id));
    }
  };
}
std::vector<Duration> times(const std::vector<std::pair<Duration, MessageId>>& plan) {
  std::vector<Duration> ticks;
  for (const auto& [time, id] : plan) ticks.push_back(time);
  return ticks;
}

/// A run of publishes at given times, with a consumer that does nothing.
ScenarioRun publishes(const std::string& stream, std::vector<std::pair<Duration, MessageId>> plan,
                      const std::string& producer = "", const std::string& broker = "",
                      const std::string& more = "") {
  ScenarioRun run(system(stream, "", producer, broker, more));
  run.script("p", at_times(plan), times(plan));
  run.script("c-0", silent());
  return run;
}

TEST(NatsPublish, IsAnsweredWithTheStreamSequence) {
  ScenarioRun run(system());
  run.script("p", publisher(3));
  run.script("c-0", silent());
  run.run();
  const auto ok = run.rows(Kind::publish, Phase::ok);
  ASSERT_EQ(ok.size(), 3u);
  EXPECT_THAT(run.acked(), ElementsAre(1, 2, 3));
  EXPECT_EQ(ok[2].position, 3);
  // 1 ms of the flusher, two ways of 200 µs, three messages of some 11 µs at the server.
  EXPECT_NEAR(at(ok[0]), 1.432e-3, 5e-6);
  EXPECT_THAT(run.stored(), ElementsAre(1, 2, 3));
  EXPECT_EQ(run.rows(Kind::audit)[1].digest, 2 * 7919u);
}

TEST(NatsPublish, AtOnceWithSendAsap) {
  ScenarioRun run(system("", "", "send_asap = true"));
  run.script("p", publisher(1));
  run.script("c-0", silent());
  run.run();
  EXPECT_NEAR(at(run.rows(Kind::publish, Phase::ok).at(0)), 410e-6, 5e-6);
}

TEST(NatsPublish, ARepeatWithinTheWindowIsADuplicateWithTheFirstSequence) {
  ScenarioRun run =
      publishes("", {{Duration::seconds(1), 5}, {Duration::seconds(2), 6}, {Duration::seconds(25), 5}});
  run.run();
  const auto ok = run.rows(Kind::publish, Phase::ok);
  ASSERT_EQ(ok.size(), 3u);
  EXPECT_EQ(ok[2].position, 1);
  EXPECT_EQ(ok[2].flags & flag::duplicate, flag::duplicate);
  EXPECT_THAT(run.stored(), ElementsAre(5, 6));
}

TEST(NatsPublish, AfterTheWindowItIsStoredAgain) {
  ScenarioRun run = publishes("properties = { duplicate_window = \"1s\" }",
                              {{Duration::seconds(1), 5}, {Duration::seconds(3), 5}});
  run.run();
  EXPECT_THAT(run.stored(), ElementsAre(5, 5));
}

TEST(NatsPublish, WithoutMessageIdEveryPublishIsStored) {
  ScenarioRun run = publishes("", {{Duration::seconds(1), 5}, {Duration::seconds(2), 5}}, "msg_id = false");
  run.run();
  EXPECT_THAT(run.stored(), ElementsAre(5, 5));
  EXPECT_FALSE(run.setup().capabilities[run.process("p")].deduplicates);
}

// The id of a message that a limit removed is remembered, until a restart builds the map from what is stored.
TEST(NatsPublish, IdsOfRemovedMessagesAreForgottenByARestart) {
  const std::vector<std::pair<Duration, MessageId>> plan = {{Duration::seconds(1), 1},
                                                            {Duration::seconds(2), 2},
                                                            {Duration::seconds(3), 1},
                                                            {Duration::seconds(10), 1}};
  const std::string restart =
      "[[fault]]\nat = \"5s\"\naction = \"kill\"\ntarget = \"nats-1\"\nheal = \"1s\"\n";
  ScenarioRun plain = publishes("properties = { max_msgs = 1 }", plan);
  plain.run();
  EXPECT_THAT(plain.stored(), ElementsAre(2));
  ScenarioRun restarted = publishes("properties = { max_msgs = 1 }", plan, "", "", restart);
  restarted.run();
  EXPECT_THAT(restarted.stored(), ElementsAre(1));
}

TEST(NatsPublish, ARestartKeepsTheIdsOfWhatIsStored) {
  ScenarioRun run =
      publishes("", {{Duration::seconds(1), 1}, {Duration::seconds(10), 1}}, "", "",
                "[[fault]]\nat = \"5s\"\naction = \"kill\"\ntarget = \"nats-1\"\nheal = \"1s\"\n");
  run.run();
  EXPECT_THAT(run.stored(), ElementsAre(1));
}

TEST(NatsPublish, DiscardOldDropsTheOldest) {
  ScenarioRun run(system("properties = { max_msgs = 2 }"));
  run.script("p", publisher(5));
  run.script("c-0", silent());
  run.run();
  EXPECT_THAT(run.stored(), ElementsAre(4, 5));
  EXPECT_EQ(run.rows(Kind::audit_end).at(0).position, 6);
}

// Case: limits retention keeps acked messages, so the 4th is refused with 10077.
TEST(NatsPublish, DiscardNewRefuses) {
  ScenarioRun run(system("properties = { max_msgs = 3, discard = \"new\" }"));
  run.script("p", publisher(4));
  run.script("c-0", consumer(1, ack));
  run.run();
  EXPECT_THAT(run.stored(), ElementsAre(1, 2, 3));
  const auto refused = run.rows(Kind::publish, Phase::fail);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].code, code::store_failed);
}

// Case: the same with workqueue retention: acks remove messages, so there is room for the 4th.
TEST(NatsPublish, AWorkQueueMakesRoomByAcks) {
  ScenarioRun run(system("properties = { max_msgs = 3, discard = \"new\", retention = \"workqueue\" }"));
  run.script("p", [](const Now&, const Event& e, Effects& effects) {
    if (e.kind == EventKind::start) {
      for (MessageId id = 1; id <= 3; ++id) effects.publish(0, message(id));
    }
    if (e.kind == EventKind::invoke) effects.publish(0, message(4));  // at 1 s
  });
  run.script("c-0", consumer(1, [](const Message& m, Effects& e) {
               if (m.id != 2) ack(m, e);
             }));
  run.run();
  EXPECT_EQ(run.acked().size(), 4u);
  EXPECT_THAT(run.stored(), ElementsAre(2));
  EXPECT_EQ(run.rows(Kind::audit_end).at(0).position, 5);
  EXPECT_EQ(run.rows(Kind::audit_end).at(0).aux, 1);
}

TEST(NatsPublish, InterestKeepsWhatSomebodyWants) {
  const std::string two = "[[stages]]\nname = \"d\"\nmodule = \"consumer\"\ninput = \"s\"\n";
  ScenarioRun run(system("properties = { retention = \"interest\" }", "", "", "", two));
  run.script("p", publisher(3));
  run.script("c-0", consumer(1, ack));
  run.script("d-0", consumer(1, [](const Message& m, Effects& e) {
               if (m.id == 1) ack(m, e);
             }));
  run.run();
  EXPECT_THAT(run.stored(), ElementsAre(2, 3));
}

TEST(NatsPublish, AWorkQueueHasOneConsumer) {
  const std::string queue = "properties = { retention = \"workqueue\" }";
  EXPECT_THROW(ScenarioRun(system(queue, "", "", "", "[[observers]]\nname = \"o\"\ntopic = \"s\"\n")),
               ScenarioError);
  EXPECT_THROW(ScenarioRun(system(queue, "", "", "",
                                  "[[stages]]\nname = \"d\"\nmodule = \"consumer\"\ninput = \"s\"\n")),
               ScenarioError);
  EXPECT_NO_THROW(ScenarioRun(system(queue)));
}

TEST(NatsPublish, MaxBytesCountsOverheadToo) {
  // A message of 1000 bytes takes 1000 + 22 + 8 + 3 (s.>) + 4 + 38 = 1075.
  ScenarioRun run(system("properties = { max_bytes = 2150 }"));
  run.script("p", publisher(5, 1000));
  run.script("c-0", silent());
  run.run();
  EXPECT_THAT(run.stored(), ElementsAre(4, 5));
}

TEST(NatsPublish, MaxAgeRemoves) {
  ScenarioRun run =
      publishes("properties = { max_age = \"2s\" }", {{Duration::seconds(1), 1}, {Duration::seconds(2), 2}});
  run.run();
  EXPECT_THAT(run.stored(), ElementsAre());
  EXPECT_EQ(run.rows(Kind::audit_end).at(0).position, 3);
}

TEST(NatsPublish, TooLargeForTheStreamOrTheServer) {
  ScenarioRun stream(system("properties = { max_msg_size = 500 }"));
  stream.script("p", publisher(1, 501));
  stream.script("c-0", silent());
  stream.run();
  EXPECT_EQ(stream.rows(Kind::publish, Phase::fail).at(0).code, code::exceeds_maximum);
  ScenarioRun server(system());
  server.script("p", publisher(1, (1 << 20) + 1));
  server.script("c-0", silent());
  server.run();
  const Row refused = server.rows(Kind::publish, Phase::fail).at(0);
  EXPECT_EQ(refused.code, 21);  // NATS_MAX_PAYLOAD, from the library itself
  EXPECT_EQ(refused.time, 0);
}

TEST(NatsPublish, WithoutAnAnswerItsOutcomeIsUnknown) {
  ScenarioRun run = publishes(
      "", {{Duration::seconds(1), 1}}, "ack_timeout = \"3s\"", "",
      "[[fault]]\nat = { process = \"p\", step = \"request.publish\" }\naction = \"drop_response\"\n");
  run.run();
  const auto unknown = run.rows(Kind::publish, Phase::unknown);
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_EQ(at(unknown[0]), 4.0);
  EXPECT_THAT(run.stored(), ElementsAre(1));  // it was stored, though
}

// nats.c tries nothing again by itself; an application that does so as nats.go does sets two repeats.
TEST(NatsPublish, NoRespondersFailsAndIsTriedAgainOnlyIfAsked) {
  // One stream on the first of two servers; the client sits on the other one.
  const std::string kill =
      "[[fault]]\nat = \"500ms\"\naction = \"kill\"\ntarget = \"nats-1\"\nheal = \"2s\"\n";
  ScenarioRun plain = publishes("", {{Duration::seconds(1), 1}}, "", "nodes = 2", kill);
  ScenarioRun run = publishes("", {{Duration::seconds(1), 1}, {Duration::seconds(5), 2}},
                              "retry_attempts = 2", "nodes = 2", kill);
  std::uint64_t seed = 1;
  for (; seed < 20; ++seed) {  // servers are picked at random
    run.run(seed);
    if (run.rows(Kind::down, "p").empty()) break;
  }
  ASSERT_TRUE(run.rows(Kind::down, "p").empty());
  const auto failed = run.rows(Kind::publish, Phase::fail);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].message, 1u);
  EXPECT_EQ(failed[0].code, 34);          // NATS_NO_RESPONDERS
  EXPECT_NEAR(at(failed[0]), 1.5, 0.01);  // two repeats, 250 ms apart
  EXPECT_EQ(run.rows(Kind::request, "p").size(), 4u);
  EXPECT_THAT(run.stored(), ElementsAre(2));
  plain.run(seed);
  EXPECT_NEAR(at(plain.rows(Kind::publish, Phase::fail).at(0)), 1.0014, 0.0001);
}

TEST(NatsPublish, StallsWhenTooManyAreWithoutAnAnswer) {
  ScenarioRun run(system(
      "", "", "max_pending = 2, stall_wait = \"1s\", ack_timeout = \"4s\"", "",
      "[[fault]]\nat = { process = \"p\", step = \"request.publish\" }\naction = \"drop_response\"\n"));
  run.script("p", publisher(4));
  run.script("c-0", silent());
  run.run();
  const auto full = run.rows(Kind::publish, Phase::fail);
  ASSERT_EQ(full.size(), 2u);
  EXPECT_EQ(full[0].message, 3u);
  EXPECT_EQ(full[0].aux, static_cast<std::int64_t>(ErrorClass::full));
  EXPECT_EQ(at(full[0]), 1.0);
  EXPECT_EQ(run.rows(Kind::publish, Phase::unknown).size(), 2u);
  const auto room = run.rows(Kind::unblocked, "p");
  ASSERT_EQ(room.size(), 1u);
  EXPECT_EQ(at(room[0]), 4.0);
}

TEST(NatsPublish, FlushWaitsForAllAnswers) {
  ScenarioRun run(system());
  run.script("p", [](const Now&, const Event& e, Effects& effects) {
    if (e.kind != EventKind::start) return;
    effects.publish(0, message(1));
    effects.flush();
  });
  run.script("c-0", silent());
  run.run();
  EXPECT_EQ(run.rows(Kind::flush, Phase::ok).at(0).time, run.rows(Kind::publish, Phase::ok).at(0).time);
}

TEST(NatsPublish, PayloadsArriveAsTheyWereSent) {
  ScenarioRun run(system());
  const std::string text = "a payload";
  run.script("p", [&](const Now&, const Event& e, Effects& effects) {
    if (e.kind != EventKind::start) return;
    Message m = message(1);
    m.payload = {reinterpret_cast<const std::byte*>(text.data()), static_cast<std::uint32_t>(text.size())};
    effects.publish(0, m);
    effects.publish(0, message(2));
  });
  std::vector<std::string> got;
  run.script("c-0", consumer(10, [&](const Message& m, Effects& e) {
               got.emplace_back(reinterpret_cast<const char*>(m.payload.data), m.payload.size);
               ack(m, e);
             }));
  run.run();
  EXPECT_THAT(got, ElementsAre(text, ""));
}

// The server is killed under the client: what was sent and not answered is unknown, what is published
// meanwhile waits in the library's buffer and goes out after the reconnect.
TEST(NatsPublish, SurvivesARestartOfTheServer) {
  ScenarioRun run =
      publishes("", {{Duration::seconds(1), 1}, {Duration::millis(3500), 2}, {Duration::seconds(10), 3}}, "",
                "", "[[fault]]\nat = \"3s\"\naction = \"kill\"\ntarget = \"nats-1\"\nheal = \"1s\"\n");
  run.run();
  EXPECT_THAT(run.stored(), ElementsAre(1, 2, 3));
  EXPECT_THAT(run.acked(), ElementsAre(1, 2, 3));
  const auto up = run.rows(Kind::up, "p");
  ASSERT_EQ(up.size(), 1u);
  EXPECT_NEAR(at(up[0]), 5.05, 0.06);  // reconnect_wait of 2 s and up to 100 ms of jitter
}

TEST(NatsPublish, SettingsAreTheServersAndTheLibrarysOwn) {
  EXPECT_THROW(ScenarioRun(system("properties = { max_msg = 3 }")), ScenarioError);
  EXPECT_THROW(ScenarioRun(system("properties = { discard_new_per_subject = true }")), ScenarioError);
  EXPECT_THROW(ScenarioRun(system("", "ack_wait = \"soon\"")), ScenarioError);
}

}  // namespace
}  // namespace mqlab::sim::nats
