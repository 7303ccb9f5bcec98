// What a scenario's properties say to JetStream, by the names of its API.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/scenario/scenario.h"
#include "core/scenario/topology.h"
#include "live/ports/nats_client.h"

namespace mqlab::live::nats {

/// Defaults are the server's (server/consumer.go) or nats.c's.
struct ConsumerSettings {
  std::string name;      ///< durable name; empty for an ordered consumer
  bool ordered = false;
  bool ack_sync = false; ///< wait for the server's confirmation of each ack
  Duration ack_wait = Duration::seconds(30);
  std::int64_t max_deliver = -1;
  std::int64_t max_ack_pending = 1000;
  std::vector<Duration> backoff;
  jsDeliverPolicy deliver = js_DeliverAll;
};

struct ProducerSettings {
  bool message_id = true;     ///< send Nats-Msg-Id, so that the stream drops repeats
  std::int64_t max_pending = 4000;
  Duration ack_timeout = Duration::seconds(5);
  Duration stall_wait = Duration::seconds(5);
};

/// Throw PortError for a setting that cannot be expressed.
ConsumerSettings consumer_settings(const Properties& properties, const std::string& default_name, bool observer);
ProducerSettings producer_settings(const Properties& properties, const std::string& owner);
ConnectionSettings connection_settings(const std::string& urls, const std::string& name);

/// A stream's name and subjects on the broker. Subjects carry the tag too: two streams may not share a subject.
struct StreamNames {
  std::string stream;
  std::vector<std::string> subjects;
  /// The subject a message with this key goes to: wildcards stand for the key.
  std::string subject_of(std::uint32_t key) const;
};
StreamNames stream_names(const TopicSpec& topic, const std::string& tag);

}  // namespace mqlab::live::nats
