// Logs that are cut back under a reader (KIP-320): java goes back to where they were cut; librdkafka, which
// knows nothing of leader epochs, begins anew by auto.offset.reset, or reads on.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/sim/kafka_broker_fixture.h"
#include "tests/sim/scenario_run.h"

namespace mqlab::sim::kafka {
namespace {

using Positions = std::vector<std::int64_t>;

/// One node, 300 messages a second for two seconds, each read at once by a reader outside any group; power is
/// lost with the 200th answer, for a second.
std::string one_node(const std::string& flavour, const std::string& reset) {
  return R"(
name = "cut"
[broker]
kind = "kafka"
version = "4.1"
[client]
flavour = ")" +
         flavour + R"("
[[topics]]
name = "requests"
[workload]
name = "p"
topic = "requests"
rate = "300/s"
messages = 600
producer = { "linger.ms" = 0 }
[[observers]]
name = "reader"
topic = "requests"
consumer = { "auto.offset.reset" = ")" +
         reset + R"(" }
[[fault]]
at = { process = "p", step = "publish.ok", nth = 200 }
action = "power_loss"
target = "kafka"
heal = "1s"
)";
}

struct Reading {
  std::int64_t cut = 0;        ///< where the log ended after the loss
  Positions before, after;     ///< read before the loss, after it
  std::set<MessageId> missed;  ///< in the log at the end, never read
  bool back_to(std::int64_t offset) const { return !after.empty() && after.front() == offset; }
  std::int64_t end() const { return before.back() + 1; }
};

Reading read(ScenarioRun& run) {
  Reading found;
  const std::int64_t lost = run.rows(Kind::fault).front().time;
  std::set<MessageId> ids;
  for (const Row& row : run.rows(Kind::deliver, "reader")) {
    (row.time <= lost ? found.before : found.after).push_back(row.position);
    ids.insert(row.message);
  }
  for (const Row& row : run.rows(Kind::publish, Phase::ok, "p")) {
    if (row.time > lost) {
      found.cut = row.position;
      break;
    }
  }
  for (const MessageId id : run.stored()) {
    if (!ids.contains(id)) found.missed.insert(id);
  }
  return found;
}

/// A run in which something of what had been read is gone, and something is left.
Reading cut_in_the_middle(const std::string& flavour, const std::string& reset) {
  ScenarioRun run(one_node(flavour, reset));
  Reading found;
  run_until(run, [&] {
    found = read(run);
    return found.cut > 0 && found.cut < found.end();
  });
  return found;
}

TEST(KafkaTruncation, JavaGoesBackToWhereTheLogWasCut) {
  for (const std::string reset : {"earliest", "latest"}) {
    const Reading found = cut_in_the_middle("java", reset);
    EXPECT_TRUE(found.back_to(found.cut))
        << reset << ": " << found.cut << ", read from " << found.after.front();
    EXPECT_TRUE(std::is_sorted(found.after.begin(), found.after.end())) << reset;
    EXPECT_TRUE(found.missed.empty()) << reset;
  }
}

TEST(KafkaTruncation, JavaMissesNothingWhoeverComesFirst) {
  ScenarioRun run(one_node("java", "latest"));
  int cut = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    run.run(seed);
    const Reading found = read(run);
    cut += found.cut < found.end() ? 1 : 0;
    EXPECT_TRUE(found.missed.empty()) << "seed " << seed;
  }
  EXPECT_GT(cut, 10);
}

TEST(KafkaTruncation, LibrdkafkaBeginsAnewWhereItsOffsetIsGone) {
  const Reading found = cut_in_the_middle("librdkafka", "earliest");
  EXPECT_TRUE(found.back_to(0));
  EXPECT_TRUE(found.missed.empty());
}

TEST(KafkaTruncation, LibrdkafkaMissesWhatWasWrittenBeforeItLooksForTheEnd) {
  ScenarioRun run(one_node("librdkafka", "latest"));
  Reading found;
  EXPECT_TRUE(run_until(run, [&] {
    found = read(run);
    return found.cut > 0 && found.cut < found.end() && !found.missed.empty();
  }));
  EXPECT_GT(found.after.front(), found.cut);
}

/// With "none" java's poll throws LogTruncationException, and the reader reads no more.
TEST(KafkaTruncation, WithoutAResetJavaReadsNoMore) {
  ScenarioRun run(one_node("java", "none"));
  run.setup().modules[run.process("reader")] = std::make_unique<ScriptPlan>(
      [](const Now&, const Event& event, Effects& e) {
        if (event.kind == EventKind::assigned) {
          std::vector<PlacePosition> from(event.places.begin(), event.places.end());
          for (PlacePosition& p : from) p.position = 0;
          e.accept(from, event.generation);
        }
        if (event.kind == EventKind::start || event.kind == EventKind::delivered) e.fetch(0, 100);
      },
      std::vector<Duration>{});
  Reading found;
  ASSERT_TRUE(run_until(run, [&] {
    found = read(run);
    return found.cut > 0 && found.cut < found.end();
  }));
  EXPECT_TRUE(found.after.empty());
  const auto failed = run.rows(Kind::fetch, Phase::fail, "reader");
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].code, static_cast<std::uint16_t>(Error::offset_out_of_range));
}

// ---- the broker

struct EpochEndOf {
  Error error;
  std::int64_t epoch, end;
};
EpochEndOf ask(Lab& lab, std::int64_t epoch, std::int64_t leader_epoch = no_epoch) {
  auto* r = lab.make<EpochEndRequest>(RequestKind::offset_for_leader_epoch, 1);
  r->place = 0;
  r->epoch = epoch;
  r->leader_epoch = leader_epoch;
  const auto* a = lab.await<EpochEndAnswer>(lab.send(lab.cluster().process(lab.leader(0)), r));
  return {a->error, a->epoch, a->end};
}
Error fetched_under(Lab& lab, std::int64_t leader_epoch) {
  auto* r = lab.make<FetchRequest>(RequestKind::fetch, 2);
  r->parts.push_back({0, 0, 1u << 20, leader_epoch});
  const auto* a = lab.await<FetchAnswer>(lab.send(lab.cluster().process(lab.leader(0)), r));
  return a->parts.at(0).error;
}

TEST(KafkaEpochs, TheLeaderSaysWhereAnEpochEnds) {
  Lab lab(fast());
  ASSERT_EQ(lab.produced(0, lab.batch(1, 3)).error, Error::none);
  const std::int64_t first = lab.led(0).lead->epoch;
  EXPECT_EQ(ask(lab, first).end, 3);
  lab.kill(lab.leader(0));
  lab.run_for(Duration::seconds(5));
  const std::int64_t second = lab.led(0).lead->epoch;
  ASSERT_GT(second, first);
  ASSERT_EQ(lab.produced(0, lab.batch(4, 2)).error, Error::none);
  const EpochEndOf old = ask(lab, first, second), now = ask(lab, second, second);
  EXPECT_EQ(old.epoch, first);
  EXPECT_EQ(old.end, 3);
  EXPECT_EQ(now.epoch, second);
  EXPECT_EQ(now.end, 5);
  EXPECT_EQ(ask(lab, first, second - 1).error, Error::fenced_leader_epoch);
  EXPECT_EQ(ask(lab, first, second + 1).error, Error::unknown_leader_epoch);
  EXPECT_EQ(fetched_under(lab, second), Error::none);
  EXPECT_EQ(fetched_under(lab, no_epoch), Error::none);
  EXPECT_EQ(fetched_under(lab, second - 1), Error::fenced_leader_epoch);
  EXPECT_EQ(fetched_under(lab, second + 1), Error::unknown_leader_epoch);
}

TEST(KafkaEpochs, AnEpochBeforeAllThatIsLeftEndsWhereTheLogBegins) {
  Lab lab({.nodes = 1, .broker = fast_failover});
  ASSERT_EQ(lab.produced(0, lab.batch(1, 3)).error, Error::none);
  const std::int64_t first = lab.led(0).lead->epoch;
  lab.kill(0, true);
  lab.run_for(Duration::seconds(1));
  lab.start(0);
  lab.run_for(Duration::seconds(10));
  lab.led(0).log.truncate(0);
  const EpochEndOf gone = ask(lab, first);
  EXPECT_EQ(gone.error, Error::none);
  EXPECT_EQ(gone.epoch, first);
  EXPECT_EQ(gone.end, 0);
}

}  // namespace
}  // namespace mqlab::sim::kafka
