// The exhaustive search sees every order exactly once: its number of schedules is that of a count made
// without the simulator.
#include "search/exhaustive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/search/small.h"

namespace mqlab::search {
namespace {

using test::in_flight;

std::uint64_t binomial(std::uint64_t n, std::uint64_t k) {
  std::uint64_t out = 1;
  for (std::uint64_t i = 1; i <= k; ++i) out = out * (n - k + i) / i;
  return out;
}

/// Runs it, and checks that no two schedules stored the messages alike.
Exhaustive all_of(const std::string& toml) {
  const auto setup = test::prepared(toml);
  Options options;
  options.schedules = 1'000'000;
  Exhaustive all = verify_all(*setup, options);
  EXPECT_TRUE(all.complete);
  EXPECT_EQ(all.report.claims[0].verdict, Verdict::holds) << all.report.claims[0].explanation;
  return all;
}

TEST(Exhaustive, TwoProducersInterleaveInEveryWay) {
  EXPECT_EQ(all_of(in_flight(2, 8)).report.schedules, binomial(8, 4));
}

TEST(Exhaustive, ThreeProducersInterleaveInEveryWay) {
  EXPECT_EQ(all_of(in_flight(3, 6)).report.schedules, binomial(6, 2) * binomial(4, 2));
}

/// The same by hand: what is in flight to the server, what is in flight to the producers, and one crash.
class ByHand {
 public:
  struct Message {
    std::int64_t at;
    int producer;
  };
  static constexpr std::int64_t way = 50'000'000, service = 10'000;  // any service time: answers do not tie

  std::uint64_t count(std::vector<Message> requests, std::vector<Message> answers, std::int64_t now,
                      int crashed) const {
    if (requests.empty() && answers.empty()) return 1;
    const bool request = answers.empty() || (!requests.empty() && requests.front().at < answers.front().at);
    const std::int64_t due = request ? requests.front().at : answers.front().at;
    std::uint64_t total = 0;
    if (crashed < 0 && due > now + 1) {
      for (int p = 0; p < 2; ++p) {
        std::vector<Message> left = answers;
        std::erase_if(left, [&](const Message& m) { return m.producer == p; });
        total += count(requests, left, due, p);
      }
    }
    if (!request) {
      answers.erase(answers.begin());
      return total + count(requests, answers, due, crashed);
    }
    std::set<int> tried;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (!tried.insert(requests[i].producer).second) continue;  // behind another of its own
      std::vector<Message> left = requests, more = answers;
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
      for (Message& m : left) m.at = std::max(m.at, due);
      const std::int64_t free = more.empty() ? due : std::max(due, more.back().at - way);
      if (requests[i].producer != crashed) more.push_back({free + service + way, requests[i].producer});
      total += count(left, more, due, crashed);
    }
    return total;
  }
};

TEST(Exhaustive, ACrashFallsBetweenAnyTwoMessages) {
  const std::string faults = R"(
[faults]
menu = ["kill"]
targets = ["api"]
heal = ["10s"]
)";
  std::vector<ByHand::Message> requests;
  for (int i = 0; i < 4; ++i) requests.push_back({1'050'000'000 + i * 1'000'000, i % 2});
  EXPECT_EQ(all_of(in_flight(2, 4, faults)).report.schedules,
            ByHand().count(requests, {}, 1'003'000'000, -1));
}

TEST(Exhaustive, SaysWhenItHasNotSeenAll) {
  const auto setup = test::prepared(in_flight(2, 8));
  Options options;
  options.schedules = 69;
  const Exhaustive some = verify_all(*setup, options);
  EXPECT_FALSE(some.complete);
  EXPECT_EQ(some.report.schedules, 69u);
}

/// A schedule of it, spelled out, is the same run from the start.
TEST(Exhaustive, AnOvertakingIsReplayed) {
  const auto setup = test::prepared(in_flight(2, 6));
  Runner runner(*setup, setup->scenario.claims);
  std::set<std::vector<MessageId>> orders;
  for (std::uint32_t choice = 0; choice < 4; ++choice) {
    Schedule schedule;
    schedule.overtakes = {{choice, 1}};
    runner.run(schedule);
    std::vector<MessageId> stored;
    for (std::size_t i = 0; i < runner.history().size(); ++i) {
      const Row& row = runner.history()[i];
      if (row.kind == Kind::audit && row.message != 0) stored.push_back(row.message);
    }
    EXPECT_EQ(stored.size(), 6u);
    orders.insert(stored);
  }
  EXPECT_EQ(orders.size(), 4u);
}

}  // namespace
}  // namespace mqlab::search
