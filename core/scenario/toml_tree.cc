#include <toml++/toml.h>
#include <algorithm>

#include "core/base/limits.h"
#include "core/scenario/error.h"
#include "core/scenario/section.h"
#include "core/scenario/text.h"
#include "core/scenario/tree.h"

namespace mqlab {
namespace {

struct Keyed {
  toml::source_position at;
  const toml::key* key;
  const toml::node* value;
};

[[noreturn]] void too_deep(const std::string& file, int line) {
  fail_at(file, line, "", "nested deeper than " + std::to_string(limits::scenario_depth) + " levels");
}

Node convert(const toml::node& from, const std::string& file, int depth);

void convert_table(const toml::table& from, Node& to, const std::string& file, int depth) {
  std::vector<Keyed> entries;
  for (const auto& [key, value] : from) entries.push_back({key.source().begin, &key, &value});
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Keyed& a, const Keyed& b) { return a.at < b.at; });
  for (const Keyed& entry : entries) {
    Node child = convert(*entry.value, file, depth + 1);
    child.key = std::string(entry.key->str());
    if (entry.at.line > 0) child.line = static_cast<int>(entry.at.line);
    to.children.push_back(std::move(child));
  }
}

Node convert(const toml::node& from, const std::string& file, int depth) {
  Node to;
  to.line = static_cast<int>(from.source().begin.line);
  if (depth > limits::scenario_depth) too_deep(file, to.line);
  if (const auto* table = from.as_table()) {
    convert_table(*table, to, file, depth);
  } else if (const auto* array = from.as_array()) {
    to.type = Node::Type::array;
    for (const toml::node& element : *array) to.children.push_back(convert(element, file, depth + 1));
  } else if (const auto* text = from.as_string()) {
    to.type = Node::Type::text;
    to.text = text->get();
  } else if (const auto* integer = from.as_integer()) {
    to.type = Node::Type::integer;
    to.integer = integer->get();
  } else if (const auto* real = from.as_floating_point()) {
    to.type = Node::Type::real;
    to.real = real->get();
  } else if (const auto* boolean = from.as_boolean()) {
    to.type = Node::Type::boolean;
    to.boolean = boolean->get();
  } else {
    to.type = Node::Type::other;
  }
  return to;
}

bool bare(std::string_view value) {
  return !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c < 0 ||
           std::string_view("_-./:*@%+ ").find(c) != std::string_view::npos;
  });
}

}  // namespace

const Node* Node::child(std::string_view name) const {
  for (const Node& node : children) {
    if (node.key == name) return &node;
  }
  return nullptr;
}

Node* Node::child(std::string_view name) { return const_cast<Node*>(std::as_const(*this).child(name)); }

std::string_view name_of(Node::Type type) {
  switch (type) {
    case Node::Type::table:
      return "a table";
    case Node::Type::array:
      return "a list";
    case Node::Type::text:
      return "a string";
    case Node::Type::integer:
      return "an integer";
    case Node::Type::real:
      return "a decimal number";
    case Node::Type::boolean:
      return "true or false";
    case Node::Type::other:
      return "a date or time";
  }
  return "";
}

Node parse_toml(std::string_view toml, const std::string& file) {
  scan_toml(toml, file);
  try {
    return convert(toml::parse(toml), file, 0);
  } catch (const toml::parse_error& error) {
    fail_at(file, static_cast<int>(error.source().begin.line), "",
            "not TOML: " + one_line(error.description()));
  }
}

Node parse_value(std::string_view value, const std::string& file, const std::string& path) {
  if (value.size() > limits::scenario_bytes) fail_at(file, 0, path, "value too long");
  try {
    if (value.find('\n') != std::string_view::npos) fail_at(file, 0, path, "value must be on one line");
    Node tree = parse_toml("value = " + std::string(value), file);
    if (tree.children.size() == 1 && tree.children[0].key == "value") {
      Node node = std::move(tree.children[0]);
      if (node.type == Node::Type::integer || node.type == Node::Type::real) node.text = std::string(value);
      return node;
    }
  } catch (const ScenarioError& error) {
    if (!bare(value)) fail_at(file, 0, path, "--set: " + error.problem);
  }
  Node node;
  node.type = Node::Type::text;
  node.text = std::string(value);
  return node;
}

namespace {

void flatten_into(Node& table, const std::string& prefix, std::vector<Node>& out) {
  for (Node& child : table.children) {
    const std::string key = prefix.empty() ? child.key : prefix + "." + child.key;
    if (child.is_table()) {
      flatten_into(child, key, out);
    } else {
      child.key = key;
      out.push_back(std::move(child));
    }
  }
}

}  // namespace

void flatten(Node& table, const std::string& file, const std::string& path) {
  std::vector<Node> flat;
  flatten_into(table, "", flat);
  std::vector<const Node*> by_key;
  for (const Node& node : flat) by_key.push_back(&node);
  std::stable_sort(by_key.begin(), by_key.end(),
                   [](const Node* a, const Node* b) { return a->key < b->key; });
  for (std::size_t i = 1; i < by_key.size(); ++i) {
    if (by_key[i]->key != by_key[i - 1]->key) continue;
    fail_at(file, by_key[i]->line, path + "." + one_line(by_key[i]->key, 100),
            "set twice, first in line " + std::to_string(by_key[i - 1]->line));
  }
  table.children = std::move(flat);
}

}  // namespace mqlab
