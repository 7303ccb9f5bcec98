// What users read of the claims about how stages read, and what is refused.
#include <gtest/gtest.h>

#include "core/scenario/error.h"
#include "tests/core/claims_random_reading.h"

namespace mqlab::testing {
namespace {

using Witness = std::vector<std::uint64_t>;

TEST(ClaimWordsReading, ACommitBeforeTheWorkIsDone) {
  const Lab lab;
  Story story(lab);
  story.send(1, "api-0", "requests/0", 0).read(1, "archive-0", "requests/0", 0);
  story.offsets(Kind::commit, "archive-0", "requests/0", 1, 0).handle(1, "archive-0", "requests/0", 0);
  const Finding never = lab.judge(claim("commit.covers_processed"), story.rows);
  EXPECT_EQ(never.verdict, Verdict::violated);
  EXPECT_EQ(never.explanation, "archive committed past id 1 (requests/0@0), which it never processed");
  EXPECT_EQ(never.witness, (Witness{4, 6}));
  story.complete(1, "archive-0", "requests/0", 0);
  const Finding late = lab.judge(claim("commit.covers_processed"), story.rows);
  EXPECT_EQ(late.explanation, "archive committed past id 1 (requests/0@0), which it had not processed yet");
  EXPECT_EQ(late.witness, (Witness{4, 6, 9}));
  EXPECT_EQ(late.message, 1u);
}

TEST(ClaimWordsReading, AQueueIsAckedRecordByRecord) {
  const Lab lab(queue_scenario());
  Story story(lab);
  story.send(1, "api-0", "requests", 1).read(1, "archive-0", "requests", 1);
  story.offsets(Kind::ack, "archive-0", "requests", 1, 0).complete(1, "archive-0", "requests", 1);
  EXPECT_EQ(lab.judge(claim("commit.covers_processed"), story.rows).explanation,
            "archive committed past id 1 (requests@1), which it had not processed yet");
}

TEST(ClaimWordsReading, AStageThatStandsStill) {
  const Lab lab;
  const ClaimSpec spec =
      claim("progress.consumer", "", "", "", {{"within", "5s", 0}, {"stage", "archive", 0}});
  Story story(lab);
  story.send(1, "api-0", "requests/0", 0).send(2, "api-0", "requests/0", 1);
  Story rests = story;
  story.later(7'000'000'000).handle(1, "archive-0", "requests/0", 0);
  const Finding finding = lab.judge(spec, story.rows);
  EXPECT_EQ(finding.explanation,
            "archive did not advance in requests/0 for 7s4ms, though there was something to read");
  EXPECT_EQ(finding.witness, (Witness{2, 5, 6}));
  EXPECT_EQ(lab.judge(spec, rests.end().rows).explanation,
            "the system came to rest, but archive has not read requests/0 to its end");
}

TEST(ClaimWordsReading, AFaultExcusesAStageUntilItIsHealed) {
  const Lab lab;
  const ClaimSpec spec =
      claim("progress.consumer", "", "", "", {{"within", "5s", 0}, {"stage", "archive", 0}});
  Story story(lab);
  story.send(1, "api-0", "requests/0", 0).row(Kind::fault, Phase::ok, "archive-0");
  story.later(30'000'000'000).row(Kind::heal, Phase::ok, "archive-0");
  story.later(4'000'000'000).handle(1, "archive-0", "requests/0", 0).found(1, "requests/0", 0);
  EXPECT_EQ(lab.judge(spec, Story(story).end().rows).verdict, Verdict::holds);
}

TEST(ClaimWordsReading, AnEntryThatIsNeverGivenAgain) {
  const Lab lab(queue_scenario());
  const ClaimSpec spec =
      claim("progress.consumer", "", "", "", {{"within", "5s", 0}, {"stage", "archive", 0}});
  Story story(lab);
  story.send(1, "api-0", "requests", 1).read(1, "archive-0", "requests", 1);
  story.later(9'000'000'000).read(1, "archive-0", "requests", 1);
  EXPECT_EQ(lab.judge(spec, story.rows).explanation,
            "requests@1 was pending for 9s2ms: archive neither settled it nor was given it again");
}

TEST(ClaimWordsReading, WhatCannotBeIsRefusedWithWhatCould) {
  EXPECT_EQ(refused(claim("commit.covers_processed", "vectors")),
            "small.toml: claims.commit.covers_processed.of: no stage of the scenario reads \"vectors\"");
  EXPECT_EQ(
      refused(claim("commit.covers_processed", "", "", "billing")),
      "small.toml: claims.commit.covers_processed.as: has no meaning here; the claim is about stages (of = "
      "TOPIC, stage = …)");
  EXPECT_EQ(
      refused(claim("commit.covers_processed", "", "", "", {{"stage", "embbed", 4}})),
      "small.toml:4: claims.commit.covers_processed.stage: \"embbed\" does not read anything; did you mean "
      "\"embed\"?");
  EXPECT_EQ(refused(claim("progress.consumer")),
            "small.toml: claims.progress.consumer.within: is needed: within = \"30s\"");
}

}  // namespace
}  // namespace mqlab::testing
