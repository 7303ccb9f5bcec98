// Whatever a file holds, the reader answers with a scenario or with a ScenarioError on one line; so many
// mutations of good files, always the same ones.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "core/base/draw.h"
#include "core/scenario/reader.h"
#include "tests/core/scenario/example.h"

namespace mqlab {
namespace {

constexpr int mutations = 20'000;

const std::vector<std::string> tokens = {"[",
                                         "]",
                                         "{",
                                         "}",
                                         "=",
                                         ",",
                                         ".",
                                         "\"",
                                         "'",
                                         "\"\"\"",
                                         "\n",
                                         "#",
                                         "nan",
                                         "-inf",
                                         "1e999",
                                         "-1",
                                         "99999999999999999999",
                                         "0x7fffffffffffffff",
                                         "true",
                                         "1979-05-27T07:32:00Z",
                                         "[[",
                                         "]]",
                                         "\\",
                                         "\xff",
                                         std::string("\0", 1),
                                         "a.b.c.d",
                                         "[claims]",
                                         "[[stages]]",
                                         "name = \"requests\"\n",
                                         "{ kind = \"lognormal\", p50 = \"0s\", p99 = \"1ns\" }",
                                         "\"5s*9\"",
                                         "\"1e5/s\"",
                                         "[[[[[[[[",
                                         "a.a.a.a.a.a.a.a.a."};

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string mutate(std::string text) {
    for (std::uint64_t n = 1 + pick(4); n > 0; --n) once(text);
    return text;
  }

 private:
  std::uint64_t pick(std::uint64_t n) { return below(random_.next(), n); }

  void once(std::string& text) {
    if (text.empty()) text = "x";
    const std::size_t at = pick(text.size());
    const std::size_t length = 1 + pick(20);
    switch (pick(6)) {
      case 0:
        text[at] = static_cast<char>(pick(256));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, tokens[pick(tokens.size())]);
        break;
      case 3:
        text.insert(at, text.substr(pick(text.size()), length));
        break;
      case 4:
        text.replace(at, length, tokens[pick(tokens.size())]);
        break;
      default:
        move_line(text, at);
        break;
    }
  }

  /// The line at `at` once more, somewhere else.
  void move_line(std::string& text, std::size_t at) {
    const std::size_t begin = text.rfind('\n', at) + 1;  // npos + 1 = 0
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (begin >= end) return;
    const std::string line = text.substr(begin, end - begin);
    const std::size_t to = text.find('\n', pick(text.size()));
    text.insert(to == std::string::npos ? 0 : to + 1, line);
  }

  RandomStream random_;
};

void must_answer(const std::string& toml, const std::vector<Override>& changes) {
  try {
    const Scenario s = read_scenario(toml, "fuzz.toml", changes);
    const std::string complete = to_toml(s);
    ASSERT_EQ(to_toml(read_scenario(complete, "fuzz.toml")), complete) << toml;
  } catch (const ScenarioError& e) {
    ASSERT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    ASSERT_FALSE(e.problem.empty());
  }
}

TEST(ReaderFuzz, Files) {
  const std::vector<std::string> seeds = {testing::minimal, testing::full};
  for (int i = 0; i < mutations; ++i) {
    must_answer(
        Mutator(static_cast<std::uint64_t>(i)).mutate(seeds[static_cast<std::size_t>(i) % seeds.size()]), {});
    if (HasFatalFailure()) FAIL() << "mutation " << i;
  }
}

TEST(ReaderFuzz, Overrides) {
  const std::vector<std::string> paths = {
      "stages.embed.instances",     "broker.properties.min.insync.replicas",
      "claims.latency.p99.at_most", "fault.at.nth",
      "topics.vectors.partitions",  "workload.keys.count",
      "network.latency.p50"};
  const std::vector<std::string> values = {"5", "\"5s\"", "[1, 2]", "{ a = 1 }", "true", "sync"};
  for (int i = 0; i < mutations / 4; ++i) {
    Mutator mutator(static_cast<std::uint64_t>(i) + 1'000'000);
    const auto n = static_cast<std::size_t>(i);
    must_answer(testing::full,
                {{mutator.mutate(paths[n % paths.size()]), mutator.mutate(values[n % values.size()])}});
    if (HasFatalFailure()) FAIL() << "mutation " << i;
  }
}

}  // namespace
}  // namespace mqlab
