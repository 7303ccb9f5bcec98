// Names of settings that are known and not looked into; see kafka_known.cc. Internal to core/scenario.
#pragma once
#include <string_view>

namespace mqlab {

extern const std::string_view known_java_producer;
extern const std::string_view known_java_consumer;
extern const std::string_view known_librdkafka_producer;
extern const std::string_view known_librdkafka_consumer;
extern const std::string_view known_kafka_broker;
extern const std::string_view known_kafka_topic;
extern const std::string_view lab_sets_client;
extern const std::string_view lab_sets_broker;

}  // namespace mqlab
