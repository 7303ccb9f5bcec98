// What the search rests on: branches from snapshots are the runs they stand for, schedules are known by their
// number, stories shrink and stay true.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/seam/transcript.h"
#include "search/shrink.h"
#include "search/verify.h"
#include "tests/search/small.h"

namespace mqlab::search {
namespace {

Verdict verdict(const Report& report, std::string_view id) {
  for (const ClaimReport& claim : report.claims) {
    if (claim.claim.id == id) return claim.verdict;
  }
  return Verdict::undecided;
}

TEST(Search, ABranchFromASnapshotIsTheRunFromTheStart) {
  const auto setup = test::prepared(test::at_least_once());
  Runner branching(*setup, setup->scenario.claims), straight(*setup, setup->scenario.claims);
  const Schedule reference;
  const Candidates candidates = collect(branching, reference);
  ASSERT_GT(candidates.count(), 200u);
  branching.begin(reference);
  std::uint64_t number = 0;
  for (const AnchorPoint& anchor : candidates.anchors) {
    while (branching.world().steps() < anchor.step) branching.world().step();
    sim::World::Snapshot snapshot;
    branching.world().save(snapshot);
    for (std::uint64_t d = 0; d < candidates.per_anchor(anchor); ++d, ++number) {
      if (number % 7 != 0) continue;  // a seventh of them is plenty
      const Schedule schedule = single_fault(number + 1, reference.seed, candidates);
      const std::vector<Fault> faults = {bind(schedule.faults[0], setup->scenario, setup->topology)};
      branching.branch(snapshot, 0, faults, anchor.seen_before);
      branching.finish();
      straight.run(schedule);
      ASSERT_EQ(branching.history().hash(), straight.history().hash())
          << "schedule " << number + 1 << ": " << schedule.faults[0].at.step << " nth "
          << schedule.faults[0].at.nth << " message " << schedule.faults[0].at.message;
    }
    branching.branch(snapshot, 0, {}, 0);
  }
}

/// Likewise for a fault behind another one, in another order of messages, also where both fall in one event.
TEST(Search, ABranchBehindAFaultIsTheRunFromTheStart) {
  const auto setup = test::prepared(test::at_least_once(3));
  Runner branching(*setup, setup->scenario.claims), straight(*setup, setup->scenario.claims);
  const Candidates singles = collect(branching, {});
  std::uint64_t compared = 0, same_event = 0;
  for (std::uint64_t i = 0; i < singles.count(); i += 23) {
    Schedule base = single_fault(i + 1, 1, singles);
    base.order = i % 2 == 0 ? 0 : i;
    const Candidates seconds = collect(branching, base);
    branching.begin(base);
    for (std::uint64_t j = 0; j < seconds.count(); j += j < 8 ? 1 : 31) {
      const auto choice = seconds.at(j);
      while (branching.world().steps() < choice.anchor->step) branching.world().step();
      same_event += branching.world().faults_fired() == 0;
      sim::World::Snapshot snapshot;
      branching.world().save(snapshot);
      Schedule both = base;
      both.faults.push_back(seconds.to_spec(choice));
      branching.branch(snapshot, 1, {{seconds.to_fault(choice)}}, choice.anchor->seen_before);
      branching.finish();
      straight.run(both);
      ASSERT_EQ(branching.history().hash(), straight.history().hash()) << i << " then " << j;
      branching.branch(snapshot, 1, {}, 0);
      ++compared;
    }
  }
  EXPECT_GT(compared, 100u);
  EXPECT_GT(same_event, 0u);
}

TEST(Search, TheSameScheduleGivesTheSameHistory) {
  const auto setup = test::prepared(test::at_least_once(3));
  Runner first(*setup, setup->scenario.claims), second(*setup, setup->scenario.claims);
  const Candidates candidates = collect(first, {});
  Options options;
  options.seed = 7;
  for (const std::uint64_t number :
       {candidates.count() + 1, candidates.count() + 2, candidates.count() + 3}) {
    const Schedule schedule = random_schedule(number, options, candidates, setup->scenario);
    first.run(schedule);
    const std::uint64_t hash = first.history().hash();
    second.run(random_schedule(number + 1, options, candidates,
                               setup->scenario));  // what ran before must not matter
    second.run(schedule);
    EXPECT_EQ(second.history().hash(), hash) << number;
  }
}

TEST(Search, JobsChangeNeitherVerdictNorLowestFailure) {
  const auto setup = test::prepared(test::at_least_once());
  Options options;
  options.schedules = 4000;
  const Report one = verify(*setup, options);
  options.jobs = 3;
  const Report three = verify(*setup, options);
  ASSERT_EQ(one.claims.size(), three.claims.size());
  EXPECT_EQ(one.schedules, 4000u) << "no_loss holds: all of them are run";
  EXPECT_EQ(three.schedules, 4000u);
  EXPECT_EQ(one.shapes, three.shapes);
  EXPECT_EQ(one.pairs, three.pairs);
  EXPECT_EQ(one.anchors_reached, three.anchors_reached);
  ASSERT_EQ(one.rounds.size(), 5u);
  for (std::size_t r = 0; r < one.rounds.size(); ++r) {
    EXPECT_GT(one.rounds[r].schedules, 0u);
    EXPECT_EQ(one.rounds[r].schedules, three.rounds[r].schedules);
    EXPECT_EQ(one.rounds[r].new_shapes, three.rounds[r].new_shapes);
  }
  for (std::size_t c = 0; c < one.claims.size(); ++c) {
    EXPECT_EQ(one.claims[c].verdict, three.claims[c].verdict);
    EXPECT_EQ(one.claims[c].first_failing_schedule, three.claims[c].first_failing_schedule);
    EXPECT_EQ(one.claims[c].observed, three.claims[c].observed);
  }
}

/// Nothing is hit that the menu does not name, also where it names a workload and the scenario has stages.
TEST(Search, OnlyWhatTheMenuNamesIsHit) {
  std::string toml = test::at_least_once();
  const std::string before = "targets = [\"work\"]";
  toml.replace(toml.find(before), before.size(), "targets = [\"api\", \"kafka\"]");
  const auto setup = test::prepared(toml);
  Runner runner(*setup, setup->scenario.claims);
  const Candidates found = collect(runner, {});
  ASSERT_GT(found.count(), 0u);
  for (const AnchorPoint& anchor : found.anchors) EXPECT_EQ(found.groups[anchor.group].name, "api");
}

TEST(Search, AtLeastOnceLosesNothingAndRepeatsAfterAKill) {
  const auto setup = test::prepared(test::at_least_once());
  const Report report = verify(*setup, {});
  EXPECT_EQ(verdict(report, "no_loss"), Verdict::holds) << report.claims[0].explanation;
  ASSERT_EQ(verdict(report, "no_duplicates"), Verdict::violated);
  const Counterexample& story = *report.claims[1].counterexample;
  EXPECT_LE(story.schedule.faults.size(), 1u);
  EXPECT_LE(story.messages_after, 3u);
  EXPECT_GE(story.story.size(), 3u);
  EXPECT_TRUE(std::any_of(story.story.begin(), story.story.end(), [](const std::string& s) {
    return s.find("←") != std::string::npos;
  })) << "the rows that prove it are marked";

  const sim::Setup shrunk(story.scenario);
  Runner runner(shrunk, setup->scenario.claims);
  const Outcome again = runner.run(story.schedule);
  EXPECT_EQ(again.findings[1].verdict, Verdict::violated)
      << "the stored schedule alone gives the violation again";
}

/// The story loses all that does not matter: one worker, one node, one partition, one key.
TEST(Search, AStoryIsShrunkWithItsScenario) {
  const auto setup = test::prepared(test::at_least_once(3, 30));
  Options options;
  options.claims = {"no_duplicates"};
  const Report report = verify(*setup, options);
  const Counterexample& story = *report.claims[0].counterexample;
  EXPECT_EQ(story.messages_after, 1u);
  EXPECT_EQ(story.schedule.faults.size(), 1u);
  EXPECT_TRUE(story.schedule.zero_jitter);
  EXPECT_EQ(story.scenario.stages[0].instances, 1u);
  EXPECT_EQ(story.scenario.brokers[0].nodes, 1u);
  EXPECT_EQ(story.scenario.topics[0].partitions, 1u);
  EXPECT_EQ(story.scenario.topics[1].replication, 1u);
  EXPECT_EQ(story.scenario.workloads[0].keys.count, 1u);
  EXPECT_LT(story.scenario.stages[0].producer.size() + story.scenario.stages[0].consumer.size(),
            setup->scenario.stages[0].producer.size() + setup->scenario.stages[0].consumer.size());

  const sim::Setup small(story.scenario);
  Runner runner(small, setup->scenario.claims);
  std::vector<std::uint64_t> witness;
  for (int again = 0; again < 100; ++again) {
    const Outcome outcome = runner.run(story.schedule);
    ASSERT_EQ(outcome.findings[1].verdict, Verdict::violated);
    if (again == 0) witness = outcome.findings[1].witness;
    EXPECT_EQ(outcome.findings[1].witness, witness);
  }
}

TEST(Search, TheSettingToBlameIsNamedWithItsLine) {
  std::string toml = test::at_least_once();
  const std::string at = "service_time = {";
  toml.replace(toml.find(at), at.size(), "when = \"before\"\n" + at);
  const auto line = static_cast<int>(
      std::count(toml.begin(), toml.begin() + static_cast<std::ptrdiff_t>(toml.find("when = ")), '\n') + 1);
  const auto setup = test::prepared(toml);
  Options options;
  options.claims = {"no_loss"};
  const Report report = verify(*setup, options);
  ASSERT_EQ(verdict(report, "no_loss"), Verdict::violated);
  const std::vector<Cause>& causes = report.claims[0].counterexample->causes;
  ASSERT_EQ(causes.size(), 1u) << "no other setting mends it";
  EXPECT_EQ(causes[0].setting, "stages.work.when");
  EXPECT_EQ(causes[0].value, "before");
  EXPECT_EQ(causes[0].instead, "default");
  EXPECT_EQ(causes[0].line, line);
}

TEST(Search, MaskingAMessageLeavesTheOthersAlone) {
  const auto setup = test::prepared(test::at_least_once());
  Runner runner(*setup, setup->scenario.claims);
  Schedule schedule;
  const auto sends = [&] {
    std::vector<std::pair<std::int64_t, MessageId>> out;
    for (std::size_t i = 0; i < runner.history().size(); ++i) {
      const Row& row = runner.history()[i];
      if (row.kind == Kind::invoke) out.push_back({row.time, row.message});
    }
    return out;
  };
  runner.run(schedule);
  auto before = sends();
  schedule.masked = {3, 7};
  runner.run(schedule);
  std::erase_if(before, [](const auto& s) { return s.second == 3 || s.second == 7; });
  EXPECT_EQ(sends(), before);
}

/// An order changes who comes first, is a part of the schedule, and keeps each connection's messages in
/// order.
TEST(Search, AnOrderIsReplayedAndKeepsConnectionsInOrder) {
  const auto setup = test::prepared(test::at_least_once(3, 30));
  Runner runner(*setup, setup->scenario.claims), again(*setup, setup->scenario.claims);
  std::set<std::uint64_t> histories;
  for (std::uint64_t order = 0; order < 60; ++order) {
    Schedule schedule;
    schedule.order = order;
    const Outcome outcome = runner.run(schedule);
    for (const Finding& finding : outcome.findings)
      EXPECT_EQ(finding.verdict, Verdict::holds) << order << ": " << finding.explanation;
    histories.insert(runner.history().hash());
    again.run(schedule);
    EXPECT_EQ(again.history().hash(), runner.history().hash()) << order;
    std::map<PlaceId, std::int64_t> last;  // one idempotent producer: its acks come in the order of its log
    for (std::size_t i = 0; i < runner.history().size(); ++i) {
      const Row& row = runner.history()[i];
      if (row.kind != Kind::publish || row.phase != Phase::ok || row.cause != 0) continue;
      const auto at = last.try_emplace(row.place, -1).first;
      EXPECT_GT(row.position, at->second) << order;
      at->second = row.position;
    }
  }
  EXPECT_GT(histories.size(), 30u) << "most orders show";
}

TEST(Search, WithoutAFaultMenuSeedsAndOrdersAreTried) {
  std::string toml = test::at_least_once();
  toml.erase(toml.find("[faults]"), toml.find("[claims]") - toml.find("[faults]"));
  const auto setup = test::prepared(toml);
  Options options;
  options.schedules = 200;
  const Report report = verify(*setup, options);
  EXPECT_EQ(report.schedules, 200u);
  EXPECT_EQ(report.anchors, 0u);
  ASSERT_EQ(report.rounds.size(), 2u);
  EXPECT_EQ(report.rounds[1].round, Round::random);
  EXPECT_EQ(verdict(report, "no_duplicates"), Verdict::holds);
}

TEST(Search, IsStoppedByItsProgress) {
  const auto setup = test::prepared(test::at_least_once());
  Options options;
  options.schedules = 1u << 30;
  options.jobs = 2;
  const Report report = verify(*setup, options, [](const Progress& p) { return p.schedules < 500; });
  EXPECT_TRUE(report.interrupted);
  EXPECT_GE(report.schedules, 500u);
  EXPECT_EQ(report.shapes_over.back().schedules, report.schedules);
}

/// Every incarnation's transcript, led through a fresh module, must give the effects of the history, in
/// order, up to where a kill cut them off.
TEST(Search, TranscriptsReplayedThroughFreshModulesGiveTheSameEffects) {
  const auto setup = test::prepared(test::at_least_once(3));
  Runner runner(*setup, setup->scenario.claims);
  const Candidates candidates = collect(runner, {});
  for (std::uint64_t number = 0; number < candidates.count(); number += 97) {
    std::vector<sim::World::Transcript> transcripts;
    runner.world().record_transcripts(transcripts);
    const Schedule schedule = single_fault(number, 1, candidates);
    runner.run(schedule);
    for (const auto& t : transcripts) {
      std::vector<std::pair<Kind, OpId>> written, replayed;
      for (std::size_t i = 0; i < runner.history().size(); ++i) {
        const Row& row = runner.history()[i];
        if (row.process != t.process || row.incarnation != t.incarnation || row.phase != Phase::invoke)
          continue;
        if (row.op != 0 && (written.empty() || written.back().second != row.op))
          written.push_back({row.kind, row.op});
      }
      Arena arena(1 << 22);
      ModuleContext context;
      context.process = t.process;
      context.instance = setup->topology.processes[t.process].instance;
      context.incarnation = t.incarnation;
      context.capabilities = setup->capabilities[t.process];
      context.seed = schedule.seed;
      context.random = RandomStream(draw(schedule.seed, Purpose::module, t.process, t.incarnation));
      Module* module = setup->modules[t.process]->make(arena, context);
      replay_transcript(t.events, *module, [&](const Now&, const Event&, std::span<const Effect> effects) {
        for (const Effect& e : effects) {
          if (e.op != 0) replayed.push_back({e.kind, e.op});
        }
      });
      ASSERT_LE(written.size(), replayed.size());
      replayed.resize(written.size());
      EXPECT_EQ(written, replayed) << setup->topology.processes[t.process].name << " in schedule " << number;
    }
  }
}

}  // namespace
}  // namespace mqlab::search
