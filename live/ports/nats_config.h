// Streams and consumers as the JetStream API's JSON has them: nats.c 3.4 knows not all of it. [nats-server:
// stream.go StreamConfig, consumer.go ConsumerConfig]
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "live/ports/nats_settings.h"

namespace mqlab::live::nats {

nlohmann::json stream_config(const NatsStream& stream, const StreamNames& names);
nlohmann::json consumer_config(const NatsConsumer& consumer, const std::string& durable,
                               const StreamNames& names);

/// A request to the JetStream API. Throws PortError with `what` when it is not answered in time or refused.
void api_request(natsConnection* connection, const std::string& subject, const nlohmann::json& body,
                 Duration patience, const std::string& what);

}  // namespace mqlab::live::nats
