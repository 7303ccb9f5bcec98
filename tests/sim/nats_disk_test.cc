// A NATS server on a full disk: one copy, replicas, what a consumer's acknowledgements are worth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/sim/nats_run.h"

namespace mqlab::sim::nats {
namespace {

using testing::ElementsAreArray;
using testing::SizeIs;

std::string full(const std::string& target, const std::string& heal, const std::string& time = "1s") {
  return "[[fault]]\nat = \"" + time + "\"\naction = \"disk_full\"\ntarget = \"" + target + "\"\nheal = \"" +
         heal + "\"\n";
}

/// One message every 20 ms from 20 ms on.
Script often() {
  return [](const Now& now, const Event& e, Effects& effects) {
    if (e.kind == EventKind::tick)
      effects.publish(0, message(static_cast<MessageId>(now.mono.ns / 20'000'000)));
  };
}
std::vector<Duration> every_20ms(int n) {
  std::vector<Duration> ticks;
  for (int i = 1; i <= n; ++i) ticks.push_back(Duration::millis(20 * i));
  return ticks;
}

bool nothing_lost(const ScenarioRun& run) {
  const auto stored = run.stored();
  const std::set<MessageId> there(stored.begin(), stored.end());
  const auto acked = run.acked();
  return std::ranges::all_of(acked, [&](MessageId id) { return there.contains(id); });
}

TEST(NatsDisk, OneCopyAnswersWhatFitsAndNothingMore) {
  ScenarioRun run(system("", "", "reconnect_wait = \"200ms\"", "", full("nats-1", "2s", "1110ms")));
  run.script("p", often(), every_20ms(300));
  run.script("c-0", silent());
  run.run();
  const auto unanswered = run.rows(Kind::publish, Phase::unknown);
  ASSERT_FALSE(unanswered.empty());
  // 55 messages were there, of some 165 bytes each: the third block takes 19 more.
  EXPECT_GT(unanswered.front().message, 55u + 16u);
  EXPECT_LT(unanswered.front().message, 55u + 22u);
  EXPECT_GE(unanswered.size(), 60u);
  EXPECT_THAT(run.stored(), ElementsAreArray(run.acked()));
  EXPECT_THAT(run.rows(Kind::publish, Phase::fail), SizeIs(0));
  EXPECT_EQ(run.acked().back(), 300u) << "after the restart it takes everything";
}

TEST(NatsDisk, AStreamInMemoryNeedsNoRoom) {
  ScenarioRun run(system("properties = { storage = \"memory\" }", "", "", "", full("nats-1", "100s")));
  run.script("p", often(), every_20ms(300));
  run.script("c-0", silent());
  run.run();
  EXPECT_THAT(run.acked(), SizeIs(300));
}

TEST(NatsDisk, AReplicatedLeaderDisablesJetStreamAndAnotherIsElected) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ScenarioRun run(system("replicas = 3", "", "", "nodes = 3", full("leader of s", "15s")));
    run.script("p", often(), every_20ms(1000));
    run.script("c-0", silent());
    run.run(seed);
    const auto refused = run.rows(Kind::publish, Phase::fail);
    ASSERT_FALSE(refused.empty()) << "seed " << seed;
    EXPECT_EQ(refused.front().code, 34);  // NATS_NO_RESPONDERS
    EXPECT_GT(at(refused.back()) - at(refused.front()), 2.5) << "seed " << seed;
    EXPECT_LT(at(refused.back()) - at(refused.front()), 9.5) << "seed " << seed;
    EXPECT_TRUE(nothing_lost(run)) << "seed " << seed;
    EXPECT_TRUE(run.quiet());
  }
}

TEST(NatsDisk, AFullFollowerIsNotMissed) {
  ScenarioRun run(system("replicas = 3", "", "", "nodes = 3", full("nats-2", "5s")));
  run.script("p", often(), every_20ms(500));
  run.script("c-0", silent());
  run.run();
  ASSERT_EQ(run.rows(Kind::publish, Phase::ok).size(), 500u);
  EXPECT_THAT(run.stored(), SizeIs(500));
}

TEST(NatsDisk, TwoFullFollowersStopTheStream) {
  ScenarioRun run(system("replicas = 3", "", "", "nodes = 3", full("nats-2", "5s") + full("nats-3", "5s")));
  run.script("p", often(), every_20ms(500));
  run.script("c-0", silent());
  run.run();
  EXPECT_FALSE(run.rows(Kind::publish, Phase::unknown).empty());
  EXPECT_TRUE(nothing_lost(run));
}

TEST(NatsDisk, WhatWasAcknowledgedMeanwhileComesAgain) {
  ScenarioRun run(system("", "", "reconnect_wait = \"200ms\"", "", full("nats-1", "500ms")));
  run.script("p", publisher(100));
  run.script(
      "c-0",
      [](const Now&, const Event& event, Effects& effects) {
        for (const Message& m : event.messages) ack(m, effects);
        if (event.kind == EventKind::start || event.kind == EventKind::tick) effects.fetch(0, 1);
      },
      every_20ms(300));
  run.run();
  const auto ids = run.delivered("c-0");
  EXPECT_GE(ids.size(), 100u + 20u);  // 500 ms of them
  EXPECT_EQ(std::set<MessageId>(ids.begin(), ids.end()).size(), 100u);
  EXPECT_EQ(run.committed(), 101);
}

}  // namespace
}  // namespace mqlab::sim::nats
