// One table of the file while it is read: typed access by key; every error names file, line and path.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/scenario/error.h"
#include "core/scenario/scenario.h"
#include "core/scenario/tree.h"

namespace mqlab {

struct SourceFile {
  std::string name;
};

class Section {
 public:
  /// `keys` names the table in core/scenario/keys.h. Throws for a key it does not have, unless `open`.
  Section(const Node& table, std::string path, std::string_view keys, const SourceFile& file,
          bool open = false);

  bool has(std::string_view key) const { return node(key) != nullptr; }
  int line() const { return table_.line; }
  int line(std::string_view key) const { return has(key) ? node(key)->line : table_.line; }
  const std::string& path() const { return path_; }
  /// nullptr when absent.
  const Node* node(std::string_view key) const;
  /// A table below this one; it must be there.
  Section below(std::string_view key, std::string_view keys) const;

  // Values; the given default when absent. All throw when type or range is wrong.
  std::string text(std::string_view key, std::string_view otherwise) const;
  std::string required(std::string_view key) const;
  /// Letters, digits, '.', '_' and '-', at most 249 (Kafka's limit for topics).
  std::string name(std::string_view key, std::string_view otherwise) const;
  std::string required_name(std::string_view key) const;
  std::uint64_t integer(std::string_view key, std::uint64_t otherwise, std::uint64_t low,
                        std::uint64_t high) const;
  double number(std::string_view key, double otherwise, double low, double high) const;
  Duration duration(std::string_view key, Duration otherwise) const;
  std::uint64_t bytes(std::string_view key, std::uint64_t otherwise, std::uint64_t low,
                      std::uint64_t high) const;
  /// A list of strings; one string is a list of one.
  std::vector<std::string> texts(std::string_view key) const;
  std::vector<Duration> durations(std::string_view key) const;
  DurationSpec distribution(std::string_view key, DurationSpec otherwise) const;
  /// A property map, its dotted keys put together.
  Properties properties(std::string_view key) const;
  /// Of an open section: what is not in its table of keys.
  Properties rest() const;
  /// Index of the value in `words`; throws with a suggestion when it is none of them.
  std::size_t word(std::string_view key, std::size_t otherwise, const std::vector<std::string>& words) const;

  [[noreturn]] void fail(std::string_view key, const std::string& problem) const;
  [[noreturn]] void fail(const std::string& problem) const;
  const SourceFile& file() const { return *file_; }
  const std::vector<std::string>& keys() const { return keys_; }

 private:
  [[noreturn]] void wrong_type(std::string_view key, std::string_view wanted) const;
  void check_length(std::string_view key, const Node& list) const;
  Duration duration_of(std::string_view key, const Node& value) const;

  const Node& table_;
  std::string path_;
  std::vector<std::string> keys_;
  const SourceFile* file_;
};

[[noreturn]] void fail_at(const std::string& file, int line, const std::string& path,
                          const std::string& problem);
/// A property's value as text. Throws for tables, dates, NaN and infinities.
std::string property_text(const Node& node, const std::string& file, const std::string& path);

}  // namespace mqlab
