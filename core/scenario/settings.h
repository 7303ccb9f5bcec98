// Settings by the names that brokers and client libraries give them: what exists, its type, range, default
// and effect. The tables are in kafka_*_table.cc and nats_table.cc; docs/settings.md is printed from them.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/scenario/scenario.h"
#include "core/scenario/version.h"

namespace mqlab {

enum class SettingType : std::uint8_t {
  boolean,  ///< true, false
  integer,
  real,
  millis,    ///< an integer number of milliseconds
  fraction,  ///< milliseconds, fractions allowed (librdkafka's linger.ms)
  bytes,     ///< an integer
  size,      ///< "1MB", or an integer number of bytes; NATS
  duration,  ///< "30s", or the one word in `words`; NATS
  word,      ///< one of `words`
  words,     ///< a list of them, with commas
  text,
};

struct Setting {
  std::string_view key;
  SettingType type = SettingType::text;
  std::int64_t low = 0, high = 0;  ///< of numbers; durations: nanoseconds
  std::string_view words = {};     ///< "a|b|c"
  /// "5", or by version "0|4.0:5": 0 before 4.0, then 5. Empty = none.
  std::string_view defaults = {};
  std::string_view effect = {};    ///< one line
  std::string_view alias_of = {};  ///< another name of that setting
  bool modelled = true;            ///< false: handed to the real program, of no effect in the simulation
};

/// The settings of one kind of process, client or object.
struct SettingTable {
  std::string_view owner;   ///< "the java producer"
  std::string_view source;  ///< where names, ranges and defaults were read
  std::span<const Setting> own;
  std::span<const Setting> shared;  ///< with the flavour's other client
  /// Names that exist and are passed on without being looked into (security, metrics …), between blanks.
  std::string_view known_only;
  /// Names that exist and are the lab's to set.
  std::string_view lab_sets;

  const Setting* find(std::string_view key) const;  ///< nullptr when not in own or shared
  bool knows_only(std::string_view key) const;
  std::vector<std::string> keys() const;  ///< all valid ones
};

std::string_view name_of(SettingType type);
/// "1 to 60000", "all, -1, 0, 1" …; empty when anything goes.
std::string range_of(const Setting& setting);
std::string_view default_of(const Setting& setting, Version version);

/// Where a property map stands, for messages.
struct SettingPlace {
  const std::string& file;
  std::string path;  ///< "workload.producer"
  int line = 0;      ///< of the table, for what is a default
};

/// The values of one property map over the defaults.
class Values {
 public:
  /// Throws ScenarioError: unknown key with the nearest valid one, wrong type, out of range, a setting under
  /// two names.
  Values(const SettingTable& table, const Properties& properties, Version version, SettingPlace place);

  bool is_set(std::string_view key) const { return given(key) != nullptr; }  ///< under any of its names
  std::string text(std::string_view key) const;
  bool truth(std::string_view key) const { return text(key) == "true"; }
  std::int64_t integer(std::string_view key) const;
  double real(std::string_view key) const;
  Duration duration(std::string_view key) const;  ///< of millis, fraction and duration; −1 stays −1 ms
  std::vector<std::string> list(std::string_view key) const;
  template <class T>
  T as(std::string_view key) const {
    return static_cast<T>(integer(key));
  }

  [[noreturn]] void fail(std::string_view key, const std::string& problem) const;

 private:
  const Property* given(std::string_view key) const;
  void check(const Property& property) const;
  void check_value(const Property& property, const Setting& setting) const;
  void check_words(const Property& property, const Setting& setting) const;
  void check_names() const;

  const SettingTable& table_;
  const Properties& properties_;
  Version version_;
  SettingPlace place_;
};

}  // namespace mqlab
