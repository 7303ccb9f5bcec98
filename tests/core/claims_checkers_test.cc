// Tests of the checkers themselves: what no checker may ever do, whatever the history.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/history/audit.h"
#include "tests/core/claims_good.h"
#include "tests/core/claims_random.h"

namespace mqlab::testing {
namespace {

std::set<std::string> concerned(const Lab& lab, const ClaimSpec& spec) {
  if (spec.id == "txn.atomic") return {"requests", "vectors", "letters"};
  std::set<std::string> topics = {spec.in.empty() ? "requests" : spec.in};
  if (!spec.of.empty()) topics.insert({spec.of, lab.scenario.stages[0].retry.dead_letter});
  return topics;
}

/// The last row without which the end phase is not whole for this claim.
std::size_t last_needed(const Lab& lab, const ClaimSpec& spec, const Rows& rows) {
  const std::set<std::string> topics = concerned(lab, spec);
  for (std::size_t i = rows.size(); i-- > 0;) {
    if (rows[i].kind != Kind::audit_end) continue;
    if (topics.count(lab.topology.topics[lab.topology.places[rows[i].place].topic].name) != 0) return i;
  }
  return 0;
}

TEST(Checkers, EveryClaimHoldsOnAGoodHistoryAndOnNoPrefixOfIt) {
  const Lab lab;
  const Rows rows = good_history(lab);
  for (const ClaimSpec& spec : every_claim()) {
    const auto checker = lab.checker(spec);
    const std::size_t needed = last_needed(lab, spec, rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool sampled =
          i % 97 == 0 || i + 40 > rows.size() || rows[i].kind == Kind::audit_end || i == needed;
      if (sampled && i <= needed) {
        ASSERT_EQ(checker->finish().verdict, Verdict::undecided) << spec.scope() << " at row " << i;
      }
      checker->observe({&rows[i], 1});
    }
    const Finding finding = checker->finish();
    EXPECT_EQ(finding.verdict, Verdict::holds) << spec.scope() << ": " << finding.explanation;
    EXPECT_GT(finding.observed, 0u) << spec.scope();
    EXPECT_TRUE(finding.witness.empty());
  }
}

TEST(Checkers, AHistoryKnownToBeCutShortNeverHolds) {
  const Lab lab;
  const Rows rows = good_history(lab);
  History history;
  for (const Row& row : rows) history.next() = row;
  std::vector<std::unique_ptr<Checker>> checkers;
  for (const ClaimSpec& spec : every_claim()) checkers.push_back(lab.checker(spec));
  for (const Finding& finding : judge(checkers, history)) EXPECT_EQ(finding.verdict, Verdict::holds);
  for (const Finding& finding : judge(checkers, history, false))
    EXPECT_EQ(finding.verdict, Verdict::undecided);
}

TEST(Checkers, ResetForgetsEverything) {
  const Lab lab;
  const Rows good = good_history(lab);
  for (const ClaimSpec& spec : every_claim()) {
    const auto used = lab.checker(spec);
    for (unsigned seed = 0; seed < 40; ++seed) {
      const Rows rows = RandomHistory(lab, seed, 30).make(seed % 4);
      used->reset();
      used->observe(rows);
      const Finding again = used->finish();
      const Finding fresh = lab.judge(spec, rows);
      ASSERT_EQ(again.verdict, fresh.verdict) << spec.scope();
      ASSERT_EQ(again.explanation, fresh.explanation) << spec.scope();
      ASSERT_EQ(again.witness, fresh.witness) << spec.scope();
    }
    used->reset();
    used->observe(good);
    EXPECT_EQ(used->finish().verdict, Verdict::holds) << spec.scope();
  }
}

bool settles(Kind kind) {
  return kind == Kind::publish || kind == Kind::complete || kind == Kind::store_write ||
         kind == Kind::commit_transaction || kind == Kind::abort_transaction || kind == Kind::commit ||
         kind == Kind::offsets_to_transaction || kind == Kind::ack;
}

bool acks(const Lab& lab, const Row& row) {
  return row.kind == Kind::publish && lab.topology.processes[row.process].role == Role::workload;
}

/// Whether the changed row is part of what proved the violation: by its place in the history, its id or its
/// transaction.
bool in_proof(const Finding& finding, const Rows& rows, std::size_t changed) {
  const Row& c = rows[changed];
  for (const std::uint64_t i : finding.witness) {
    const Row& w = rows[i];
    if (i == changed || (w.message != 0 && w.message == c.message)) return true;
    if (w.transaction != 0 && w.transaction == c.transaction && w.process == c.process) return true;
    if (c.kind == Kind::store_write && w.process == c.process && w.op == c.op) return true;
  }
  return finding.message != 0 && finding.message == c.message;
}

/// holds → holds or undecided; undecided stays; violated → violated or undecided, or the proof itself is
/// gone. Never anything → violated. (An ack turned unknown takes its id out of the population, and with it
/// what was in doubt.)
TEST(Checkers, AnOkTurnedIntoUnknownOnlyWeakens) {
  const Lab lab;
  std::map<std::pair<Verdict, Verdict>, int> seen;
  for (const ClaimSpec& spec : every_claim()) {
    const auto checker = lab.checker(spec);
    const auto judged = [&](const Rows& rows) {
      checker->reset();
      checker->observe(rows);
      return checker->finish();
    };
    for (unsigned seed = 0; seed < 400; ++seed) {
      const bool long_run = spec.id.starts_with("latency.p") || spec.id == "throughput";
      Rows rows = seed == 0 ? good_history(lab) : RandomHistory(lab, seed, long_run ? 25 : 5).make(0);
      const Finding before = judged(rows);
      for (std::size_t i = 0; i < rows.size(); i += 1 + rows.size() / 150) {
        if (!settles(rows[i].kind) || rows[i].phase != Phase::ok) continue;
        Row& row = rows[i];
        const Row was = row;
        row.phase = Phase::unknown;
        if (row.kind == Kind::publish) {  // nobody was told where it went
          row.place = no_place;
          row.position = -1;
        }
        const Finding after = judged(rows);
        rows[i] = was;
        ++seen[{before.verdict, after.verdict}];
        const bool weaker =
            after.verdict == before.verdict || after.verdict == Verdict::undecided ||
            (before.verdict == Verdict::violated && in_proof(before, rows, i)) ||
            (before.verdict == Verdict::undecided && after.verdict == Verdict::holds && acks(lab, was));
        ASSERT_TRUE(weaker) << spec.scope() << ", seed " << seed << ", row " << i << " " << name_of(was.kind)
                            << " of id " << was.message << ": " << before.explanation << " → "
                            << after.explanation;
      }
    }
  }
  EXPECT_GT((seen[{Verdict::holds, Verdict::holds}]), 100);
  EXPECT_GT((seen[{Verdict::violated, Verdict::violated}]), 100);
}

bool reads(const Row& row) { return row.kind == Kind::deliver || row.kind == Kind::audit; }

TEST(Checkers, DeletingAReadNeverMendsAViolation) {
  const Lab lab;
  int violated = 0;
  for (const ClaimSpec& spec : every_claim()) {
    const auto checker = lab.checker(spec);
    for (unsigned seed = 0; seed < 400; ++seed) {
      const bool long_run = spec.id.starts_with("latency.p") || spec.id == "throughput";
      const Rows rows = RandomHistory(lab, seed, long_run ? 25 : 5).make(0);
      checker->reset();
      checker->observe(rows);
      if (checker->finish().verdict != Verdict::violated) continue;
      ++violated;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!reads(rows[i])) continue;
        checker->reset();
        checker->observe({rows.data(), i});
        checker->observe({rows.data() + i + 1, rows.size() - i - 1});
        const Finding after = checker->finish();
        ASSERT_NE(after.verdict, Verdict::holds) << spec.scope() << ", seed " << seed << ", row " << i;
      }
    }
  }
  EXPECT_GT(violated, 500);
}

/// Gives ids, processes of one group, partitions of one topic, and positions other names, and shifts time.
class Renaming {
 public:
  Renaming(const Lab& lab, std::uint64_t seed) : seed_(seed) {
    for (ProcessId p = 0; p < lab.topology.processes.size(); ++p) {
      const std::vector<ProcessId> group = lab.topology.group(lab.topology.processes[p].group);
      processes_.push_back(
          group.size() == 2 && seed % 2 == 0 ? static_cast<ProcessId>(group[0] + group[1] - p) : p);
    }
    for (PlaceId p = 0; p < lab.topology.places.size(); ++p) {
      const TopicInfo& topic = lab.topology.topics[lab.topology.places[p].topic];
      places_.push_back(topic.partitions == 2 && seed % 3 == 0 ? 2 * topic.first_place + 1 - p : p);
    }
  }
  Rows operator()(Rows rows) const {
    for (Row& r : rows) {
      if (r.message != 0) r.message = 1000 - 7 * r.message;
      if (r.cause != 0) r.cause = 1000 - 7 * r.cause;
      if (r.process < processes_.size()) r.process = processes_[r.process];
      if (r.place < places_.size()) r.place = places_[r.place];
      const std::int64_t shift = static_cast<std::int64_t>(seed_ % 5) * 1'000'000'000;
      r.time += shift;
      if (r.kind == Kind::invoke) r.aux += shift;
    }
    return rows;
  }

 private:
  std::uint64_t seed_;
  std::vector<ProcessId> processes_;
  std::vector<PlaceId> places_;
};

TEST(Checkers, OtherNamesAndTimesGiveTheSameVerdict) {
  const Lab lab;
  for (const ClaimSpec& spec : every_claim()) {
    const auto checker = lab.checker(spec);
    for (unsigned seed = 0; seed < 300; ++seed) {
      const bool long_run = spec.id.starts_with("latency.p") || spec.id == "throughput";
      const Rows rows = RandomHistory(lab, seed, long_run ? 40 : 6).make(seed % 3);
      const Rows renamed = Renaming(lab, seed)(rows);
      checker->reset();
      checker->observe(rows);
      const Finding one = checker->finish();
      checker->reset();
      checker->observe(renamed);
      const Finding other = checker->finish();
      ASSERT_EQ(one.verdict, other.verdict)
          << spec.scope() << ", seed " << seed << ": " << one.explanation << " / " << other.explanation;
      ASSERT_EQ(one.observed, other.observed) << spec.scope();
      ASSERT_EQ(one.violations, other.violations) << spec.scope();
    }
  }
}

/// Claims about what happens without faults, or after them.
bool about_faults(const ClaimSpec& spec) { return spec.id == "progress.consumer" || spec.id == "recovers"; }

/// Rows that only one world can write, or that only some brokers have, must not be looked at.
TEST(Checkers, SeeOnlyRowsThatBothWorldsWrite) {
  const Lab lab;
  for (const ClaimSpec& spec : every_claim()) {
    std::vector<Kind> internal = {Kind::append, Kind::high_watermark, Kind::marker, Kind::truncate,
                                  Kind::elect,  Kind::request,        Kind::fault,  Kind::heal};
    if (about_faults(spec)) internal.resize(6);
    for (unsigned seed = 0; seed < 60; ++seed) {
      const Rows rows = seed == 0 ? good_history(lab) : RandomHistory(lab, seed).make(0);
      RandomStream random(seed);
      Rows noisy;
      std::map<std::uint64_t, std::uint64_t> row_of;  // in noisy → in rows
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (below(random.next(), 2) == 0) {
          Row noise = rows[below(random.next(), rows.size())];
          noise.kind = internal[below(random.next(), internal.size())];
          noisy.push_back(noise);
        }
        row_of[noisy.size()] = i;
        noisy.push_back(rows[i]);
      }
      const Finding plain = lab.judge(spec, rows);
      Finding with_noise = lab.judge(spec, noisy);
      for (std::uint64_t& row : with_noise.witness) row = row_of.at(row);
      ASSERT_EQ(plain.verdict, with_noise.verdict) << spec.scope();
      ASSERT_EQ(plain.explanation, with_noise.explanation) << spec.scope();
      ASSERT_EQ(plain.witness, with_noise.witness) << spec.scope();
    }
  }
}

}  // namespace
}  // namespace mqlab::testing
