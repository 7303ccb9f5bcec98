// Sets a planted defect in force and the scenario that shows it up.
#pragma once
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "core/modules/registry.h"
#include "search/verify.h"
#include "tests/planted/planted_cases.h"

namespace mqlab::test {

#ifdef __SANITIZE_ADDRESS__
inline constexpr unsigned slower = 20;  ///< than a release build, at most
#else
inline constexpr unsigned slower = 1;
#endif

/// While it lives; none afterwards.
class Planted {
 public:
  explicit Planted(Plant plant) { plant_in_force = plant; }
  ~Planted() { plant_in_force = Plant::none; }
  Planted(const Planted&) = delete;
  Planted& operator=(const Planted&) = delete;
};

/// Of all threads, so far.
inline double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

inline std::string_view name_of(Plant plant) { return plant_names[static_cast<std::size_t>(plant)]; }

inline std::string planted_scenario(std::string_view name) {
  if (name == "kafka_log") return std::string(kafka_log);
  if (name == "nats_queue") return std::string(nats_queue);
  if (name == "kafka_store") return std::string(kafka_store);
  std::ifstream file(std::filesystem::path(MQLAB_SOURCE_DIR) / "experiments" / name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::unique_ptr<sim::Setup> set_up(const PlantedCase& c) {
  publish_module_catalog();
  return std::make_unique<sim::Setup>(
      read_scenario(planted_scenario(c.scenario), std::string(c.scenario), c.changes));
}

/// The lowest schedule that breaks a claim of the case.
inline std::optional<std::uint64_t> hunt(const sim::Setup& setup, const PlantedCase& c, search::Mix mix,
                                         std::uint64_t schedules, std::uint64_t seed = 1) {
  search::Options options;
  options.seed = seed;
  options.schedules = schedules;
  options.claims = c.claims;
  options.mix = mix;
  return search::first_violation(setup, options);
}

}  // namespace mqlab::test
