// The stories of tests/planted/stories.h: how short, how soon, how true. With --markdown the table of
// docs/search.md, else a JSON object a line as all benchmarks.
#include <cstdio>

#include "tests/planted/stories.h"

namespace mqlab::test {
namespace {

constexpr int replays = 100;

void measure(bool markdown) {
  if (markdown) {
    std::printf(
        "| scenario | claim | schedule | requests | faults | sentences | seconds | same witness, of %d |\n",
        replays);
    std::printf("|---|---|--:|--:|--:|--:|--:|--:|\n");
  }
  for (const PlantedCase& c : story_cases()) {
    const Planted planted(c.plant);
    const auto told = story_of(c);
    if (!told) continue;
    const search::Counterexample& s = told->story;
    const std::string name = story_name(c);
    if (markdown) {
      std::printf("| %s | `%s` | %llu | %llu → %llu | %zu | %zu | %.2f | %d |\n", name.c_str(),
                  told->claim.c_str(), static_cast<unsigned long long>(told->schedule),
                  static_cast<unsigned long long>(s.messages_before),
                  static_cast<unsigned long long>(s.messages_after), s.schedule.faults.size(), s.story.size(),
                  told->seconds, same_witness(s, told->claim, replays));
    } else {
      std::printf(
          "{\"name\": \"stories.%s\", \"value\": %.3f, \"unit\": \"s to shrink it and find its cause\"}\n",
          name.c_str(), told->seconds);
    }
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace mqlab::test

int main(int argc, char** argv) { mqlab::test::measure(argc > 1 && std::string(argv[1]) == "--markdown"); }
