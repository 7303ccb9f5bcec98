// The parsed file as a tree in file order, before it means anything. Only toml_tree.cc knows the TOML
// library.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mqlab {

struct Node {
  enum class Type : std::uint8_t { table, array, text, integer, real, boolean, other };

  Type type = Type::table;
  int line = 0;      ///< 0 = not in the file (an override)
  std::string key;   ///< within its table; empty in an array
  std::string text;  ///< text: the value; numbers of overrides: as written
  std::int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::vector<Node> children;

  bool is_table() const { return type == Type::table; }
  bool is_array() const { return type == Type::array; }
  const Node* child(std::string_view name) const;
  Node* child(std::string_view name);
};

/// "a string", "a table" …, for messages.
std::string_view name_of(Node::Type type);

/// Refuses what is larger, or nested deeper, than core/base/limits.h allows before the TOML library sees it.
/// Throws ScenarioError.
void scan_toml(std::string_view toml, const std::string& file);
/// Throws ScenarioError: not TOML, too large, nested too deep.
Node parse_toml(std::string_view toml, const std::string& file);
/// The value of an override; bare words are text. Throws ScenarioError with the override's path.
Node parse_value(std::string_view value, const std::string& file, const std::string& path);

/// One level: a = {b = {c = 1}} becomes "a.b.c" = 1. For maps whose keys contain dots themselves.
/// Throws ScenarioError when a key comes twice.
void flatten(Node& table, const std::string& file, const std::string& path);

}  // namespace mqlab
