// What users read of answered, recovers and order.causal, and what is refused.
#include <gtest/gtest.h>

#include "tests/core/claims_support.h"

namespace mqlab::testing {
namespace {

using Witness = std::vector<std::uint64_t>;

Story asked(const Lab& lab) {
  Story story(lab);
  for (MessageId id = 1; id <= 2; ++id)
    story.send(id, "api-0", "requests/0", id - 1).found(id, "requests/0", id - 1);
  return story;
}

ClaimSpec within(const char* id, const char* time) {
  return claim(id, "requests", "vectors", "billing", {{"within", time, 0}});
}

TEST(ClaimWordsAnswers, ACallWithoutAnswer) {
  const Lab lab;
  const Rows rows = asked(lab).read(1, "billing", "vectors/0", 0).end().rows;
  const Finding finding = lab.judge(within("answered", "1s"), rows);
  EXPECT_EQ(finding.verdict, Verdict::violated);
  EXPECT_EQ(finding.explanation, "id 2 was acked by requests, but never answered");
  EXPECT_EQ(finding.witness, (Witness{4, 8}));
}

TEST(ClaimWordsAnswers, AnAnswerThatIsLate) {
  const Lab lab;
  Story story = asked(lab);
  story.read(1, "billing", "vectors/0", 0).later(2'000'000'000).read(2, "billing", "vectors/0", 1);
  const Finding finding = lab.judge(within("answered", "1s"), story.end().rows);
  EXPECT_EQ(finding.explanation, "id 2 was answered after 2s6ms, later than 1s");
  EXPECT_EQ(lab.judge(within("answered", "3s"), story.rows).verdict, Verdict::holds);
}

TEST(ClaimWordsAnswers, TwoAnswers) {
  const Lab lab;
  Story story = asked(lab);
  for (std::int64_t at = 0; at < 3; ++at)
    story.read(at == 2 ? 1 : static_cast<MessageId>(at + 1), "billing", "vectors/0", at);
  const Finding finding = lab.judge(within("answered", "1s"), story.end().rows);
  EXPECT_EQ(finding.explanation, "id 1 was answered twice");
}

TEST(ClaimWordsAnswers, AFailureIsAnAnswer) {
  const Lab lab;
  Story story = asked(lab);
  story.read(1, "billing", "vectors/0", 0).read(2, "billing", "vectors/0", 1);
  story.asked(3, "api-0").publish(3, "api-0").stored(3, "api-0", "", -1, 0, Phase::fail);
  Story both = story;
  const Finding holds = lab.judge(within("answered", "1s"), story.end().rows);
  EXPECT_EQ(holds.explanation, "3 answers, none later than 1s");
  const Finding finding =
      lab.judge(within("answered", "1s"), both.read(3, "billing", "vectors/0", 2).end().rows);
  EXPECT_EQ(finding.explanation, "id 3 was answered, though its sender was told that it failed");
}

TEST(ClaimWordsAnswers, ABacklogThatOutlivesTheFault) {
  const Lab lab;
  Story story = asked(lab);
  story.read(1, "billing", "vectors/0", 0);
  story.row(Kind::fault, Phase::ok, "embed-0");
  story.row(Kind::heal, Phase::ok, "embed-0");
  story.later(5'000'000'000).read(2, "billing", "vectors/0", 1);
  const Finding finding = lab.judge(within("recovers", "1s"), story.end().rows);
  EXPECT_EQ(finding.explanation,
            "id 2 was acked by requests, but was done 5s2ms after the last fault, later than 1s");
  EXPECT_EQ(finding.witness, (Witness{5, 9, 11}));
  const Finding holds = lab.judge(within("recovers", "6s"), story.rows);
  EXPECT_EQ(holds.explanation, "2 ids, the last one done 5s2ms after the last fault");
}

TEST(ClaimWordsAnswers, AnAnswerReadBeforeItsQuestion) {
  const Lab lab;
  Story story(lab);
  story.asked(1, "api-0").publish(1, "api-0").stored(1, "api-0", "vectors/0", 0);
  story.handle(1, "embed-0", "vectors/0", 0);
  story.publish(2, "embed-0").stored(2, "embed-0", "vectors/1", 0);
  Story never = story;
  story.read(2, "billing", "vectors/1", 0).read(1, "billing", "vectors/0", 0);
  const ClaimSpec spec = claim("order.causal", "", "vectors");
  const Finding finding = lab.judge(spec, story.end().rows);
  EXPECT_EQ(finding.explanation,
            "billing read id 2 (vectors/1@0) before id 1 (vectors/0@0), which had reached embed-0 before it "
            "was sent");
  EXPECT_EQ(finding.witness, (Witness{1, 4, 7, 9}));
  const Finding without = lab.judge(spec, never.read(2, "billing", "vectors/1", 0).end().rows);
  EXPECT_NE(without.explanation.find("without id 1"), std::string::npos) << without.explanation;
}

TEST(ClaimWordsAnswers, ATopicThatTakesTooMuch) {
  const Lab lab;
  Story story(lab);
  story.takes("vectors/0", 600).takes("vectors/1", 500).takes("vectors/0", 0).takes("vectors/1", 1400).end();
  const Finding finding =
      lab.judge(claim("disk.bounded", "", "vectors", "", {{"at_most", "1KB", 0}}), story.rows);
  EXPECT_EQ(finding.explanation, "vectors took 1400 bytes, more than 1000");
  EXPECT_EQ(finding.witness, (Witness{1, 3}));
  EXPECT_EQ(finding.violations, 2u);
  const Finding holds =
      lab.judge(claim("disk.bounded", "", "vectors", "", {{"at_most", "2KB", 0}}), story.rows);
  EXPECT_EQ(holds.explanation, "vectors took 1400 bytes at most");
}

TEST(ClaimWordsAnswers, WhatIsRefused) {
  EXPECT_EQ(refused(claim("disk.bounded", "", "vectors", "", {{"at_most", "lots", 3}})),
            "small.toml:3: claims.disk.bounded.at_most: \"lots\" is no size; write it like \"64MiB\"");
  EXPECT_EQ(refused(claim("answered", "requests", "vectors")),
            "small.toml: claims.answered.within: is needed: within = \"5s\"");
  EXPECT_EQ(refused(claim("recovers", "requests", "vectors")),
            "small.toml: claims.recovers.within: is needed: within = \"30s\"");
  EXPECT_EQ(refused(claim("order.causal", "requests")),
            "small.toml: claims.order.causal.of: has no meaning here; the claim is about observers (in = "
            "TOPIC)");
  EXPECT_EQ(refused(claim("order.causal", "", "letters")),
            "small.toml: claims.order.causal.in: takes an observer of \"letters\" at least; there is 0");
}

}  // namespace
}  // namespace mqlab::testing
