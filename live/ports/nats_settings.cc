#include "live/ports/nats_settings.h"

#include "core/scenario/subject.h"
#include "live/port.h"

namespace mqlab::live::nats {
namespace {

ReaderSettings read(const Scenario& scenario, const BrokerSpec& broker, Properties properties,
                    const std::string& name, const std::string& path, bool observer) {
  if (observer && find(properties, "ordered") == nullptr) properties.push_back({"ordered", "true", 0});
  ReaderSettings settings{resolve_nats_consumer(scenario, properties, broker, path), name};
  if (!settings.values.durable.empty()) settings.name = settings.values.durable;
  if (!settings.values.push && settings.values.ack_policy != NatsConsumer::AckPolicy::explicit_ack) {
    throw PortError(path + ".ack_policy: nats.c pulls with explicit acknowledgements only");
  }
  return settings;
}

}  // namespace

ReaderSettings reader_settings(const Scenario& scenario, const BrokerSpec& broker, const StageSpec& stage) {
  return read(scenario, broker, stage.consumer, stage.name, "stages." + stage.name + ".consumer", false);
}

ReaderSettings reader_settings(const Scenario& scenario, const BrokerSpec& broker,
                               const ObserverSpec& observer) {
  return read(scenario, broker, observer.consumer, observer.name, "observers." + observer.name + ".consumer",
              true);
}

ConnectionSettings connection_settings(const Scenario& scenario, const std::string& urls,
                                       const std::string& name, const NatsConnection& values) {
  ConnectionSettings settings = connection_settings(scenario, urls, name);
  settings.ping_interval = values.ping_interval;
  settings.max_pings_out = static_cast<int>(values.max_pings_out);
  settings.reconnect_wait = values.reconnect_wait;
  settings.reconnect_jitter = values.reconnect_jitter;
  settings.connect_timeout = values.connect_timeout;
  settings.send_asap = values.send_asap;
  return settings;
}

ConnectionSettings connection_settings(const Scenario& scenario, const std::string& urls,
                                       const std::string& name) {
  ConnectionSettings settings;
  settings.access = scenario.live.properties;
  settings.urls = urls;
  settings.name = name;
  return settings;
}

std::string StreamNames::subject_of(std::uint32_t key) const {
  return mqlab::subject_of(form_of(subjects), key);
}

std::string StreamNames::tagged(const std::string& subject) const {
  return tag.empty() ? subject : tag + "." + subject;
}

StreamNames stream_names(const TopicSpec& topic, const std::string& tag) {
  StreamNames names;
  names.stream = live::tagged(topic.name, tag);
  names.tag = tag;
  for (const std::string& subject : topic.subjects) names.subjects.push_back(names.tagged(subject));
  return names;
}

}  // namespace mqlab::live::nats
