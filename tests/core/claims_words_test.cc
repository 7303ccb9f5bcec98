// What users read: sentences, witnesses, and what is said about a claim that cannot be.
#include <gtest/gtest.h>

#include "core/scenario/error.h"
#include "tests/core/claims_good.h"

namespace mqlab::testing {
namespace {

using Witness = std::vector<std::uint64_t>;

std::string refused(const ClaimSpec& spec) {
  const Lab lab;
  try {
    lab.checker(spec);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
}

TEST(ClaimWords, ALossNamesTheFirstIdAndItsAck) {
  const Lab lab;
  Story story(lab);
  story.send(1, "api-0", "requests/0", 0).send(2, "api-0", "requests/0", 1).found(1, "vectors/0", 0);
  story.found(1, "requests/0", 0).found(2, "requests/0", 1);
  const Finding finding = lab.judge(claim("no_loss", "requests", "vectors"), story.end().rows);
  EXPECT_EQ(finding.explanation, "id 2 was acked by requests, but is not in vectors");
  EXPECT_EQ(finding.witness, (Witness{5, 6}));
  EXPECT_EQ(finding.message, 2u);
  EXPECT_EQ(finding.population, 2u);
  EXPECT_EQ(finding.observed, 1u);
}

TEST(ClaimWords, ADuplicateNamesBothPlaces) {
  const Lab lab;
  Story story(lab);
  story.send(2, "api-0", "requests/0", 0)
      .found(2, "requests/0", 0)
      .found(2, "vectors/0", 4)
      .found(2, "vectors/0", 7);
  const Rows rows = story.end().rows;
  const Finding finding = lab.judge(claim("no_duplicates", "requests", "vectors"), rows);
  EXPECT_EQ(finding.explanation, "id 2 is in vectors twice: vectors/0@4 and vectors/0@7");
  ASSERT_EQ(finding.witness.size(), 2u);
  EXPECT_EQ(rows[finding.witness[0]].position, 4);
  EXPECT_EQ(rows[finding.witness[1]].position, 7);
}

TEST(ClaimWords, ADeadLetterIsNoLoss) {
  const Lab lab;
  Story story(lab);
  story.send(1, "api-0", "requests/0", 0).send(2, "api-0", "requests/0", 1).found(1, "vectors/0", 0);
  story.found(1, "requests/0", 0).found(2, "requests/0", 1).found(2, "letters/0", 0);
  EXPECT_EQ(lab.judge(claim("no_loss", "requests", "vectors"), story.end().rows).verdict, Verdict::holds);
}

TEST(ClaimWords, OrderNamesSenderIdsAndPlaces) {
  const Lab lab;
  Story story(lab);
  story.asked(1, "api-0", 7).asked(2, "api-0", 7).publish(1, "api-0", 7).publish(2, "api-0", 7);
  story.stored(2, "api-0", "requests/0", 3).stored(1, "api-0", "requests/0", 4);
  story.found(2, "requests/0", 3).found(1, "requests/0", 4).found(2, "vectors/0", 0).found(1, "vectors/0", 1);
  const Rows rows = story.end().rows;
  const Finding partition = lab.judge(claim("order.partition", "", "requests"), rows);
  EXPECT_EQ(partition.explanation,
            "api-0 sent id 1 before id 2, but requests has id 2 first: requests/0@3, then requests/0@4");
  EXPECT_EQ(partition.witness, (Witness{2, 3, 7, 8}));
  const Finding key = lab.judge(claim("order.key", "requests", "vectors"), rows);
  EXPECT_EQ(key.explanation,
            "key 7: api-0 sent id 1 before id 2, but vectors has id 2 first: vectors/0@0, then vectors/0@1");
}

TEST(ClaimWords, ATornTransactionSaysWhichHalfIsThere) {
  const Lab lab;
  Story story(lab);
  story.send(1, "api-0", "requests/0", 0).send(2, "api-0", "requests/0", 1);
  story.transaction(Kind::begin, Phase::ok, "embed-0", 3);
  story.publish(1, "embed-0", 0, 3).stored(1, "embed-0", "vectors/0", 0, 3);
  story.publish(2, "embed-0", 0, 3).stored(2, "embed-0", "vectors/1", 0, 3);
  story.offsets(Kind::offsets_to_transaction, "embed-0", "requests/0", 2, 3);
  story.transaction(Kind::commit_transaction, Phase::invoke, "embed-0", 3);
  story.transaction(Kind::commit_transaction, Phase::unknown, "embed-0", 3);
  story.found(1, "requests/0", 0).found(2, "requests/0", 1).found(1, "vectors/0", 0);
  Story whole = story, offsets_only = story;
  story.found(2, "vectors/1", 0, flag::aborted).committed("requests/0", 2);
  EXPECT_EQ(lab.judge(claim("txn.atomic"), story.end().rows).explanation,
            "transaction 3 of embed-0 is torn: id 1 is visible, id 2 (vectors/1@0) is not");
  whole.found(2, "vectors/1", 0).committed("requests/0", -1);
  EXPECT_EQ(lab.judge(claim("txn.atomic"), whole.end().rows).explanation,
            "transaction 3 of embed-0 is torn: id 1 is visible, its offset requests/0@2 was not committed");
  Story good = offsets_only;
  good.found(2, "vectors/1", 0).committed("requests/0", 2);
  const Finding all_there =
      lab.judge(claim("txn.atomic", "", "", "", {{"unknown_at_most", "1", 0}}), good.end().rows);
  EXPECT_EQ(all_there.verdict, Verdict::holds) << all_there.explanation;
}

TEST(ClaimWords, OffsetsOfAnAbortedTransactionAreFoundWhereAPartitionIsAssigned) {
  const Lab lab;
  Story story(lab);
  story.send(1, "api-0", "requests/0", 0);
  story.transaction(Kind::begin, Phase::ok, "embed-0", 1).publish(1, "embed-0", 0, 1);
  story.stored(1, "embed-0", "vectors/0", 0, 1);
  story.offsets(Kind::offsets_to_transaction, "embed-0", "requests/0", 1, 1);
  story.transaction(Kind::abort_transaction, Phase::ok, "embed-0", 1);
  Row& assigned = story.row(Kind::assigned, Phase::ok, "embed-1");
  assigned.place = lab.place("requests/0");
  assigned.position = 1;
  story.found(1, "requests/0", 0).found(1, "vectors/0", 0, flag::aborted).committed("requests/0", 5);
  EXPECT_EQ(lab.judge(claim("txn.atomic"), story.end().rows).explanation,
            "transaction 1 of embed-0 was aborted, but its offset requests/0@1 was committed");
}

TEST(ClaimWords, EarlyReadingNamesObserverPlaceAndTransaction) {
  const Lab lab;
  Story story(lab);
  story.transaction(Kind::begin, Phase::ok, "embed-0", 2).publish(1, "embed-0", 0, 2);
  story.stored(1, "embed-0", "vectors/0", 0, 2).read(1, "billing", "vectors/0", 0);
  const Rows never = story.rows;
  EXPECT_EQ(lab.judge(claim("txn.read_committed"), never).explanation,
            "billing read id 1 at vectors/0@0, but embed-0 never asked to commit transaction 2");
  story.transaction(Kind::commit_transaction, Phase::invoke, "embed-0", 2);
  const Finding late = lab.judge(claim("txn.read_committed", "", "", "billing"), story.rows);
  EXPECT_EQ(late.explanation,
            "billing read id 1 at vectors/0@0 before embed-0 asked to commit transaction 2");
  EXPECT_EQ(late.witness, (Witness{4, 5}));
}

TEST(ClaimWords, UndecidedSaysWhatIsMissing) {
  const Lab lab;
  const ClaimSpec spec = claim("no_loss", "requests", "vectors");
  Story story(lab);
  story.send(1, "api-0", "requests/0", 0);
  EXPECT_EQ(lab.judge(spec, story.rows).explanation, "the history ends before the system came to rest");
  Story restless = story;
  restless.row(Kind::quiet, Phase::fail, "lab").flags = flag::timed_out;
  EXPECT_EQ(lab.judge(spec, restless.rows).explanation, "the run did not come to rest before its horizon");
  story.found(1, "requests/0", 0).found(1, "vectors/0", 0);
  Rows rows = story.end().rows;
  for (Row& r : rows) {
    if (r.kind == Kind::audit_end && r.place == lab.place("vectors/0")) r.aux = 2;
  }
  EXPECT_EQ(lab.judge(spec, rows).explanation, "the auditor found 2 records in vectors/0, the history has 1");
  Story nothing(lab);
  EXPECT_EQ(lab.judge(spec, nothing.end().rows).explanation, "no id was acked by requests");
}

TEST(ClaimWords, LatencyGivesTheQuantileAndItsInterval) {
  const Lab lab;
  const Rows rows = good_history(lab);
  const Finding finding =
      lab.judge(claim("latency.p90", "requests", "vectors", "billing", {{"at_most", "50ms", 0}}), rows);
  EXPECT_EQ(finding.verdict, Verdict::holds);
  EXPECT_EQ(finding.explanation, "p90 22ms ≤ 50ms (120 samples, 95 % between 22ms and 22ms)");
  EXPECT_DOUBLE_EQ(finding.value, 0.022);
  const Finding few =
      lab.judge(claim("latency.p99", "requests", "vectors", "", {{"at_most", "15ms", 0}}), rows);
  EXPECT_EQ(few.verdict, Verdict::undecided);
  EXPECT_EQ(few.explanation, "only 120 samples were observed, 1000 are needed");
}

TEST(ClaimWords, WhatCannotBeIsRefusedWithWhatCould) {
  EXPECT_EQ(refused(claim("exactly_onec")),
            "small.toml: claims.exactly_onec: there is no such claim; did you mean \"exactly_once\"?");
  EXPECT_EQ(refused(claim("no_loss", "reqests", "vectors")),
            "small.toml: claims.no_loss.of: \"reqests\" does not exist; did you mean \"requests\"?");
  EXPECT_EQ(refused(claim("no_loss", "vectors", "letters")),
            "small.toml: claims.no_loss.of: no workload sends to \"vectors\"; valid: requests, other");
  EXPECT_EQ(refused(claim("no_loss", "requests", "vector")),
            "small.toml: claims.no_loss.in: \"vector\" does not exist; did you mean \"vectors\"?");
  EXPECT_EQ(refused(claim("no_loss", "requests", "vectors", "biling")),
            "small.toml: claims.no_loss.as: there is no observer \"biling\"; did you mean \"billing\"?");
  EXPECT_EQ(refused(claim("no_loss", "requests", "letters", "billing")),
            "small.toml: claims.no_loss.in: observer \"billing\" reads \"vectors\", not \"letters\"");
  EXPECT_EQ(refused(claim("no_loss", "", "vectors")),
            "small.toml: claims.no_loss.of: of which topic? the workloads send to requests, other");
  EXPECT_EQ(
      refused(claim("no_loss", "requests", "vectors", "", {{"deliveres", "true", 9}})),
      "small.toml:9: claims.no_loss.deliveres: no such parameter of no_loss; did you mean \"deliveries\"?");
  EXPECT_EQ(refused(claim("latency.p98", "requests", "vectors")),
            "small.toml: claims.latency.p98: there is no quantile \"p98\"; did you mean \"p90\"?");
  EXPECT_EQ(refused(claim("latency.p99", "requests", "vectors")),
            "small.toml: claims.latency.p99.at_most: is needed: at_most = \"15ms\"");
  EXPECT_EQ(refused(claim("latency.p99", "requests", "vectors", "", {{"at_most", "15", 3}})),
            "small.toml:3: claims.latency.p99.at_most: \"15\" is no duration; write it like \"15ms\"");
  EXPECT_EQ(
      refused(claim("latency.p99", "requests", "", "", {{"at_most", "15ms", 3}})),
      "small.toml: claims.latency.p99.stage: several stages read \"requests\"; say which: embed, archive");
  EXPECT_EQ(refused(claim("throughput", "requests", "vectors", "", {{"at_least", "fast", 3}})),
            "small.toml:3: claims.throughput.at_least: \"fast\" is no rate; write it like \"1000/s\"");
  EXPECT_EQ(refused(claim("order.partition", "", "index")),
            "small.toml: claims.order.partition.in: \"index\" is a store, not a topic; valid: requests, "
            "vectors, letters, other");
  Scenario keyless = small_scenario();
  keyless.workloads[0].keys.kind = KeySpec::Kind::none;
  EXPECT_THROW(Lab(keyless).checker(claim("order.key", "requests", "vectors")), ScenarioError);
}

TEST(ClaimWords, EveryClaimCanBeMadeAndIsInTheTable) {
  std::vector<ClaimSpec> specs = every_claim();
  specs.push_back(claim("order.total"));  // takes two observers: claims_order_total_test.cc
  std::size_t found = 0;
  for (const ClaimInfo& info : all_claims()) {
    EXPECT_FALSE(info.definition.empty());
    for (const ClaimSpec& spec : specs) {
      const std::string_view family = info.id.substr(0, info.id.find('*'));
      if (!std::string_view(spec.id).starts_with(family)) continue;
      ++found;
      break;
    }
  }
  EXPECT_EQ(found, all_claims().size());
}

}  // namespace
}  // namespace mqlab::testing
