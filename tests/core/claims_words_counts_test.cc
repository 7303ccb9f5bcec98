// What users read of accounted, effect_once, the rates and the log claims, and what is refused.
#include <gtest/gtest.h>

#include "core/scenario/error.h"
#include "tests/core/claims_support.h"

namespace mqlab::testing {
namespace {

using Witness = std::vector<std::uint64_t>;

/// Ids 1 to 4 acked; 1 is in vectors, 2 there and among the dead letters, 3 nowhere, 4 a dead letter.
Rows endings(const Lab& lab) {
  Story story(lab);
  for (MessageId id = 1; id <= 4; ++id)
    story.send(id, "api-0", "requests/0", id - 1).found(id, "requests/0", id - 1);
  story.found(1, "vectors/0", 0).found(2, "vectors/0", 1).found(2, "letters/0", 0).found(4, "letters/0", 1);
  return story.end().rows;
}

TEST(ClaimWordsCounts, AnIdEndsInOnePlace) {
  const Lab lab;
  Rows rows = endings(lab);
  const ClaimSpec spec = claim("accounted", "requests", "vectors");
  const Finding lost = lab.judge(spec, rows);
  EXPECT_EQ(lost.explanation, "id 3 was acked by requests, but is nowhere (and 1 more)");
  EXPECT_EQ(lost.witness, (Witness{8, 12}));
  for (Row& r : rows) {
    if (r.message == 3) r.message = 0;
  }
  const Finding twice = lab.judge(spec, rows);
  EXPECT_EQ(twice.explanation, "id 2 ends twice: vectors/0@1 and letters/0@0");
  EXPECT_EQ(twice.violations, 1u);
}

TEST(ClaimWordsCounts, AWriteThatTookEffectTwice) {
  const Lab lab;
  Story story(lab);
  story.send(1, "api-0", "requests/0", 0).write(1, "embed-0").write(1, "embed-1");
  const Finding finding = lab.judge(claim("effect_once", "requests", "index"), story.rows);
  EXPECT_EQ(finding.explanation, "the write of id 1 to index took effect twice");
  EXPECT_EQ(finding.witness, (Witness{4, 6}));
}

TEST(ClaimWordsCounts, ARateComesWithItsInterval) {
  const Lab lab;
  const Rows rows = endings(lab);
  const auto loss = [&](const char* at_most) {
    return lab.judge(claim("rate.loss", "requests", "vectors", "", {{"at_most", at_most, 0}}), rows);
  };
  EXPECT_EQ(loss("10%").verdict, Verdict::violated);
  EXPECT_EQ(loss("10%").explanation,
            "1 acked id of 4 without effect: 25 % > 10 % (95 % between 4.55 % and 69.93 %)");
  EXPECT_DOUBLE_EQ(loss("10%").value, 0.25);
  EXPECT_EQ(loss("0.25").verdict, Verdict::holds);
}

TEST(ClaimWordsCounts, AnAnomalyOfALog) {
  const Lab lab;
  Story story(lab);
  for (MessageId id = 1; id <= 3; ++id) story.send(id, "api-0", "requests/0", id - 1);
  story.read(1, "archive-0", "requests/0", 0).read(3, "archive-0", "requests/0", 2);
  const Finding finding = lab.judge(claim("log.no_poll_skip"), story.rows);
  EXPECT_EQ(finding.explanation, "int-poll-skip in requests/0: id 1, id 3 (skipped id 2)");
  ASSERT_EQ(finding.anomalies.size(), 1u);
  EXPECT_EQ(finding.anomalies[0].delta, 2);
  EXPECT_EQ(finding.witness, (Witness{10, 12}));
  // The auditor finds no id 2: it is gone, so it was not jumped.
  story.found(1, "requests/0", 0).found(3, "requests/0", 2);
  EXPECT_EQ(lab.judge(claim("log.no_poll_skip", "", "requests"), story.end().rows).verdict, Verdict::holds);
}

TEST(ClaimWordsCounts, WhatCannotBeIsRefusedWithWhatCould) {
  EXPECT_EQ(refused(claim("accounted", "requests")),
            "small.toml: claims.accounted.in: is needed: the topic or store in which an id should end");
  EXPECT_EQ(refused(claim("effect_once", "requests", "vectors")),
            "small.toml: claims.effect_once.in: is needed: the store whose writes are counted");
  EXPECT_EQ(refused(claim("rate.loss", "requests", "vectors")),
            "small.toml: claims.rate.loss.at_most: is needed: at_most = \"0.1%\"");
  EXPECT_EQ(refused(claim("rate.loss", "requests", "vectors", "", {{"at_most", "2", 5}})),
            "small.toml:5: claims.rate.loss.at_most: \"2\" is no share; write a number from 0 to 1");
  EXPECT_EQ(
      refused(claim("log.no_poll_skip", "requests")),
      "small.toml: claims.log.no_poll_skip.of: has no meaning here; the claim is about logs (in = TOPIC)");
  EXPECT_EQ(
      refused(claim("log.no_poll_skip", "", "index")),
      "small.toml: claims.log.no_poll_skip.in: \"index\" is a store, not a topic; valid: requests, vectors, "
      "letters, other");
  EXPECT_EQ(refused(claim("log.no_pol_skip")),
            "small.toml: claims.log.no_pol_skip: there is no such claim; did you mean \"log.no_poll_skip\"?");
}

}  // namespace
}  // namespace mqlab::testing
