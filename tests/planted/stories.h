// Twenty-four violated scenarios, the story the search makes of each, and whether the stored story is true.
#pragma once
#include <string>
#include <vector>

#include "core/scenario/reader.h"
#include "search/runner.h"
#include "tests/planted/planted_support.h"

namespace mqlab::test {

/// Every violated experiment, and planted defects that need more than one fault or several nodes.
inline std::vector<PlantedCase> story_cases() {
  using P = Plant;
  std::vector<PlantedCase> cases = {
      {P::none, "kafka-at-least-once.toml", {"no_duplicates"}},
      {P::none, "kafka-at-most-once.toml", {"no_loss"}},
      {P::none, "kafka-auto-commit.toml", {"no_loss"}},
      {P::none,
       "kafka-concurrent-handlers.toml",
       {"commit.covers_processed"},
       {{"stages.worker.commit_up_to", "\"newest\""}}},
      {P::none, "kafka-poll-interval.toml", {"progress.consumer"}},
      {P::none, "kafka-reorder-in-flight.toml", {"order.partition"}},
      {P::none, "kafka-retry-topics.toml", {"order.key"}},
      {P::none, "kafka-transactional-delayed-end.toml", {"txn.atomic"}},
      {P::none, "kafka-transactional-read-uncommitted.toml", {"txn.read_committed"}},
      {P::none, "nats-ack-wait.toml", {"no_duplicates"}},
      {P::none, "nats-minority-peer-remove.toml", {"no_loss"}},
      {P::none, "nats-power-loss.toml", {"no_loss"}},
      {P::none, "nats-staged-id.toml", {"no_loss"}},
      {P::none, "nats-stream-forgotten.toml", {"no_loss"}},
      {P::none, "nats-stuck-pull.toml", {"progress.consumer"}},
  };
  for (const PlantedCase& c : planted_cases()) {
    for (const Plant p : {P::kafka_isr_joins_early, P::kafka_truncation_off, P::kafka_stale_leader,
                          P::kafka_offsets_not_replayed, P::kafka_init_does_not_fence, P::txn_skips_rewind,
                          P::nats_dedup_lost_at_restart, P::nats_one_is_a_majority, P::sink_offset_ahead}) {
      if (c.plant == p) cases.push_back(c);
    }
  }
  return cases;
}

inline std::string story_name(const PlantedCase& c) {
  std::string name(c.plant == Plant::none ? c.scenario : name_of(c.plant));
  return name.substr(0, name.find('.'));
}

/// Four, but where the defect takes more: a follower must be so far behind that it has not caught up before
/// the leader dies.
inline std::uint64_t messages_needed(const PlantedCase& c) {
  return c.plant == Plant::kafka_isr_joins_early ? 6 : 4;
}

struct Told {
  std::string claim;
  search::Counterexample story;
  std::uint64_t schedule = 0;
  double seconds = 0;  ///< of CPU, for shrinking it and looking for causes
};

/// The first story of the case's claims.
inline std::optional<Told> story_of(const PlantedCase& c) {
  const auto setup = set_up(c);
  search::Options options;
  options.claims = c.claims;
  options.schedules = 10'000;
  options.first_only = true;
  const double begin = cpu_seconds();
  search::Report report = search::verify(*setup, options);
  double searched = 0;
  for (const search::RoundReport& round : report.rounds) searched += round.seconds;
  const double after = cpu_seconds() - begin - searched;
  for (search::ClaimReport& claim : report.claims) {
    if (!claim.counterexample) continue;
    return Told{claim.claim.id, std::move(*claim.counterexample), *claim.first_failing_schedule, after};
  }
  return std::nullopt;
}

/// The rows that prove a violation.
inline std::vector<Row> witness_of(const search::Runner& runner, const Finding& finding) {
  std::vector<Row> rows;
  for (const std::uint64_t i : finding.witness) rows.push_back(runner.history()[i]);
  return rows;
}

/// How many of `times` runs of the story as it is stored, read anew each time, break the claim in the words
/// of the story and by the very rows of the first.
inline int same_witness(const search::Counterexample& story, const std::string& claim, int times) {
  Scenario stored = story.scenario;
  stored.faults.insert(stored.faults.end(), story.schedule.faults.begin(), story.schedule.faults.end());
  stored.menu = {};
  Schedule schedule = story.schedule;
  schedule.faults.clear();
  const std::string file = to_toml(stored);
  std::vector<Row> first;
  int same = 0;
  for (int i = 0; i < times; ++i) {
    const sim::Setup setup(read_scenario(file, "story.toml"));
    search::Runner runner(setup, search::chosen_claims(setup.scenario, {claim}));
    const search::Outcome outcome = runner.run(schedule);
    for (const Finding& finding : outcome.findings) {
      if (finding.verdict != Verdict::violated) continue;
      const std::vector<Row> rows = witness_of(runner, finding);
      if (i == 0) first = rows;
      const bool told =
          finding.witness == story.finding.witness && finding.explanation == story.finding.explanation;
      same += told && !rows.empty() && rows == first ? 1 : 0;
      break;
    }
  }
  return same;
}

}  // namespace mqlab::test
