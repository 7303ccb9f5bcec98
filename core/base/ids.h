// The numbers that name things in a run. All are dense indices given out in a fixed order, so that the same
// scenario names the same things alike in every run, build and world.
#pragma once
#include <cstdint>

namespace mqlab {

using MessageId = std::uint32_t;    ///< stamped by the workload, kept through retries and stages; 0 = none
using OpId = std::uint32_t;         ///< one effect of one incarnation of a process; 0 = none
using PlaceId = std::uint32_t;      ///< index into Topology::places (a topic-partition, a stream, a store)
using TopicId = std::uint32_t;      ///< index into Topology::topics (a Kafka topic or a NATS stream)
using ProcessId = std::uint16_t;    ///< index into Topology::processes
using Incarnation = std::uint16_t;  ///< how often a process was started before: 0, 1, 2 …

inline constexpr PlaceId no_place = 0xffff'ffff;
inline constexpr TopicId no_topic = 0xffff'ffff;
inline constexpr ProcessId no_process = 0xffff;

}  // namespace mqlab
