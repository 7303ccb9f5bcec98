// What `excused` excuses: fast and by the book, and what users read of it.
#include "tests/core/claims_agree.h"
#include "tests/core/claims_naive_counts.h"
#include "tests/core/claims_random.h"

namespace mqlab::testing {
namespace {

/// The small scenario; embed's consumer gives an entry out three times at most.
Scenario limited_scenario() {
  Scenario s = small_scenario();
  s.stages[0].consumer.push_back({"max_deliver", "3", 0});
  return s;
}

/// A random history whose logs have lost their beginnings, and records here and there.
Rows removed(const Lab& lab, unsigned seed) {
  RandomStream random(seed * 101 + 3);
  const auto upto = [&](std::uint64_t n) { return static_cast<std::int64_t>(below(random.next(), n + 1)); };
  Rows rows = RandomHistory(lab, seed).make(seed % 2 == 0 ? 0 : seed % 4);
  std::map<PlaceId, std::int64_t> start, gone;
  for (PlaceId p = 0; p < lab.topology.places.size(); ++p) start[p] = upto(2) == 0 ? upto(3) : 0;
  Rows kept;
  for (Row r : rows) {
    const bool record = naive::is_record(r) && start.count(r.place) != 0;
    if (record && (r.position < start[r.place] || (r.key != 0 && upto(4) == 0))) {
      ++gone[r.place];
      continue;
    }
    if (r.kind == Kind::audit_end) {
      r.aux -= gone[r.place];
      if (upto(5) != 0) r.digest = static_cast<std::uint64_t>(start[r.place]) + 1;
    }
    if (r.kind == Kind::publish && r.phase == Phase::invoke && upto(2) == 0) r.flags |= flag::tombstone;
    if (r.kind == Kind::handle && upto(3) == 0) {
      r.kind = Kind::deliver;
      r.attempt = static_cast<std::uint16_t>(upto(4));
    }
    kept.push_back(r);
  }
  return kept;
}

bool names(const ClaimSpec& c, std::string_view what) {
  return std::find(c.excused.begin(), c.excused.end(), what) != c.excused.end();
}

/// How one ack's transaction ended.
Excuse ended(const Rows& rows, const Row& ack) {
  if (ack.transaction == 0) return Excuse::excused;
  Excuse excuse = Excuse::doubtful;
  for (const Row& r : rows) {
    const bool its =
        r.process == ack.process && r.incarnation == ack.incarnation && r.transaction == ack.transaction;
    if (!its || r.phase != Phase::ok) continue;
    if (r.kind == Kind::commit_transaction) excuse = Excuse::excused;
    if (r.kind == Kind::abort_transaction) excuse = Excuse::none;
  }
  return excuse;
}

/// Compaction with tombstones: one of the key behind `ack`, where its log has been, buries it; one that is
/// gone itself is no loss to who has not been done with an earlier record of its key.
Excuse buried(const naive::Subject& s, const Rows& rows, const Row& ack, std::uint32_t key) {
  std::int64_t end = -1;
  for (const Row& o : rows) {
    if (o.kind == Kind::audit_end && o.place == ack.place) end = o.position;
  }
  const auto worked = [&](std::int64_t position, Phase phase) {
    return std::any_of(rows.begin(), rows.end(), [&](const Row& o) {
      return o.kind == Kind::complete && o.message != 0 && o.place == ack.place && o.position == position &&
             o.phase == phase;
    });
  };
  const bool in_place = s.topic_of(ack.place) == s.in;
  std::map<MessageId, std::pair<std::uint32_t, bool>> of;  // key; tombstone
  Excuse itself = Excuse::none;
  bool known = false, perhaps_known = false;
  for (const Row& o : rows) {
    if (o.kind != Kind::publish || o.message == 0) continue;
    auto& [its_key, tombstone] = of[o.message];
    if (o.phase == Phase::invoke) its_key = o.key;
    if (o.phase == Phase::invoke && (o.flags & flag::tombstone) != 0) tombstone = true;
    const bool acked = o.phase == Phase::ok && o.place == ack.place && o.position >= 0 && its_key == key;
    if (!acked || key == 0 || s.info(o) == nullptr) continue;
    if (tombstone && o.position < end && o.position > ack.position && ended(rows, o) == Excuse::excused)
      return Excuse::excused;
    if (&o == &ack && tombstone && o.position < end) itself = Excuse::excused;
    if (o.position >= ack.position || in_place) continue;
    known = known || worked(o.position, Phase::ok);
    perhaps_known = perhaps_known || worked(o.position, Phase::unknown);
  }
  return known ? Excuse::none : perhaps_known ? std::min(itself, Excuse::doubtful) : itself;
}

Excuse excuse_of(const Lab& lab, const ClaimSpec& c, const Rows& rows, MessageId id) {
  const naive::Subject s(lab, c);
  Excuse best = Excuse::none;
  std::uint32_t key = 0;
  for (const Row& r : rows) {
    const bool embeds = s.reader(r) && lab.scenario.stages[*s.reader(r)].name == "embed";
    if (names(c, "max-deliver") && r.kind == Kind::deliver && embeds && r.message == id && r.attempt >= 3)
      return Excuse::excused;
    if (r.kind != Kind::publish || r.message != id) continue;
    if (r.phase == Phase::invoke) key = r.key;
    const bool removes = names(c, "retention") || names(c, "compaction");
    if (r.phase == Phase::unknown && removes) best = std::max(best, Excuse::doubtful);
    if (r.phase != Phase::ok || r.position < 0 || s.info(r) == nullptr || s.topic_of(r.place).empty())
      continue;
    std::int64_t start = -1;
    bool found = false, done = false, perhaps = false, later = false;
    for (const Row& o : rows) {
      if (o.place != r.place) continue;
      if (o.kind == Kind::audit_end) start = static_cast<std::int64_t>(o.digest) - 1;
      if (o.message == 0 || o.position < 0) continue;
      found = found || (naive::is_record(o) && o.position == r.position);
      const bool ends = o.kind == Kind::complete && o.position == r.position;
      done = done || (ends && o.phase == Phase::ok);
      perhaps = perhaps || (ends && o.phase == Phase::unknown);
      later = later || (naive::is_record(o) && o.position > r.position && o.key == key && key != 0);
    }
    if (found || (done && s.topic_of(r.place) != s.in)) continue;
    const bool old = names(c, "retention") && r.position < start;
    const bool there = names(c, "compaction") && start >= 0 && r.position >= start;
    const Excuse compacted = !there ? Excuse::none : later ? Excuse::excused : buried(s, rows, r, key);
    const bool processed = perhaps && s.topic_of(r.place) != s.in;
    const Excuse end = ended(rows, r);
    const Excuse removal = old ? Excuse::excused : compacted;
    if (removal == Excuse::none || end == Excuse::none) continue;
    const bool whole = removal == Excuse::excused && end == Excuse::excused && !processed;
    best = std::max(best, whole ? Excuse::excused : Excuse::doubtful);
  }
  return best;
}

TEST(ClaimsExcused, AgreeWithTheBook) {
  const Lab lab(limited_scenario());
  for (const char* excuse : {"retention", "compaction", "max-deliver"}) {
    for (const char* as : {"", "billing"}) {
      for (const char* id : {"no_loss", "exactly_once"}) {
        ClaimSpec spec = claim(id, "requests", "vectors", as);
        spec.excused = {excuse};
        const auto by_the_book = [](const Lab& l, const ClaimSpec& c, const Rows& rows) {
          return naive::delivery_but(l, c, rows, [&](MessageId m) { return excuse_of(l, c, rows, m); });
        };
        agree(lab, spec, by_the_book, 2'000, removed);
      }
    }
    ClaimSpec spec = claim("accounted", "requests", "vectors");
    spec.excused = {excuse};
    const auto by_the_book = [](const Lab& l, const ClaimSpec& c, const Rows& rows) {
      return naive::accounted_but(l, c, rows, [&](MessageId m) { return excuse_of(l, c, rows, m); });
    };
    agree(lab, spec, by_the_book, 2'000, removed);
  }
}

/// Ids 1 to 3 in requests/0, of which 1 was removed; vectors has 2 and 3.
Story shortened(const Lab& lab) {
  Story story(lab);
  for (MessageId id = 1; id <= 3; ++id) {
    story.send(id, "api-0", "requests/0", id - 1, 1);
    if (id > 1) story.found(id, "requests/0", id - 1).found(id, "vectors/0", id - 2);
  }
  return story;
}

ClaimSpec excusing(std::vector<std::string> what) {
  ClaimSpec spec = claim("no_loss", "requests", "vectors");
  spec.excused = std::move(what);
  return spec;
}

Rows from(const Lab& lab, Rows rows, std::int64_t start) {
  for (Row& r : rows) {
    if (r.kind == Kind::audit_end && r.place == lab.place("requests/0"))
      r.digest = static_cast<std::uint64_t>(start) + 1;
  }
  return rows;
}

TEST(ClaimsExcused, WhatLiesBeforeTheStartOfALog) {
  const Lab lab;
  const Rows rows = from(lab, shortened(lab).end().rows, 1);
  EXPECT_EQ(lab.judge(excusing({}), rows).verdict, Verdict::violated);
  EXPECT_EQ(lab.judge(excusing({"compaction"}), rows).verdict, Verdict::violated);
  const Finding finding = lab.judge(excusing({"retention"}), rows);
  EXPECT_EQ(finding.explanation, "2 effects of 3 acked ids, 1 loss excused");
  Story done = shortened(lab);
  done.complete(1, "embed-0", "requests/0", 0);  // it was not removed before it was processed
  EXPECT_EQ(lab.judge(excusing({"retention"}), from(lab, done.end().rows, 1)).verdict, Verdict::violated);
}

TEST(ClaimsExcused, WhatALaterRecordOfItsKeyReplaces) {
  const Lab lab;
  Rows rows = from(lab, shortened(lab).end().rows, 0);
  for (Row& r : rows) r.key = naive::is_record(r) ? 1 : r.key;
  EXPECT_EQ(lab.judge(excusing({"retention"}), rows).verdict, Verdict::violated);
  EXPECT_EQ(lab.judge(excusing({"compaction"}), rows).verdict, Verdict::holds);
}

TEST(ClaimsExcused, WhatATombstoneBuriedAndTheTombstoneItself) {
  const Lab lab;
  for (const bool tombstone : {false, true}) {
    Story story(lab);
    for (MessageId id = 1; id <= 2; ++id) {
      story.send(id, "api-0", "requests/0", id - 1, 7);
      for (Row& r : story.rows) {
        if (tombstone && r.message == 2 && r.kind == Kind::publish) r.flags |= flag::tombstone;
      }
    }
    story.send(3, "api-0", "requests/0", 2, 8).found(3, "requests/0", 2).found(3, "vectors/0", 0);
    const Rows rows = from(lab, story.end().rows, 0);
    const Finding finding = lab.judge(excusing({"compaction"}), rows);
    EXPECT_EQ(finding.verdict, tombstone ? Verdict::holds : Verdict::violated);
    if (tombstone) {
      EXPECT_EQ(finding.explanation, "1 effect of 3 acked ids, 2 losses excused");
    }
    Rows cut = rows;  // the log ends before it: nobody removed it
    for (Row& r : cut) {
      if (r.kind == Kind::audit_end && r.place == lab.place("requests/0")) r.position = 1;
    }
    EXPECT_EQ(lab.judge(excusing({"compaction"}), cut).verdict, Verdict::violated);
  }
}

TEST(ClaimsExcused, ATombstoneIsLostToWhoKnewItsKey) {
  const Lab lab;
  Story story(lab);
  story.send(1, "api-0", "requests/0", 0, 7).complete(1, "embed-0", "requests/0", 0).found(1, "vectors/0", 0);
  story.send(2, "api-0", "requests/0", 1, 7);
  for (Row& r : story.rows) {
    if (r.message == 2 && r.kind == Kind::publish) r.flags |= flag::tombstone;
  }
  const Rows rows = from(lab,
                         story.send(3, "api-0", "requests/0", 2, 8)
                             .found(3, "requests/0", 2)
                             .found(3, "vectors/0", 1)
                             .end()
                             .rows,
                         0);
  const Finding finding = lab.judge(excusing({"compaction"}), rows);
  EXPECT_EQ(finding.verdict, Verdict::violated);
}

TEST(ClaimsExcused, WhatWasGivenAsOftenAsMayBe) {
  const Lab lab(limited_scenario());
  for (const std::uint16_t attempt : {2, 3}) {
    Story story = shortened(lab);
    story.read(1, "embed-0", "requests/0", 0);
    story.rows.back().attempt = attempt;
    const Verdict expected = attempt == 3 ? Verdict::holds : Verdict::violated;
    EXPECT_EQ(lab.judge(excusing({"max-deliver"}), story.end().rows).verdict, expected);
  }
}

TEST(ClaimsExcused, AnUnknownOutcomeLeavesItUndecided) {
  const Lab lab;
  Story story = shortened(lab);
  story.publish(1, "embed-0", 1).stored(1, "embed-0", "", -1, 0, Phase::unknown);
  const Finding finding = lab.judge(excusing({"retention"}), from(lab, story.end().rows, 0));
  EXPECT_EQ(finding.verdict, Verdict::undecided);
  EXPECT_NE(finding.explanation.find("excused"), std::string::npos) << finding.explanation;
}

TEST(ClaimsExcused, OtherNamesAreRefused) {
  EXPECT_EQ(
      refused(excusing({"retension"})),
      "small.toml: claims.no_loss.excused: no loss is called \"retension\"; did you mean \"retention\"?");
  ClaimSpec spec = claim("order.key", "requests", "vectors");
  spec.excused = {"retention"};
  EXPECT_NE(refused(spec).find("nothing can be excused"), std::string::npos);
}

}  // namespace
}  // namespace mqlab::testing
