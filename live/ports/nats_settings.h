// What a scenario says to JetStream, for the live client. Names, defaults and checks:
// core/scenario/nats_settings.h.
#pragma once
#include <string>
#include <vector>

#include "core/scenario/nats_settings.h"
#include "core/scenario/topology.h"
#include "live/ports/nats_client.h"

namespace mqlab::live::nats {

/// A reader's settings. Observers read by an ordered consumer unless they say otherwise.
struct ReaderSettings {
  NatsConsumer values;
  std::string name;  ///< of the durable consumer; of no meaning when ordered
};
/// `group`: a stage's or observer's name. Throws PortError for a policy that nats.c cannot pull with.
ReaderSettings reader_settings(const Scenario& scenario, const BrokerSpec& broker, const StageSpec& stage);
ReaderSettings reader_settings(const Scenario& scenario, const BrokerSpec& broker,
                               const ObserverSpec& observer);

ConnectionSettings connection_settings(const Scenario& scenario, const std::string& urls,
                                       const std::string& name, const NatsConnection& values);
/// For the lab's own hand.
ConnectionSettings connection_settings(const Scenario& scenario, const std::string& urls,
                                       const std::string& name);

/// A stream's name and subjects on the broker. Subjects carry the tag too: two streams may not share a
/// subject.
struct StreamNames {
  std::string stream;
  std::vector<std::string> subjects;
  /// The subject a message with this key goes to: wildcards stand for the key.
  std::string subject_of(std::uint32_t key) const;
  /// A subject of the scenario, that of a filter or a transform, as it is on the broker.
  std::string tagged(const std::string& subject) const;
  std::string tag = {};
};
StreamNames stream_names(const TopicSpec& topic, const std::string& tag);

}  // namespace mqlab::live::nats
