// A fast checker against the slow, obviously correct one.
#pragma once
#include <gtest/gtest.h>

#include <functional>

#include "tests/core/claims_naive.h"

namespace mqlab::testing {

using Naive = std::function<naive::Answer(const Lab&, const ClaimSpec&, const Rows&)>;
using Histories = std::function<Rows(const Lab&, unsigned seed)>;

inline std::string describe(const Lab& lab, const Rows& rows) {
  std::string out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& r = rows[i];
    out += std::to_string(i) + " " + std::string(name_of(r.kind)) + " " + std::string(name_of(r.phase)) +
           " " + (r.process < lab.topology.processes.size() ? lab.topology.processes[r.process].name : "-") +
           "." + std::to_string(r.incarnation) + " id " + std::to_string(r.message) + " " +
           (r.place < lab.topology.places.size() ? lab.topology.places[r.place].name : "-") + "@" +
           std::to_string(r.position) + " op " + std::to_string(r.op) + " txn " +
           std::to_string(r.transaction) + " key " + std::to_string(r.key) + " flags " +
           std::to_string(r.flags) + " aux " + std::to_string(r.aux) + "\n";
  }
  return out;
}

/// One claim over many histories; each verdict must have come up often enough to mean something.
inline void agree(const Lab& lab, const ClaimSpec& spec, const Naive& naive_checker, unsigned histories,
                  const Histories& make) {
  const auto checker = lab.checker(spec);
  std::map<Verdict, int> seen;
  for (unsigned seed = 0; seed < histories; ++seed) {
    const Rows rows = make(lab, seed);
    const naive::Answer expected = naive_checker(lab, spec, rows);
    checker->reset();
    const std::size_t half = rows.size() / 2;  // in two spans: nothing may depend on how rows come
    checker->observe({rows.data(), half});
    checker->observe({rows.data() + half, rows.size() - half});
    const Finding found = checker->finish();
    ++seen[found.verdict];
    const bool same = found.verdict == expected.verdict && found.observed == expected.observed &&
                      found.population == expected.population && found.violations == expected.violations;
    ASSERT_TRUE(same) << spec.scope() << ", seed " << seed << ": " << name_of(found.verdict) << " ("
                      << found.explanation << "), by the book " << name_of(expected.verdict) << "; observed "
                      << found.observed << "/" << expected.observed << ", population " << found.population
                      << "/" << expected.population << ", violations " << found.violations << "/"
                      << expected.violations << "\n"
                      << describe(lab, rows);
    ASSERT_FALSE(found.explanation.empty());
    ASSERT_EQ(found.verdict == Verdict::violated, !found.witness.empty());
    ASSERT_TRUE(std::is_sorted(found.witness.begin(), found.witness.end()));
    for (const std::uint64_t row : found.witness) ASSERT_LT(row, rows.size());
  }
  for (const Verdict verdict : {Verdict::holds, Verdict::violated, Verdict::undecided}) {
    EXPECT_GE(seen[verdict], 5) << spec.scope() << " was " << name_of(verdict) << " too rarely";
  }
}

}  // namespace mqlab::testing
