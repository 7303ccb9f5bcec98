// From a scenario's settings to the values that a simulated system is made from.
#pragma once
#include "core/scenario/nats_settings.h"
#include "sim/brokers/nats/settings.h"

namespace mqlab::sim::nats {

ServerValues server_values(const NatsServer& server);
/// Without its place.
StreamValues stream_values(const NatsStream& stream, const std::vector<std::string>& subjects);
/// A durable's or an ordered consumer's, of one of the streams; without name and stage.
ConsumerValues consumer_values(const NatsConsumer& consumer, const std::vector<StreamValues>& streams,
                               std::uint32_t stream);
InputValues input_values(const NatsConsumer& consumer, std::uint32_t stream);
void take(const NatsConnection& from, ClientValues& to);

}  // namespace mqlab::sim::nats
