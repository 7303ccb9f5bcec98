#include "core/scenario/section.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/scenario/keys.h"
#include "core/scenario/text.h"
#include "core/scenario/units.h"

namespace mqlab {
namespace {

constexpr std::size_t longest_name = 249;  // Kafka: Topic.MAX_NAME_LENGTH

bool name_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' || c == '_' ||
         c == '-';
}

bool finite(double x) { return x - x == 0; }

}  // namespace

void fail_at(const std::string& file, int line, const std::string& path, const std::string& problem) {
  throw ScenarioError(one_line(file), line, one_line(path), one_line(problem, 2000));
}

Section::Section(const Node& table, std::string path, std::string_view keys, const SourceFile& file,
                 bool open)
    : table_(table), path_(std::move(path)), keys_(keys_of(keys)), file_(&file) {
  MQLAB_CHECK(!keys_.empty());
  if (!table.is_table()) {
    fail_at(file.name, table.line, path_, "must be a table, is " + std::string(name_of(table.type)));
  }
  if (open) return;
  for (const Node& child : table.children) {
    if (std::find(keys_.begin(), keys_.end(), child.key) != keys_.end()) continue;
    fail(child.key, "unknown key; " + suggestion(child.key, keys_));
  }
}

const Node* Section::node(std::string_view key) const {
  MQLAB_CHECK(std::find(keys_.begin(), keys_.end(), key) != keys_.end());
  return table_.child(key);
}

Section Section::below(std::string_view key, std::string_view keys) const {
  return Section(*node(key), path_ + "." + std::string(key), keys, *file_);
}

void Section::fail(std::string_view key, const std::string& problem) const {
  const Node* at = table_.child(key);
  const std::string where = path_.empty() ? one_line(key, 100) : path_ + "." + one_line(key, 100);
  fail_at(file_->name, at == nullptr ? table_.line : at->line, where, problem);
}

void Section::fail(const std::string& problem) const { fail_at(file_->name, table_.line, path_, problem); }

void Section::wrong_type(std::string_view key, std::string_view wanted) const {
  const Node& value = *node(key);
  std::string is = std::string(name_of(value.type));
  if (value.type == Node::Type::text) is += " (" + quoted(value.text) + ")";
  if (value.type == Node::Type::integer) is += " (" + std::to_string(value.integer) + ")";
  if (value.type == Node::Type::real) is += " (" + format_number(value.real) + ")";
  fail(key, "must be " + std::string(wanted) + ", is " + is);
}

std::string Section::text(std::string_view key, std::string_view otherwise) const {
  const Node* value = node(key);
  if (value == nullptr) return std::string(otherwise);
  if (value->type == Node::Type::text || !value->text.empty())
    return value->text;  // an override's number, as written
  wrong_type(key, "a string in quotes");
}

std::string Section::required(std::string_view key) const {
  if (!has(key)) fail(key, "missing");
  return text(key, "");
}

std::string Section::name(std::string_view key, std::string_view otherwise) const {
  std::string value = text(key, otherwise);
  if (!has(key)) return value;
  const bool good = !value.empty() && value.size() <= longest_name &&
                    std::all_of(value.begin(), value.end(), name_character);
  if (!good) fail(key, quoted(value) + " is no name: 1 to 249 letters, digits, '.', '_' or '-'");
  if (value == "." || value == "..") fail(key, quoted(value) + " is no name");
  return value;
}

std::string Section::required_name(std::string_view key) const {
  if (!has(key)) fail(key, "missing");
  return name(key, "");
}

std::uint64_t Section::integer(std::string_view key, std::uint64_t otherwise, std::uint64_t low,
                               std::uint64_t high) const {
  const Node* value = node(key);
  if (value == nullptr) return otherwise;
  const std::string wanted = "an integer from " + std::to_string(low) + " to " + std::to_string(high);
  if (value->type != Node::Type::integer || value->integer < 0) wrong_type(key, wanted);
  const auto n = static_cast<std::uint64_t>(value->integer);
  if (n < low || n > high) wrong_type(key, wanted);
  return n;
}

double Section::number(std::string_view key, double otherwise, double low, double high) const {
  const Node* value = node(key);
  if (value == nullptr) return otherwise;
  const std::string wanted = "a number from " + format_number(low) + " to " + format_number(high);
  double x = 0;
  if (value->type == Node::Type::integer) {
    x = static_cast<double>(value->integer);
  } else if (value->type == Node::Type::real) {
    x = value->real;
  } else {
    wrong_type(key, wanted);
  }
  if (!finite(x) || x < low || x > high) wrong_type(key, wanted);
  return x;
}

Duration Section::duration_of(std::string_view key, const Node& value) const {
  if (value.type == Node::Type::integer && value.integer == 0) return {};
  if (value.type == Node::Type::text) {
    if (const auto duration = parse_duration(value.text)) return *duration;
    fail(key, quoted(value.text) + " is no duration: a number and a unit, as \"200us\", \"5s\" or \"1m30s\"");
  }
  const std::string number = value.type == Node::Type::integer ? std::to_string(value.integer) : "5";
  fail(key, "a duration is a string with a unit, as \"" + (number.front() == '-' ? "5" : number) + "ms\"");
}

Duration Section::duration(std::string_view key, Duration otherwise) const {
  const Node* value = node(key);
  return value == nullptr ? otherwise : duration_of(key, *value);
}

std::uint64_t Section::bytes(std::string_view key, std::uint64_t otherwise, std::uint64_t low,
                             std::uint64_t high) const {
  const Node* value = node(key);
  if (value == nullptr) return otherwise;
  const auto size = value->type == Node::Type::text ? parse_bytes(value->text)
                    : value->type == Node::Type::integer && value->integer >= 0
                        ? std::optional(static_cast<std::uint64_t>(value->integer))
                        : std::nullopt;
  if (!size) wrong_type(key, "a size in bytes, as 512, \"1KiB\" or \"2MB\"");
  if (*size < low || *size > high) {
    fail(key,
         std::to_string(*size) + " bytes: must be " + std::to_string(low) + " to " + std::to_string(high));
  }
  return *size;
}

void Section::check_length(std::string_view key, const Node& list) const {
  if (list.children.size() <= limits::scenario_list) return;
  fail(key, "more than " + std::to_string(limits::scenario_list) + " of them");
}

std::vector<std::string> Section::texts(std::string_view key) const {
  const Node* value = node(key);
  if (value == nullptr) return {};
  if (value->type == Node::Type::text)
    return value->text.empty() ? std::vector<std::string>{} : std::vector{value->text};
  if (!value->is_array()) wrong_type(key, "a list of strings");
  check_length(key, *value);
  std::vector<std::string> list;
  for (const Node& element : value->children) {
    if (element.type != Node::Type::text || element.text.empty()) fail(key, "must be a list of strings");
    list.push_back(element.text);
  }
  return list;
}

std::vector<Duration> Section::durations(std::string_view key) const {
  const Node* value = node(key);
  if (value == nullptr) return {};
  if (!value->is_array()) return {duration_of(key, *value)};
  check_length(key, *value);
  std::vector<Duration> list;
  for (const Node& element : value->children) list.push_back(duration_of(key, element));
  return list;
}

Properties Section::properties(std::string_view key) const {
  const Node* value = node(key);
  Properties out;
  if (value == nullptr) return out;
  if (!value->is_table()) wrong_type(key, "a table of settings");
  const std::string path = path_ + "." + std::string(key);
  for (const Node& child : value->children) {
    out.push_back({child.key, property_text(child, file_->name, path + "." + child.key), child.line});
  }
  return out;
}

Properties Section::rest() const {
  Node others;
  for (const Node& child : table_.children) {
    if (std::find(keys_.begin(), keys_.end(), child.key) == keys_.end()) others.children.push_back(child);
  }
  flatten(others, file_->name, path_);
  Properties out;
  for (const Node& child : others.children) {
    out.push_back({child.key, property_text(child, file_->name, path_ + "." + child.key), child.line});
  }
  return out;
}

std::size_t Section::word(std::string_view key, std::size_t otherwise,
                          const std::vector<std::string>& words) const {
  if (!has(key)) return otherwise;
  const std::string value = text(key, "");
  const auto found = std::find(words.begin(), words.end(), value);
  if (found == words.end()) fail(key, quoted(value) + " is unknown; " + suggestion(value, words));
  return static_cast<std::size_t>(found - words.begin());
}

std::string property_text(const Node& node, const std::string& file, const std::string& path) {
  switch (node.type) {
    case Node::Type::text:
      return node.text;
    case Node::Type::boolean:
      return node.boolean ? "true" : "false";
    case Node::Type::integer:
      return node.text.empty() ? std::to_string(node.integer) : node.text;
    case Node::Type::real:
      if (!finite(node.real)) fail_at(file, node.line, path, "must be a finite number");
      return node.text.empty() ? format_number(node.real) : node.text;
    case Node::Type::array: {
      std::vector<std::string> parts;
      for (const Node& element : node.children) {
        if (element.is_array() || element.is_table())
          fail_at(file, node.line, path, "must be a list of plain values");
        parts.push_back(property_text(element, file, path));
      }
      return joined(parts, ",");
    }
    default:
      fail_at(file, node.line, path, "must be a string, number, true, false or a list of them");
  }
}

}  // namespace mqlab
