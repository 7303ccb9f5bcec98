// How many schedules each round of the search needs, alone, to find each planted defect (core/base/plant.h).
// With --markdown the table of docs/performance.md, else a JSON object a line as all benchmarks.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "search/candidates.h"
#include "tests/planted/planted_support.h"

namespace mqlab::test {
namespace {

using search::Mix;

constexpr std::uint64_t schedules_at_most = 10'000;
constexpr std::array<std::uint64_t, 3> seeds = {1, 2, 3};  // the median of those counts

struct Way {
  const char* name;
  Mix mix;
};
constexpr std::array<Way, 6> ways = {{{"all", {}},
                                      {"singles", {true, false, false, false, false}},
                                      {"pairs", {false, true, false, false, false}},
                                      {"random", {false, false, true, false, false}},
                                      {"swarm", {false, false, true, false, true}},
                                      {"mutation", {false, false, false, true, false}}}};

constexpr std::int64_t not_found = -1, not_there = -2;  ///< not_there: the menu allows one fault only

/// A round that has nothing more to do is followed by others, which do not count for it.
std::int64_t first_find(const PlantedCase& c, const Way& way, std::uint64_t seed) {
  const auto setup = set_up(c);
  const std::string name = way.name;
  if (name == "pairs" && setup->scenario.menu.at_most < 2) return not_there;
  std::uint64_t limit = schedules_at_most;
  if (name == "singles") {
    search::Runner runner(*setup, setup->scenario.claims);
    Schedule reference;
    reference.seed = seed;
    limit = std::min(limit, 1 + search::collect(runner, reference).count());
  }
  const auto found = hunt(*setup, c, way.mix, limit, seed);
  return found ? static_cast<std::int64_t>(*found) : not_found;
}

std::int64_t median_find(const PlantedCase& c, const Way& way) {
  const Planted planted(c.plant);
  std::vector<std::uint64_t> finds;
  for (const std::uint64_t seed : seeds)
    finds.push_back(static_cast<std::uint64_t>(first_find(c, way, seed)));  // not found: above all numbers
  std::sort(finds.begin(), finds.end());
  return static_cast<std::int64_t>(finds[finds.size() / 2]);
}

std::string shown(std::int64_t find) {
  return find == not_there ? "" : find == not_found ? "–" : std::to_string(find);
}

void print_summary(const std::vector<std::array<std::int64_t, ways.size()>>& all) {
  std::printf("\n| | ");
  for (const Way& way : ways) std::printf("%s | ", way.name);
  std::printf("\n|---|");
  for (std::size_t w = 0; w < ways.size(); ++w) std::printf("--:|");
  std::printf("\n| found, of %zu | ", all.size());
  for (std::size_t w = 0; w < ways.size(); ++w) {
    const auto found = std::count_if(all.begin(), all.end(), [&](const auto& row) { return row[w] >= 0; });
    std::printf("%td | ", found);
  }
  std::printf("\n| schedules, median of those found | ");
  for (std::size_t w = 0; w < ways.size(); ++w) {
    std::vector<std::int64_t> finds;
    for (const auto& row : all) {
      if (row[w] >= 0) finds.push_back(row[w]);
    }
    std::sort(finds.begin(), finds.end());
    std::printf("%s | ", finds.empty() ? "" : std::to_string(finds[finds.size() / 2]).c_str());
  }
  std::printf("\n");
}

void measure(bool markdown) {
  std::vector<std::array<std::int64_t, ways.size()>> all;
  if (markdown) {
    std::printf(
        "| defect | all | singles | pairs | random | swarm | mutation |\n|---|--:|--:|--:|--:|--:|--:|\n");
  }
  for (const PlantedCase& c : planted_cases()) {
    const std::string name(name_of(c.plant));
    auto& row = all.emplace_back();
    if (markdown) std::printf("| %s | ", name.c_str());
    for (std::size_t w = 0; w < ways.size(); ++w) {
      row[w] = median_find(c, ways[w]);
      if (markdown) {
        std::printf("%s | ", shown(row[w]).c_str());
      } else if (row[w] != not_there) {
        std::printf(
            "{\"name\": \"planted.%s.%s\", \"value\": %lld, \"unit\": \"schedules to the first find\"}\n",
            name.c_str(), ways[w].name, static_cast<long long>(row[w]));
      }
      std::fflush(stdout);
    }
    if (markdown) std::printf("\n");
  }
  if (markdown) print_summary(all);
}

}  // namespace
}  // namespace mqlab::test

int main(int argc, char** argv) { mqlab::test::measure(argc > 1 && std::string(argv[1]) == "--markdown"); }
