#include "core/history/jsonl.h"

#include <gtest/gtest.h>

#include "tests/core/claims_random.h"
#include "tests/core/mutator.h"

namespace mqlab::testing {
namespace {

std::string written(const Lab& lab, const Rows& rows) {
  std::string text;
  write_header(text, {"name = \"small\"\n", "live", 18'446'744'073'709'551'615ull});
  for (const Row& row : rows) write_row(text, row, history_names(lab.topology));
  write_end(text, rows.size());
  return text;
}

std::string problem_of(const std::string& text) {
  const Lab lab;
  try {
    read_header(text, "h.jsonl");
    read_rows(text, "h.jsonl", history_names(lab.topology));
  } catch (const HistoryError& error) {
    return error.what();
  }
  return "";
}

const std::string header = "{\"mqlab\":\"history\",\"version\":1,\"scenario\":\"\"}\n";

TEST(Jsonl, ReadsBackWhatItWrote) {
  const Lab lab;
  for (unsigned seed = 0; seed < 300; ++seed) {
    Rows rows = RandomHistory(lab, seed).make(3);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Row& r = rows[i];
      r.digest = i % 3 == 0 ? mix(i) : 0;
      r.flags = static_cast<std::uint16_t>(mix(i) & 255);
      r.epoch = static_cast<std::uint32_t>(i % 5);
      r.size = r.trace = 7;
      r.attempt = r.code = 65'535;
      r.cause = 4'294'967'295u;
    }
    const std::string text = written(lab, rows);
    const HistoryHeader head = read_header(text, "h.jsonl");
    EXPECT_EQ(head.scenario, "name = \"small\"\n");
    EXPECT_EQ(head.world, "live");
    EXPECT_EQ(head.seed, 18'446'744'073'709'551'615ull);
    const HistoryFile file = read_rows(text, "h.jsonl", history_names(lab.topology));
    EXPECT_TRUE(file.complete);
    ASSERT_EQ(file.rows.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(file.rows[i], rows[i]) << seed << " " << i;
  }
}

TEST(Jsonl, AFileCutShortIsReadButNotComplete) {
  const Lab lab;
  const Rows rows = RandomHistory(lab, 3).make(0);
  const std::string text = written(lab, rows);
  std::size_t line = 0;
  for (std::size_t end = text.find('\n') + 1; end < text.size(); end = text.find('\n', end) + 1, ++line) {
    const HistoryFile file = read_rows(text.substr(0, end), "h.jsonl", history_names(lab.topology));
    EXPECT_FALSE(file.complete);
    EXPECT_EQ(file.rows.size(), line);
  }
  EXPECT_NE(problem_of(text.substr(0, text.size() / 2)), "");  // in the middle of a line
}

TEST(Jsonl, EveryMistakeIsNamedWithItsLine) {
  EXPECT_EQ(problem_of("{]"), "h.jsonl:1: this is no JSON");
  EXPECT_EQ(problem_of(""), "h.jsonl:1: this is no JSON");
  EXPECT_EQ(problem_of("[]\n"), "h.jsonl:1: a line must be an object: {…}");
  EXPECT_EQ(problem_of("{\"mqlab\":\"history\",\"version\":2}\n"), "h.jsonl:1: \"version\" must be 1");
  EXPECT_EQ(problem_of("{\"mqlab\":\"history\",\"version\":1,\"sead\":1}\n"),
            "h.jsonl:1: a header has no \"sead\"");
  const std::string start = R"({"time":0,"kind":"start","phase":"ok","process":"api-0")";
  const auto row = [&](const std::string& rest) {
    return problem_of(header + start + "}\n" + start + rest + "}\n");
  };
  EXPECT_EQ(row(""), "");
  EXPECT_EQ(row(",\"colour\":1"), "h.jsonl:3: a row has no \"colour\"");
  EXPECT_EQ(row(",\"place\":\"requests/9\""), "h.jsonl:3: there is no place \"requests/9\"");
  EXPECT_EQ(row(",\"message\":-1"), "h.jsonl:3: \"message\" must be from 0 to 4294967295");
  EXPECT_EQ(row(",\"message\":4294967296"), "h.jsonl:3: \"message\" must be from 0 to 4294967295");
  EXPECT_EQ(row(",\"message\":1.5"), "h.jsonl:3: \"message\" must be a whole number");
  EXPECT_EQ(row(",\"message\":\"1\""), "h.jsonl:3: \"message\" must be a whole number");
  EXPECT_EQ(row(",\"digest\":\"31\""), "h.jsonl:3: \"digest\" must be hexadecimal digits, as in \"0x1f\"");
  EXPECT_EQ(row(",\"flags\":\"open\""), "h.jsonl:3: \"flags\" must be a list of names");
  EXPECT_EQ(row(",\"flags\":[\"opened\"]"), "h.jsonl:3: there is no flags \"opened\"");
  EXPECT_EQ(row(",\"time\":-5"), "h.jsonl:3: \"time\" must not be negative");
  EXPECT_EQ(problem_of(header + R"({"time":0,"kind":"start"})"), "h.jsonl:2: \"phase\" is missing");
  EXPECT_EQ(problem_of(header + R"({"time":0,"kind":"begun","phase":"ok","process":"lab"})"),
            "h.jsonl:2: there is no kind \"begun\"");
  EXPECT_EQ(
      problem_of(header + R"({"time":2,"kind":"start","phase":"ok","process":"lab"})" + "\n" + start + "}"),
      "h.jsonl:3: \"time\" must not fall");
  EXPECT_EQ(problem_of(header + "{\"end\":1}\n"), "h.jsonl:2: the end line speaks of 1 rows, there are 0");
  EXPECT_EQ(problem_of(header + "{\"end\":0}\n" + start + "}\n"),
            "h.jsonl:3: nothing may follow the end line");
  EXPECT_EQ(problem_of(header + "\n" + start + "}\n"), "h.jsonl:2: this is no JSON");
}

TEST(Jsonl, DeepNestingIsRefused) {
  const std::string deep(1'000'000, '[');
  EXPECT_EQ(problem_of(header + deep + "\n"), "h.jsonl:2: this is no JSON");
  const std::string closed = "{\"a\":" + deep + std::string(deep.size(), ']') + "}";
  EXPECT_NE(problem_of(header + closed + "\n"), "");
}

/// Damaged anywhere, it is read or refused on one line.
TEST(Jsonl, AnyChangeIsReadOrRefused) {
  const std::vector<std::string> tokens = {"{",
                                           "}",
                                           "[",
                                           ":",
                                           ",",
                                           "\"",
                                           "\\",
                                           "\n",
                                           "null",
                                           "-1",
                                           "1e9",
                                           "65536",
                                           "true",
                                           "0x",
                                           "\xff",
                                           "\\u",
                                           "[[[[[[[",
                                           "\"op\"",
                                           "\"end\"",
                                           "1.5",
                                           "\\ud800",
                                           "4294967296",
                                           "99999999999999999999",
                                           std::string("\0", 1)};
  const Lab lab;
  std::vector<std::string> seeds;
  for (unsigned seed = 0; seed < 8; ++seed) seeds.push_back(written(lab, RandomHistory(lab, seed).make(3)));
  int refused = 0;
  const int done = for_a_while(10'000, 10, [&](int i) {
    const auto n = static_cast<std::size_t>(i);
    const std::string problem = problem_of(Mutator(n, tokens).mutate(seeds[n % seeds.size()]));
    EXPECT_EQ(problem.find('\n'), std::string::npos) << i << ": " << problem;
    refused += problem.empty() ? 0 : 1;
  });
  EXPECT_GE(done, 200);
  EXPECT_GT(refused, done / 2);
}

}  // namespace
}  // namespace mqlab::testing
