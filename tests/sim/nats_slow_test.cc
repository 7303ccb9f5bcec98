#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/nats_run.h"

namespace mqlab::sim::nats {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

/// 20 messages of 1 MB at 1 s, one more at 30 s; the reader is paused from 500 ms on.
struct PausedReader : ScenarioRun {
  PausedReader(const std::string& pause, const std::string& properties)
      : ScenarioRun(system(
            "", "push = true, ack_policy = \"none\"", "", "[broker.properties]\n" + properties + "\n",
            "[[fault]]\nat = \"500ms\"\naction = \"pause\"\ntarget = \"c-0\"\nheal = \"" + pause + "\"\n")) {
    script("p",
           [this](const Now&, const Event& e, Effects& effects) {
             if (e.kind != EventKind::tick) return;
             const int many = id == 0 ? 20 : 1;
             for (int i = 0; i < many; ++i) effects.publish(0, message(++id, 1'000'000));
           },
           {Duration::seconds(1), Duration::seconds(30)});
    script("c-0", consumer(1, ack));
    run();
  }
  MessageId id = 0;
};

std::vector<MessageId> up_to(MessageId n) {
  std::vector<MessageId> ids;
  for (MessageId id = 1; id <= n; ++id) ids.push_back(id);
  return ids;
}

// The kernel holds 4 MB; the rest is lost with the connection, and what comes after the reconnect arrives.
TEST(NatsSlow, AWriteThatWaitsTooLongEndsTheConnection) {
  PausedReader run("15s", "");
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1, 2, 3, 21));
  ASSERT_EQ(run.rows(Kind::down, "c-0").size(), 1u);
  EXPECT_NEAR(at(run.rows(Kind::down, "c-0")[0]), 15.5, 0.01);  // it hears of it when it runs again
  EXPECT_TRUE(run.quiet());
}

TEST(NatsSlow, WhoReadsAgainInTimeLosesNothing) {
  PausedReader run("9s", "");
  EXPECT_THAT(run.delivered("c-0"), ElementsAreArray(up_to(21)));
  EXPECT_TRUE(run.rows(Kind::down, "c-0").empty());
}

TEST(NatsSlow, TooMuchThatWaitsEndsItAtOnce) {
  PausedReader run("2s", "max_pending = \"10MB\"");
  EXPECT_THAT(run.delivered("c-0"), ElementsAre(1, 2, 3, 21));
  PausedReader enough("2s", "max_pending = \"18MB\"");
  EXPECT_THAT(enough.delivered("c-0"), ElementsAreArray(up_to(21)));
}

TEST(NatsSlow, ALongerDeadlineIsKept) {
  PausedReader run("15s", "write_deadline = \"20s\"");
  EXPECT_THAT(run.delivered("c-0"), ElementsAreArray(up_to(21)));
}

}  // namespace
}  // namespace mqlab::sim::nats
