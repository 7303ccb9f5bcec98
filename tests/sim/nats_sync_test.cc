// A NATS server whose fsyncs fail. Measured on 2.15.1 with an fsync that returns EIO: the stream's store
// takes nothing more from the first sync that fails to the restart, which is the next write's under
// sync_interval "always", else that of the next interval; what was written before is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/nats_run.h"

namespace mqlab::sim::nats {
namespace {

using testing::Contains;
using testing::Not;
using Ids = std::vector<MessageId>;

/// 100 messages, a tenth of a second apart, from 0.1 s on.
std::string failing(const std::string& interval, const std::string& nodes, const std::string& target,
                    const std::string& at, const std::string& heal) {
  return system("replicas = " + nodes, "", "reconnect_wait = \"200ms\"",
                "nodes = " + nodes + "\nproperties = { sync_interval = \"" + interval + "\" }\n",
                "[[fault]]\nat = \"" + at + "\"\naction = \"fsync_error\"\ntarget = \"" + target +
                    "\"\nheal = \"" + heal + "\"\n");
}
ScenarioRun& published(ScenarioRun& run) {
  run.script("p", steady(), tenths(100));
  run.script("c-0", silent());
  run.run();
  return run;
}
bool within(const Ids& ids, MessageId first, MessageId last) {
  return std::ranges::any_of(ids, [&](MessageId id) { return id >= first && id <= last; });
}
Ids sorted(Ids ids) {
  std::ranges::sort(ids);
  return ids;
}

TEST(NatsSync, UnderAlwaysTheNextWriteIsTheLastAndIsNotAnswered) {
  ScenarioRun run(failing("always", "1", "nats", "2050ms", "3s"));
  published(run);
  const Ids acked = run.acked(), stored = run.stored();
  EXPECT_THAT(acked, Contains(20));
  EXPECT_THAT(acked, Not(Contains(21)));
  EXPECT_THAT(stored, Contains(21));  // in the page cache, which the restart found
  EXPECT_FALSE(within(stored, 22, 50));
  EXPECT_THAT(acked, Contains(100));  // after the restart
}

// The server knows an id once its message is stored: what was not stored whole is no duplicate.
TEST(NatsSync, ARepeatOfWhatCouldNotBeSyncedIsNotAnsweredEither) {
  ScenarioRun run(failing("always", "1", "nats", "2050ms", "3s"));
  run.script(
      "p",
      [](const Now& now, const Event& event, Effects& effects) {
        if (event.kind != EventKind::tick) return;
        effects.publish(
            0, message(static_cast<MessageId>(std::min<std::int64_t>(now.mono.ns / 100'000'000, 21))));
      },
      tenths(60));
  run.script("c-0", silent());
  run.run();
  int after = 0;
  for (const Row& row : run.rows(Kind::publish, Phase::ok)) {
    if (row.message != 21) continue;
    EXPECT_GT(at(row), 5.05);
    ++after;
  }
  EXPECT_GT(after, 0);  // the restart has found it
  EXPECT_EQ(std::ranges::count(run.stored(), 21u), 1);
}

TEST(NatsSync, WithAnIntervalItGoesOnToTheNextSync) {
  ScenarioRun run(failing("2s", "1", "nats", "2050ms", "4s"));
  published(run);
  const Ids acked = sorted(run.acked()), stored = sorted(run.stored());
  EXPECT_THAT(acked, Contains(21));
  EXPECT_EQ(acked, stored);
  EXPECT_FALSE(within(acked, 42, 60));  // a sync each 2 s from somewhere in the first one's second half
  EXPECT_THAT(acked, Contains(100));
}

TEST(NatsSync, ByDefaultNoSyncIsDueForAMinute) {
  ScenarioRun run(failing("2m", "1", "nats", "2050ms", "4s"));
  published(run);
  EXPECT_TRUE(within(run.acked(), 55, 60));
}

TEST(NatsSync, AFollowerThatCannotSyncIsNotMissed) {
  ScenarioRun run(failing("always", "3", "nats-2", "2050ms", "3s"));
  published(run);
  EXPECT_THAT(run.acked(), testing::SizeIs(100));
  EXPECT_EQ(sorted(run.stored()), sorted(run.acked()));
}

TEST(NatsSync, ALeaderThatCannotSyncGivesUpJetStreamAndNothingAnsweredIsLost) {
  ScenarioRun run(failing("always", "3", "leader of s", "2050ms", "20s"));
  published(run);
  const Ids acked = run.acked(), stored = run.stored();
  EXPECT_THAT(acked, Not(Contains(22)));
  EXPECT_FALSE(within(acked, 22, 40));
  EXPECT_THAT(acked, Contains(100));  // of another leader
  for (const MessageId id : acked) EXPECT_THAT(stored, Contains(id));
}

}  // namespace
}  // namespace mqlab::sim::nats
