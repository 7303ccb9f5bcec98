// The command line of mqlab-worker: --name value pairs and bare switches.
#pragma once
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/scenario/scenario.h"

namespace mqlab::live {

class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Options {
 public:
  /// Throws UsageError.
  Options(int argc, char** argv);

  bool has(const std::string& name) const { return values_.contains(name); }
  /// Throws UsageError when absent.
  const std::string& text(const std::string& name) const;
  std::string text_or(const std::string& name, const std::string& otherwise) const;
  std::int64_t integer(const std::string& name) const;
  std::int64_t integer_or(const std::string& name, std::int64_t otherwise) const;
  /// "3,5,9", sorted; empty when absent.
  /// --seed, any of 64 bits; 1 when it is not given.
  std::uint64_t seed() const;
  std::vector<MessageId> ids(const std::string& name) const;
  /// --bootstrap (Kafka) or --server (NATS).
  std::string address() const;
  /// The scenario of --scenario, with the faults of --faults (a TOML file of [[fault]] tables) in place of
  /// its own.
  Scenario scenario() const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace mqlab::live
