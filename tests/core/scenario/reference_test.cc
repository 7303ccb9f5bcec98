// docs/scenario.md and docs/settings.md say what the tables say. To write them anew: MQLAB_UPDATE_DOCS=1 with
// this test.
#include "core/scenario/reference.h"

#include <gtest/gtest.h>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/scenario/keys.h"
#include "core/scenario/reader.h"
#include "tests/core/scenario/example.h"

namespace mqlab {
namespace {

void compare(const std::string& file, const std::string& what, const std::string& table) {
  const std::string path = MQLAB_SOURCE_DIR "/docs/" + file;
  std::ostringstream read;
  read << std::ifstream(path).rdbuf();
  std::string text = read.str();
  const std::string begin = "<!-- " + what + ": begin -->\n", end = "<!-- " + what + ": end -->";
  const std::size_t from = text.find(begin), to = text.find(end);
  ASSERT_NE(from, std::string::npos) << path;
  ASSERT_NE(to, std::string::npos) << path;
  const std::size_t start = from + begin.size();
  if (std::getenv("MQLAB_UPDATE_DOCS") != nullptr) {
    text.replace(start, to - start, "\n" + table);
    std::ofstream(path) << text;
    return;
  }
  EXPECT_EQ(text.substr(start, to - start), "\n" + table)
      << "out of date: MQLAB_UPDATE_DOCS=1 writes it anew";
}

TEST(Reference, ScenarioPage) { compare("scenario.md", "keys", keys_as_markdown()); }
TEST(Reference, SettingsPage) { compare("settings.md", "settings", settings_as_markdown()); }

TEST(Reference, EveryKeyIsOnThePage) {
  const std::string page = keys_as_markdown();
  for (const KeyInfo& info : all_keys()) {
    EXPECT_NE(page.find("| `" + std::string(info.key) + "` |"), std::string::npos)
        << info.table << "." << info.key;
  }
}

/// Where a key of a table is set, by path.
std::string path_of(const KeyInfo& info) {
  const std::string key(info.key);
  const std::string table(info.table);
  if (table.empty()) return key;
  if (table == "topic") return "topics.requests." + key;
  if (table == "stage") return "stages.embed." + key;
  if (table == "stage.failure") return "stages.embed.failure." + key;
  if (table == "stage.retry") return "stages.embed.retry." + key;
  if (table == "observer") return "observers.billing." + key;
  if (table == "client" || table == "broker" || table == "workload" || table == "network" ||
      table == "faults" || table == "limits") {
    return table + "." + key;
  }
  return "";
}

// A default that the page shows as a value is what the reader fills in: saying it changes nothing.
TEST(Reference, DefaultsAreTheReaders) {
  const std::string toml = testing::minimal + R"([[stages]]
name = "embed"
module = "stage"
input = "requests"
[[observers]]
name = "billing"
topic = "requests"
)";
  const std::string complete = to_toml(read_scenario(toml, "x"));
  int checked = 0;
  for (const KeyInfo& info : all_keys()) {
    const std::string value(info.default_value), path = path_of(info);
    if (path.empty() || value.empty() || value == "required" || value.front() == '(') continue;
    if (info.key == "inputs") continue;  // the scenario has one
    EXPECT_EQ(to_toml(read_scenario(toml, "x", {{path, value}})), complete) << path << " = " << value;
    ++checked;
  }
  EXPECT_GE(checked, 25);
}

}  // namespace
}  // namespace mqlab
