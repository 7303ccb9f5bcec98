// Reading a client's or broker's properties: what was used is marked, and what is left over is an error, so that no
// setting of a scenario is silently without effect on a real system.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/scenario/scenario.h"

namespace mqlab::live {

class SettingsReader {
 public:
  /// `what` names the owner in errors: "consumer of embed".
  SettingsReader(const Properties& properties, std::string what);

  /// Each accepts the name with '.', '_' or '-' between its words. Throws PortError for a value that does not fit.
  std::optional<std::string> text(std::string_view name);
  std::optional<std::int64_t> integer(std::string_view name);
  std::optional<bool> boolean(std::string_view name);
  /// "30s", "500ms"; bare numbers are nanoseconds, as in the JetStream API.
  std::optional<Duration> duration(std::string_view name);
  std::optional<std::vector<Duration>> durations(std::string_view name);
  /// Throws PortError naming a setting that nobody asked for.
  void finish() const;

 private:
  const Property* take(std::string_view name);
  [[noreturn]] void refuse(const Property& property, const char* wanted) const;

  const Properties& properties_;
  std::string what_;
  std::vector<bool> used_;
};

}  // namespace mqlab::live
