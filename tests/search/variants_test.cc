// What a scenario is changed to while a story shrinks or its cause is looked for.
#include "search/variants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/scenario/reader.h"

namespace mqlab::search {
namespace {

constexpr std::string_view pipeline = R"(
name = "sessions"
[broker]
kind = "kafka"
version = "4.1"
[broker.properties]
"broker.session.timeout.ms" = 2000
"broker.heartbeat.interval.ms" = 500
"group.min.session.timeout.ms" = 1000
[client]
flavour = "librdkafka"
[[topics]]
name = "in"
[workload]
topic = "in"
rate = "10/s"
messages = 3
[[stages]]
name = "worker"
module = "consumer"
input = "in"
[stages.consumer]
"session.timeout.ms" = 2000
"heartbeat.interval.ms" = 500
"fetch.wait.max.ms" = 50
)";

std::set<std::string> refused(const Scenario& scenario) {
  std::set<std::string> found;
  for (const Variant& variant : without_settings(scenario)) {
    if (!changed(scenario, variant)) found.insert(variant.path);
  }
  return found;
}

// Without which the file is refused: sessions of 2 s are too short for the default.
const std::string shortest_session = "brokers.kafka.properties.group.min.session.timeout.ms";
const std::string of_the_broker = "brokers.kafka.properties.broker.heartbeat.interval.ms";

TEST(Variants, NobodysHeartbeatsComeLessOftenThanItsSessionLasts) {
  const Scenario scenario = read_scenario(pipeline, "s.toml");
  const std::set<std::string> needed = {shortest_session, of_the_broker,
                                        "stages.worker.consumer.heartbeat.interval.ms"};
  EXPECT_EQ(refused(scenario), needed);
}

TEST(Variants, WhoWroteSuchASessionMayKeepIt) {
  std::string text(pipeline);
  const std::string own = "\"heartbeat.interval.ms\" = 500";
  text.replace(text.find(own), own.size(), "\"heartbeat.interval.ms\" = 2500");
  const Scenario scenario = read_scenario(text, "s.toml");
  EXPECT_EQ(refused(scenario), (std::set<std::string>{shortest_session, of_the_broker}));
}

}  // namespace
}  // namespace mqlab::search
