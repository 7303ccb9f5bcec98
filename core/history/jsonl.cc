#include "core/history/jsonl.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/limits.h"
#include "core/scenario/text.h"

namespace mqlab {
namespace {

using Json = nlohmann::json;

constexpr std::size_t line_bytes = limits::scenario_bytes * 2;  // the header holds a whole scenario, escaped
constexpr std::array<std::pair<std::string_view, std::uint16_t>, 8> flags = {
    {{"duplicate", flag::duplicate},
     {"lost", flag::lost},
     {"header", flag::header},
     {"aborted", flag::aborted},
     {"open", flag::open},
     {"timed_out", flag::timed_out},
     {"dead_letter", flag::dead_letter},
     {"tombstone", flag::tombstone}}};

void put(std::string& out, std::string_view key, std::int64_t value) {
  out += ",\"";
  out += key;
  out += "\":";
  out += std::to_string(value);
}

void put(std::string& out, std::string_view key, std::string_view value) {
  out += ",\"";
  out += key;
  out += "\":";
  out += Json(value).dump();
}

void put_digest(std::string& out, std::uint64_t digest) {
  std::array<char, 16> hex;
  const auto end = std::to_chars(hex.data(), hex.data() + hex.size(), digest, 16).ptr;
  put(out, "digest", "0x" + std::string(hex.data(), end));
}

void put_flags(std::string& out, std::uint16_t bits) {
  out += ",\"flags\":[";
  const char* separator = "";
  for (const auto& [name, bit] : flags) {
    if ((bits & bit) == 0) continue;
    out += separator;
    out += "\"";
    out += name;
    out += "\"";
    separator = ",";
  }
  out += "]";
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t more = byte < 0x80   ? 0
                             : byte < 0xc2 ? 9
                             : byte < 0xe0 ? 1
                             : byte < 0xf0 ? 2
                             : byte < 0xf5 ? 3
                                           : 9;
    if (more == 9 || i + more >= text.size()) return false;
    for (std::size_t n = 1; n <= more; ++n) {
      if ((static_cast<unsigned char>(text[i + n]) & 0xc0) != 0x80) return false;
    }
    i += more + 1;
  }
  return true;
}

/// What every line must be.
class Line {
 public:
  Line(std::string_view text, const std::string& file, int number) : file_(file), number_(number) {
    if (text.size() > line_bytes) fail("the line is longer than " + std::to_string(line_bytes) + " bytes");
    json_ = Json::parse(text, nullptr, false);
    if (json_.is_discarded()) fail(is_utf8(text) ? "this is no JSON" : "this is not UTF-8");
    if (!json_.is_object()) fail("a line must be an object: {…}");
  }
  [[noreturn]] void fail(const std::string& problem) const {
    throw HistoryError(file_, number_, one_line(problem));  // names in it are the file's own
  }

  const Json& json() const { return json_; }
  std::string text(const std::string& key, const Json& value) const {
    if (!value.is_string()) fail("\"" + key + "\" must be a string");
    return value.get<std::string>();
  }
  template <class T>
  T number(const std::string& key, const Json& value) const {
    constexpr auto low = std::numeric_limits<T>::min();
    constexpr auto high = std::numeric_limits<T>::max();
    if (value.is_number_unsigned()) {
      if (value.get<std::uint64_t>() <= static_cast<std::uint64_t>(high))
        return static_cast<T>(value.get<std::uint64_t>());
    } else if (value.is_number_integer()) {
      const auto signed_value = value.get<std::int64_t>();  // negative, or it would be unsigned
      if (low < 0 && signed_value >= static_cast<std::int64_t>(low)) return static_cast<T>(signed_value);
    } else {
      fail("\"" + key + "\" must be a whole number");
    }
    fail("\"" + key + "\" must be from " + std::to_string(low) + " to " + std::to_string(high));
  }

 private:
  const std::string& file_;
  int number_;
  Json json_;
};

template <class Number>
using ByName = std::map<std::string, Number>;

class RowReader {
 public:
  RowReader(const HistoryNames& names) {
    for (std::size_t i = 0; i < names.processes.size(); ++i)
      processes_[names.processes[i]] = static_cast<ProcessId>(i);
    for (std::size_t i = 0; i < names.places.size(); ++i) places_[names.places[i]] = static_cast<PlaceId>(i);
    for (unsigned k = 0; k < static_cast<unsigned>(Kind::count_); ++k) {
      kinds_[std::string(name_of(static_cast<Kind>(k)))] = static_cast<Kind>(k);
    }
    for (unsigned p = 0; p < 4; ++p)
      phases_[std::string(name_of(static_cast<Phase>(p)))] = static_cast<Phase>(p);
    for (const auto& [name, bit] : flags) flags_[std::string(name)] = bit;
  }

  Row read(const Line& line) const {
    for (const char* key : {"time", "kind", "phase"}) {
      if (!line.json().contains(key)) line.fail("\"" + std::string(key) + "\" is missing");
    }
    Row row;
    for (const auto& [key, value] : line.json().items()) read_field(line, key, value, row);
    if (row.time < 0) line.fail("\"time\" must not be negative");
    return row;
  }

 private:
  template <class Number>
  Number named(const Line& line, const ByName<Number>& names, const std::string& key,
               const Json& value) const {
    const std::string name = line.text(key, value);
    const auto found = names.find(name);
    if (found == names.end()) line.fail("there is no " + key + " \"" + name.substr(0, 100) + "\"");
    return found->second;
  }
  void read_field(const Line& line, const std::string& key, const Json& value, Row& row) const {
    if (key == "time")
      row.time = line.number<std::int64_t>(key, value);
    else if (key == "kind")
      row.kind = named(line, kinds_, key, value);
    else if (key == "phase")
      row.phase = named(line, phases_, key, value);
    else if (key == "process")
      row.process = named(line, processes_, key, value);
    else if (key == "incarnation")
      row.incarnation = line.number<std::uint16_t>(key, value);
    else if (key == "op")
      row.op = line.number<std::uint32_t>(key, value);
    else if (key == "message")
      row.message = line.number<std::uint32_t>(key, value);
    else if (key == "cause")
      row.cause = line.number<std::uint32_t>(key, value);
    else if (key == "key")
      row.key = line.number<std::uint32_t>(key, value);
    else if (key == "place")
      row.place = named(line, places_, key, value);
    else if (key == "position")
      row.position = line.number<std::int64_t>(key, value);
    else if (key == "aux")
      row.aux = line.number<std::int64_t>(key, value);
    else if (key == "size")
      row.size = line.number<std::uint32_t>(key, value);
    else if (key == "digest")
      row.digest = digest(line, value);
    else if (key == "attempt")
      row.attempt = line.number<std::uint16_t>(key, value);
    else if (key == "epoch")
      row.epoch = line.number<std::uint32_t>(key, value);
    else if (key == "transaction")
      row.transaction = line.number<std::uint32_t>(key, value);
    else if (key == "trace")
      row.trace = line.number<std::uint32_t>(key, value);
    else if (key == "code")
      row.code = line.number<std::uint16_t>(key, value);
    else if (key == "flags")
      row.flags = bits(line, value);
    else
      line.fail("a row has no \"" + key.substr(0, 100) + "\"");
  }
  std::uint64_t digest(const Line& line, const Json& value) const {
    const std::string text = line.text("digest", value);
    std::uint64_t number = 0;
    const bool prefixed = text.starts_with("0x") && text.size() > 2;
    const char* end = text.data() + text.size();
    if (!prefixed || std::from_chars(text.data() + 2, end, number, 16).ptr != end || text.size() > 18) {
      line.fail("\"digest\" must be hexadecimal digits, as in \"0x1f\"");
    }
    return number;
  }
  std::uint16_t bits(const Line& line, const Json& value) const {
    if (!value.is_array()) line.fail("\"flags\" must be a list of names");
    std::uint16_t all = 0;
    for (const Json& name : value) all = static_cast<std::uint16_t>(all | named(line, flags_, "flags", name));
    return all;
  }

  ByName<ProcessId> processes_;  // looked up only
  ByName<PlaceId> places_;
  ByName<Kind> kinds_;
  ByName<Phase> phases_;
  ByName<std::uint16_t> flags_;
};

std::vector<std::pair<std::string, std::uint32_t>> partitions(const Line& line, const Json& value) {
  if (!value.is_object())
    line.fail("\"topics\" must be an object: {\"requests\":2}, the partitions of each topic");
  std::vector<std::pair<std::string, std::uint32_t>> topics;
  for (const auto& [name, count] : value.items()) {
    const auto n = line.number<std::uint32_t>("topics", count);
    if (n < 1 || n > limits::partitions_per_topic)
      line.fail("a topic has 1 to " + std::to_string(limits::partitions_per_topic) + " partitions");
    topics.emplace_back(name, n);
  }
  return topics;
}

std::vector<std::pair<std::string, std::string>> topics_of(const Line& line, const std::string& key,
                                                           const Json& value) {
  if (!value.is_object())
    line.fail("\"" + key + "\" must be an object: {\"api\":\"requests\"}, the topic of each process");
  std::vector<std::pair<std::string, std::string>> parties;
  for (const auto& [name, topic] : value.items()) parties.emplace_back(name, line.text(key, topic));
  return parties;
}

/// Takes the first line off `text`; blanks at its end are no part of it.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  return line;
}

}  // namespace

HistoryNames history_names(const Topology& topology) {
  HistoryNames names;
  for (const ProcessInfo& process : topology.processes) names.processes.push_back(process.name);
  for (const PlaceInfo& place : topology.places) names.places.push_back(place.name);
  return names;
}

void write_header(std::string& out, const HistoryHeader& header) {
  out += R"({"mqlab":"history","version":1)";
  put(out, "scenario", header.scenario);
  put(out, "world", header.world);
  out += ",\"seed\":" + std::to_string(header.seed) + "}\n";
}

void write_row(std::string& out, const Row& row, const HistoryNames& names) {
  out += "{\"time\":" + std::to_string(row.time);
  put(out, "kind", name_of(row.kind));
  put(out, "phase", name_of(row.phase));
  if (row.process < names.processes.size()) put(out, "process", names.processes[row.process]);
  const auto number = [&](std::string_view key, std::int64_t value, std::int64_t usual = 0) {
    if (value != usual) put(out, key, value);
  };
  number("incarnation", row.incarnation);
  number("op", row.op);
  number("message", row.message);
  number("cause", row.cause);
  number("key", row.key);
  if (row.place < names.places.size()) put(out, "place", names.places[row.place]);
  number("position", row.position, -1);
  number("aux", row.aux);
  number("size", row.size);
  if (row.digest != 0) put_digest(out, row.digest);
  number("attempt", row.attempt);
  number("epoch", row.epoch);
  number("transaction", row.transaction);
  number("trace", row.trace);
  number("code", row.code);
  if (row.flags != 0) put_flags(out, row.flags);
  out += "}\n";
}

void write_end(std::string& out, std::size_t rows) { out += "{\"end\":" + std::to_string(rows) + "}\n"; }

HistoryHeader read_header(std::string_view text, const std::string& file) {
  const Line line(next_line(text), file, 1);
  const Json& json = line.json();
  if (json.value("mqlab", Json()) != "history")
    line.fail(R"(the first line must be {"mqlab":"history","version":1,…})");
  if (json.value("version", Json()) != 1) line.fail("\"version\" must be 1");
  HistoryHeader header;
  for (const auto& [key, value] : json.items()) {
    if (key == "scenario")
      header.scenario = line.text(key, value);
    else if (key == "world")
      header.world = line.text(key, value);
    else if (key == "seed")
      header.seed = line.number<std::uint64_t>(key, value);
    else if (key == "topics")
      header.topics = partitions(line, value);
    else if (key == "senders")
      header.senders = topics_of(line, key, value);
    else if (key == "readers")
      header.readers = topics_of(line, key, value);
    else if (key != "mqlab" && key != "version")
      line.fail("a header has no \"" + key.substr(0, 100) + "\"");
  }
  const bool parties = !header.topics.empty() || !header.senders.empty() || !header.readers.empty();
  if (parties && !header.scenario.empty())
    line.fail("either \"scenario\" or \"topics\", \"senders\" and \"readers\"");
  return header;
}

HistoryFile read_rows(std::string_view text, const std::string& file, const HistoryNames& names) {
  const RowReader reader(names);
  HistoryFile history;
  std::int64_t time = 0;
  next_line(text);
  for (int number = 2; !text.empty(); ++number) {
    const std::string_view content = next_line(text);
    if (content.empty() && text.empty()) break;
    const Line line(content, file, number);
    if (history.complete) line.fail("nothing may follow the end line");
    const auto end = line.json().find("end");
    if (end != line.json().end()) {
      const auto rows = line.number<std::uint64_t>("end", *end);
      if (line.json().size() != 1) line.fail("the end line has nothing but \"end\"");
      if (rows != history.rows.size()) {
        line.fail("the end line speaks of " + std::to_string(rows) + " rows, there are " +
                  std::to_string(history.rows.size()));
      }
      history.complete = true;
      continue;
    }
    const Row row = reader.read(line);
    if (row.time < time) line.fail("\"time\" must not fall");
    time = row.time;
    history.rows.next() = row;
  }
  return history;
}

}  // namespace mqlab
