// Every key of a scenario file, by table: one list that the reader, its messages and docs/scenario.md share.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mqlab {

struct KeyInfo {
  std::string_view table;  ///< "broker", "stage", "fault.at" …; "" = the file's top level
  std::string_view key;
  std::string_view type;           ///< with its unit and range, as docs/scenario.md shows it
  std::string_view default_value;  ///< as TOML; "required", "" = none, or a sentence in parentheses
  std::string_view meaning;
};

/// In the order of docs/scenario.md.
std::span<const KeyInfo> all_keys();
std::vector<std::string> keys_of(std::string_view table);

}  // namespace mqlab
