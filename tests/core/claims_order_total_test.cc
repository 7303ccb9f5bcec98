// order.total: fast and by the book, and what users read of it.
#include "core/scenario/error.h"
#include "tests/core/claims_agree.h"
#include "tests/core/claims_random.h"

namespace mqlab::testing {
namespace {

/// The small scenario with three observers of vectors.
Scenario observed_scenario() {
  Scenario s = small_scenario();
  for (const char* name : {"ledger", "mirror"}) {
    ObserverSpec o = s.observers[0];
    o.name = name;
    s.observers.push_back(o);
  }
  return s;
}

/// Each observer reads most of vectors, mostly in one order.
Rows readings(const Lab& lab, unsigned seed) {
  RandomStream random(seed * 31 + 7);
  const auto upto = [&](std::uint32_t n) { return static_cast<std::uint32_t>(below(random.next(), n + 1)); };
  const std::uint32_t accidents = upto(2) == 0 ? 1000 : 12;
  const auto accident = [&] { return upto(accidents - 1) == 0; };
  Story story(lab);
  const MessageId ids = upto(5);
  for (const char* observer : {"billing", "ledger", "mirror"}) {
    std::vector<MessageId> order;
    for (MessageId id = 1; id <= ids; ++id) {
      if (!accident()) order.push_back(accident() ? upto(ids) : id);
    }
    if (accident() && order.size() > 1)
      std::swap(order.front(), order[upto(static_cast<std::uint32_t>(order.size() - 1))]);
    for (const MessageId id : order) story.read(id, observer, upto(1) == 0 ? "vectors/0" : "vectors/1", id);
  }
  if (!accident()) story.end();
  Rows rows = story.rows;
  for (unsigned i = seed % 2 == 0 ? 0 : seed % 5; i > 0; --i) change_something(rows, random);
  return rows;
}

bool reaches(const std::set<std::pair<MessageId, MessageId>>& before, MessageId from, MessageId to) {
  std::set<MessageId> seen = {from};
  for (std::size_t size = 0; size != seen.size();) {
    size = seen.size();
    for (const auto& [a, b] : before) {
      if (seen.count(a) != 0) seen.insert(b);
      if (seen.count(a) != 0 && b == to) return true;
    }
  }
  return false;
}

naive::Answer order_total(const Lab& lab, const ClaimSpec& c, const Rows& rows) {
  naive::Answer a;
  std::set<std::pair<MessageId, MessageId>> before;
  std::map<MessageId, int> readers;
  bool seen = true;
  for (const char* observer : {"billing", "ledger", "mirror"}) {
    ClaimSpec one = c;
    one.as = observer;
    seen = seen && naive::end_phase_seen(naive::Subject(lab, one), rows, {"vectors"});
    std::vector<MessageId> order;
    for (const Row& r : rows) {
      const bool read = r.kind == Kind::deliver && r.process == lab.process(observer) && r.message != 0 &&
                        r.place < lab.topology.places.size() &&
                        lab.topology.topics[lab.topology.places[r.place].topic].name == "vectors";
      if (read && std::find(order.begin(), order.end(), r.message) == order.end()) order.push_back(r.message);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      ++readers[order[i]];
      for (std::size_t j = 0; j < i; ++j) before.insert({order[j], order[i]});
    }
    a.observed += order.size();
  }
  for (const auto& [id, n] : readers) a.population += n > 1;
  const bool cyclic = std::any_of(readers.begin(), readers.end(), [&](const auto& entry) {
    return reaches(before, entry.first, entry.first);
  });
  if (!seen) return a;
  a.violations = cyclic;
  if (cyclic) a.verdict = Verdict::violated;
  if (!cyclic && a.population > 0) a.verdict = Verdict::holds;
  return a;
}

TEST(ClaimsAgree, OrderTotal) {
  agree(Lab(observed_scenario()), claim("order.total", "", "vectors"), order_total, 12'000, readings);
}

TEST(ClaimWordsOrderTotal, AContradictionNamesWhoReadWhat) {
  const Lab lab(observed_scenario());
  Story story(lab);
  story.read(1, "billing", "vectors/0", 0).read(2, "billing", "vectors/0", 1);
  story.read(2, "ledger", "vectors/0", 1).read(3, "ledger", "vectors/0", 2);
  Story good = story;
  story.read(3, "mirror", "vectors/0", 2).read(1, "mirror", "vectors/0", 0);
  const Finding finding = lab.judge(claim("order.total"), story.end().rows);
  EXPECT_EQ(finding.verdict, Verdict::violated);
  EXPECT_NE(finding.explanation.find("mirror read id 3 before id 1"), std::string::npos)
      << finding.explanation;
  EXPECT_NE(finding.explanation.find("ledger read id 2 before id 3"), std::string::npos)
      << finding.explanation;
  EXPECT_EQ(finding.witness.size(), 6u);
  EXPECT_EQ(lab.judge(claim("order.total"), good.end().rows).verdict, Verdict::holds);
}

/// Three observers read all in one order.
Story agreeing(const Lab& lab) {
  Story story(lab);
  for (MessageId id = 1; id <= 8; ++id) {
    for (const char* observer : {"billing", "ledger", "mirror"})
      story.read(id, observer, "vectors/0", static_cast<std::int64_t>(id));
  }
  return story.end();
}

TEST(CheckersOrderTotal, NoPrefixHolds) {
  const Lab lab(observed_scenario());
  const Rows rows = agreeing(lab).rows;
  const auto checker = lab.checker(claim("order.total"));
  std::size_t needed = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].kind == Kind::audit_end && rows[i].place == lab.place("vectors/1")) needed = i;
  }
  for (std::size_t i = 0; i <= needed; ++i) {
    ASSERT_EQ(checker->finish().verdict, Verdict::undecided) << i;
    checker->observe({&rows[i], 1});
  }
  EXPECT_EQ(checker->finish().verdict, Verdict::holds);
}

TEST(CheckersOrderTotal, ADeletedReadMendsNothingAndOtherNamesChangeNothing) {
  const Lab lab(observed_scenario());
  const ClaimSpec spec = claim("order.total");
  int violated = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const Rows rows = readings(lab, seed);
    const Verdict before = lab.judge(spec, rows).verdict;
    Rows renamed = rows;
    for (Row& r : renamed) {
      if (r.message != 0) r.message = 1000 - 7 * r.message;
      if (r.process == lab.process("ledger") || r.process == lab.process("mirror"))
        r.process = static_cast<ProcessId>(lab.process("ledger") + lab.process("mirror") - r.process);
      r.time += 5'000'000'000;
    }
    ASSERT_EQ(lab.judge(spec, renamed).verdict, before) << seed;
    if (before != Verdict::violated) continue;
    ++violated;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].kind != Kind::deliver) continue;
      Rows fewer = rows;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      ASSERT_NE(lab.judge(spec, fewer).verdict, Verdict::holds) << seed << ", row " << i;
    }
  }
  EXPECT_GT(violated, 100);
}

TEST(CheckersOrderTotal, OneSmallestChangeBreaksIt) {
  const Lab lab(observed_scenario());
  Rows rows = agreeing(lab).rows;
  std::vector<std::size_t> read;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].kind == Kind::deliver && rows[i].process == lab.process("mirror")) read.push_back(i);
  }
  std::swap(rows[read[2]].message, rows[read[3]].message);
  const Finding finding = lab.judge(claim("order.total"), rows);
  EXPECT_EQ(finding.verdict, Verdict::violated);
  EXPECT_EQ(finding.witness.size(), 4u);
  for (const char* id : {"no_loss", "no_duplicates"}) {
    EXPECT_NE(lab.judge(claim(id, "requests", "vectors", "mirror"), rows).verdict, Verdict::violated) << id;
  }
}

TEST(ClaimWordsOrderTotal, OneObserverHasNobodyToAgreeWith) {
  try {
    Lab().checker(claim("order.total", "", "vectors"));
    FAIL() << "was not refused";
  } catch (const ScenarioError& error) {
    EXPECT_STREQ(
        error.what(),
        "small.toml: claims.order.total.in: takes two observers of \"vectors\" at least; there is 1");
  }
}

}  // namespace
}  // namespace mqlab::testing
