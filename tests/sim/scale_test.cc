// Stages that grow and shrink while they work: spares begin once, who is retired does not come back, one
// instance stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/scenario/error.h"
#include "tests/sim/nats_run.h"

namespace mqlab::sim::nats {
namespace {

using testing::SizeIs;

/// 100 messages in 1 s, read by one of two instances, or the third and fourth when they have begun.
std::string scaled(const std::string& faults) {
  return R"(
name = "scaled"
[broker]
kind = "nats"
version = "2.12"
[[streams]]
name = "requests"
[workload]
stream = "requests"
rate = "100/s"
messages = 100
[[stages]]
name = "worker"
module = "consumer"
when = "after"
instances = 2
spares = 2
input = "requests"
service_time = "5ms"
[stages.consumer]
durable = "worker"
ack_wait = "10s"
[claims]
no_duplicates = { of = "requests", deliveries = true }
)" + faults;
}
std::string at(const std::string& time, const std::string& action, const std::string& target,
               const std::string& heal = "") {
  return "[[fault]]\nat = \"" + time + "\"\naction = \"" + action + "\"\ntarget = \"" + target + "\"\n" +
         (heal.empty() ? "" : "heal = \"" + heal + "\"\n");
}

std::set<MessageId> handled(const ScenarioRun& run, const std::string& of = "") {
  std::set<MessageId> ids;
  for (const Row& row : run.rows(Kind::handle, of)) ids.insert(row.message);
  return ids;
}

TEST(Scale, SparesDoNothingUntilOneBegins) {
  ScenarioRun run(scaled(at("500ms", "scale_out", "worker-2")));
  run.run();
  EXPECT_THAT(handled(run), SizeIs(100));
  EXPECT_THAT(run.rows(Kind::start, "worker-3"), SizeIs(0));
  const auto starts = run.rows(Kind::start, "worker-2");
  ASSERT_THAT(starts, SizeIs(1));
  EXPECT_EQ(starts[0].time, 500'000'000);
  EXPECT_EQ(starts[0].incarnation, 0);
  EXPECT_GE(handled(run, "worker-2").size(), 10u);
  EXPECT_THAT(run.rows(Kind::heal), SizeIs(0)) << "for good";
}

TEST(Scale, AStagesNameMeansAllItsSparesAndASpareBeginsOnce) {
  ScenarioRun run(scaled(at("200ms", "scale_out", "worker") + at("400ms", "scale_out", "worker-2")));
  run.run();
  EXPECT_THAT(run.rows(Kind::fault), SizeIs(2)) << "one for each spare; the second fault finds none";
  EXPECT_THAT(run.rows(Kind::start, "worker-2"), SizeIs(1));
  EXPECT_THAT(run.rows(Kind::start, "worker-3"), SizeIs(1));
}

TEST(Scale, NothingBefallsASpareBeforeItBegins) {
  ScenarioRun run(scaled(at("200ms", "kill", "worker", "100ms")));
  run.run();
  EXPECT_THAT(run.rows(Kind::fault), SizeIs(2));
  EXPECT_THAT(run.rows(Kind::start, "worker-2"), SizeIs(0));
}

TEST(Scale, WhoIsRetiredFinishesWhatItHasInHandAndStaysAway) {
  ScenarioRun run(scaled(at("300ms", "scale_in", "worker-0") + at("350ms", "restart", "worker-0", "50ms")));
  run.run();
  EXPECT_THAT(handled(run), SizeIs(100));
  EXPECT_THAT(run.rows(Kind::start, "worker-0"), SizeIs(1));
  EXPECT_LE(handled(run, "worker-0").size(), 30u);
  EXPECT_THAT(run.rows(Kind::deliver), SizeIs(100)) << "nothing is delivered again";
}

TEST(Scale, WhoIsRetiredWhileItIsDownDoesNotComeBack) {
  ScenarioRun run(scaled(at("300ms", "kill", "worker-0", "500ms") + at("400ms", "scale_in", "worker-0")));
  run.run();
  EXPECT_THAT(run.rows(Kind::start, "worker-0"), SizeIs(1));
}

TEST(Scale, OneInstanceStays) {
  ScenarioRun run(scaled(at("300ms", "scale_in", "worker")));
  run.run();
  EXPECT_THAT(run.rows(Kind::fault), SizeIs(1));
  EXPECT_THAT(handled(run), SizeIs(100));
}

TEST(Scale, WhatCannotBeScaledIsSaid) {
  const auto problem = [](const std::string& faults) -> std::string {
    try {
      ScenarioRun run(scaled(faults));
      return "";
    } catch (const ScenarioError& error) {
      return error.what();
    }
  };
  EXPECT_THAT(problem(at("1s", "scale_out", "nats-1")), testing::HasSubstr("only those are scaled"));
  EXPECT_THAT(problem(at("1s", "scale_in", "leader of requests")), testing::HasSubstr("brokers are not"));
  EXPECT_THAT(problem(at("1s", "scale_out", "worker-1")), testing::HasSubstr("spares = 1"));
  EXPECT_THAT(problem(at("1s", "scale_in", "worker", "1s")), testing::HasSubstr("for good"));
}

}  // namespace
}  // namespace mqlab::sim::nats
