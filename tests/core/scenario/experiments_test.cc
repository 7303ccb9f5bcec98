// The scenarios a user starts from: each must be readable, complete and explicit about what its clients do.
#include <gtest/gtest.h>

#include "core/claims/claim.h"
#include "core/faults/anchor.h"
#include "core/modules/registry.h"
#include "core/scenario/reader.h"
#include "tests/core/scenario/experiments.h"

namespace mqlab {
namespace {

using testing::experiments;
using testing::text_of;

TEST(Experiments, EachIsReadableAndComplete) {
  publish_module_catalog();
  ASSERT_GE(experiments().size(), 11u);
  for (const auto& file : experiments()) {
    SCOPED_TRACE(file.filename());
    Scenario s;
    ASSERT_NO_THROW(
        try { s = read_scenario(text_of(file), file.filename()); } catch (const ScenarioError& e) {
          ADD_FAILURE() << e.what();
          throw;
        });
    EXPECT_EQ(s.name, file.stem());
    EXPECT_TRUE(s.question.ends_with("?"));
    EXPECT_FALSE(s.claims.empty());
    for (const WorkloadSpec& w : s.workloads) EXPECT_FALSE(w.producer.empty()) << w.name;
    for (const StageSpec& g : s.stages) EXPECT_FALSE(g.consumer.empty()) << g.name;
    for (const ObserverSpec& o : s.observers) EXPECT_FALSE(o.consumer.empty()) << o.name;
    const std::string complete = to_toml(s);
    EXPECT_EQ(to_toml(read_scenario(complete, file.filename())), complete);
  }
}

TEST(Experiments, ClaimsModulesAndFaultsExist) {
  for (const auto& file : experiments()) {
    SCOPED_TRACE(file.filename());
    const Scenario s = read_scenario(text_of(file), file.filename());
    const Topology t(s);
    EXPECT_NO_THROW(bind_faults(s, t));
    EXPECT_NO_THROW(menu_steps(s));
    for (const ClaimSpec& claim : s.claims) EXPECT_NE(make_checker(claim, s, t), nullptr) << claim.scope();
    for (std::size_t p = 0; p < t.processes.size(); ++p) {
      const Role role = t.processes[p].role;
      if (role == Role::broker || role == Role::auditor || role == Role::lab) continue;
      EXPECT_NE(plan_module(s, t, static_cast<ProcessId>(p)), nullptr) << t.processes[p].name;
    }
  }
}

TEST(Experiments, TheCommentedVariantsAreReadableToo) {
  const auto read = [](const std::string& name, const std::vector<Override>& changes) {
    const std::filesystem::path file =
        std::filesystem::path(MQLAB_SOURCE_DIR "/experiments") / (name + ".toml");
    return read_scenario(text_of(file), name, changes);
  };
  EXPECT_EQ(read("kafka-reorder-in-flight", {{"client.flavour", "librdkafka"}}).flavour, Flavour::librdkafka);
  EXPECT_NO_THROW(read("kafka-reorder-in-flight", {{"workload.producer.enable.idempotence", "true"}}));
  const Scenario torn = read("kafka-transactional", {{"faults.menu", "[\"delay\",\"drop_response\"]"},
                                                     {"claims.txn.atomic", "true"}});
  EXPECT_EQ(torn.claims.back().id, "txn.atomic");
  EXPECT_EQ(read("nats-power-loss", {{"faults.menu", "[\"kill\"]"}}).menu.menu, std::vector{Action::kill});
}

}  // namespace
}  // namespace mqlab
