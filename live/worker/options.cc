#include "live/worker/options.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <sstream>

#include "core/scenario/reader.h"
#include "core/scenario/units.h"

namespace mqlab::live {
namespace {

const std::set<std::string> switches = {"describe", "setup", "probe", "remove", "replay", "warm"};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UsageError(path + ": cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

Options::Options(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) throw UsageError("unexpected argument: " + word);
    const std::string name = word.substr(2);
    if (switches.contains(name)) {
      values_[name] = "";
    } else if (i + 1 < argc) {
      values_[name] = argv[++i];
    } else {
      throw UsageError(word + " needs a value");
    }
  }
}

const std::string& Options::text(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw UsageError("--" + name + " is missing");
  return found->second;
}

std::string Options::text_or(const std::string& name, const std::string& otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : found->second;
}

std::int64_t Options::integer(const std::string& name) const {
  const auto value = parse_integer(text(name));
  if (!value) throw UsageError("--" + name + " " + text(name) + ": a whole number is wanted");
  return *value;
}

std::int64_t Options::integer_or(const std::string& name, std::int64_t otherwise) const {
  return has(name) ? integer(name) : otherwise;
}

std::uint64_t Options::seed() const {
  const std::string word = text_or("seed", "1");
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), seed);
  if (error != std::errc{} || end != word.data() + word.size())
    throw UsageError("--seed " + word + ": a whole number of at most 64 bits is wanted");
  return seed;
}

std::vector<MessageId> Options::ids(const std::string& name) const {
  std::vector<MessageId> ids;
  std::istringstream list(text_or(name, ""));
  for (std::string word; std::getline(list, word, ',');) {
    const auto id = parse_integer(word);
    if (!id || *id <= 0) throw UsageError("--" + name + ": " + word + " is not a message number");
    ids.push_back(static_cast<MessageId>(*id));
  }
  std::ranges::sort(ids);
  return ids;
}

std::string Options::address() const { return has("server") ? text("server") : text("bootstrap"); }

Scenario Options::scenario() const {
  const std::string& file = text("scenario");
  const std::string toml = read_file(file);
  if (!has("faults")) return read_scenario(toml, file);
  // Read once more with the given tables behind the scenario's own, which are then left out.
  const std::size_t own = read_scenario(toml, file).faults.size();
  Scenario scenario = read_scenario(toml + "\n" + read_file(text("faults")), file);
  scenario.faults.erase(scenario.faults.begin(), scenario.faults.begin() + static_cast<std::ptrdiff_t>(own));
  return scenario;
}

}  // namespace mqlab::live
