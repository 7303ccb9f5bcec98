#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/scenario/error.h"
#include "tests/sim/nats_run.h"

namespace mqlab::sim::nats {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

std::string fault(const std::string& action, const std::string& target, const std::string& heal) {
  return "[[fault]]\nat = \"350ms\"\naction = \"" + action + "\"\ntarget = \"" + target + "\"\nheal = \"" +
         heal + "\"\n";
}

/// Stream "s" on nats-1, its copy "m" on nats-2; a message each 100 ms, 20 in all.
struct Copied : ScenarioRun {
  explicit Copied(const std::string& copy, const std::string& more = "", const std::string& origin = "")
      : ScenarioRun(system("[streams.properties]\n" + origin +
                               "\n[[streams]]\nname = \"m\"\nproperties = { " + copy + " }\n",
                           "", "reconnect_wait = \"100ms\"", "nodes = 2", more)) {
    script("p", steady(), tenths(20));
    script("c-0", silent());
    run();
  }
  /// Message ids and positions in the streams: 0 is the origin.
  std::vector<std::pair<MessageId, std::int64_t>> held(PlaceId place) const {
    std::vector<std::pair<MessageId, std::int64_t>> found;
    for (const Row& row : rows(Kind::audit)) {
      if (is_record_audit(row) && row.place == place) found.emplace_back(row.message, row.position);
    }
    return found;
  }
};

TEST(NatsCopies, AMirrorHasTheSequencesOfItsOriginGapsToo) {
  // While the mirror's server is away all but the latest three are removed from the origin.
  Copied run("mirror = \"s\"", fault("kill", "nats-2", "1s"), "max_msgs = 3");
  EXPECT_THAT(run.held(0), ElementsAre(std::pair(18u, 18), std::pair(19u, 19), std::pair(20u, 20)));
  const auto mirror = run.held(1);
  for (const auto& [id, position] : mirror) EXPECT_EQ(static_cast<std::int64_t>(id), position);
  EXPECT_EQ(mirror.front().first, 1u);
  EXPECT_EQ(mirror.back().first, 20u);
  EXPECT_LT(mirror.size(), 18u);
  EXPECT_GT(mirror.size(), 5u);
  EXPECT_TRUE(run.quiet());
}

TEST(NatsCopies, WhatAMirrorLostOrMissedItCopies) {
  for (const char* target : {"nats-1", "nats-2"}) {
    for (const char* action : {"kill", "pause"}) {
      Copied run("mirror = \"s\", persist_mode = \"async\"", fault(action, target, "1s"));
      EXPECT_EQ(run.held(1), run.held(0)) << target << action;
      EXPECT_FALSE(run.held(1).empty());
    }
  }
}

TEST(NatsCopies, SourcesAreNumberedAnewAndGoOnBehindTheLast) {
  for (const char* target : {"nats-1", "nats-2"}) {
    Copied run("sources = [\"s\"]", fault("kill", target, "500ms"));
    std::vector<MessageId> ids;
    std::int64_t next = 1;
    for (const auto& [id, position] : run.held(1)) {
      ids.push_back(id);
      EXPECT_EQ(position, next++);
    }
    std::vector<MessageId> origin;
    for (const auto& [id, position] : run.held(0)) origin.push_back(id);
    EXPECT_EQ(ids, origin) << target;
  }
}

// Its own server restarts a mirror; another server's restart it notices after 10 s of silence, at the next
// check.
TEST(NatsCopies, AnOriginThatWasAwayIsAskedAnewAfterTenSeconds) {
  ScenarioRun run(system(
      "[[streams]]\nname = \"m\"\nproperties = { mirror = \"s\" }\n", "", "", "nodes = 2",
      fault("kill", "nats-1", "500ms") + "[[stages]]\nname = \"d\"\nmodule = \"consumer\"\ninput = \"m\"\n"));
  run.script("p",
             [](const Now& now, const Event& e, Effects& effects) {
               if (e.kind == EventKind::tick)
                 effects.publish(0, message(now.mono.ns < 1'000'000'000 ? 1 : 2));
             },
             {Duration::millis(100), Duration::seconds(5)});
  run.script("c-0", silent());
  run.script("d-0", consumer(1, ack));
  run.run();
  const auto rows = run.rows(Kind::deliver, "d-0");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_LT(at(rows[0]), 0.2);
  EXPECT_GE(at(rows[1]), 10.35);
  EXPECT_LE(at(rows[1]), 20.4);
}

TEST(NatsCopies, AMirrorTakesNoPublishes) {
  ScenarioRun run(
      "name = \"t\"\n[broker]\nkind = \"nats\"\n[[streams]]\nname = \"s\"\n[[streams]]\nname = "
      "\"m\"\nproperties = { "
      "mirror = \"s\" }\n[workload]\nname = \"p\"\ntopic = \"m\"\nrate = \"1/s\"\nmessages = 1\n");
  run.script("p", publisher(1));
  run.run();
  EXPECT_EQ(run.rows(Kind::publish, Phase::fail).size(), 1u);
  EXPECT_TRUE(run.stored().empty());
}

TEST(NatsCopies, WhatIsNotModelledIsRefused) {
  for (const char* copy :
       {"mirror = \"x\"", "mirror = \"s\", sources = \"s\"", "mirror = \"s\", discard = \"new\"",
        "mirror = \"s\", subject_transform_src = \"s.*\", subject_transform_dest = \"t\""})
    EXPECT_THROW(Copied{copy}, ScenarioError) << copy;
  EXPECT_THROW(Copied("mirror = \"s\"", "", "retention = \"workqueue\""), ScenarioError);
}

}  // namespace
}  // namespace mqlab::sim::nats
