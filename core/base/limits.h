// Every limit of the lab by name, with its reason.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/base/time.h"

namespace mqlab::limits {

inline constexpr std::size_t scenario_bytes = 4u << 20;  ///< a scenario file; larger is refused unread
inline constexpr int scenario_depth = 16;                ///< nesting of tables and arrays in a scenario
inline constexpr std::size_t scenario_list = 4096;       ///< topics, stages, faults … of one scenario
inline constexpr std::uint32_t keys = 1'000'000;         ///< distinct keys of a workload; a table holds them
inline constexpr std::uint32_t partitions_per_topic = 4096;
inline constexpr std::uint32_t partitions = 100'000;      ///< of all topics together
inline constexpr std::uint32_t nodes = 9;                 ///< broker nodes of one cluster
inline constexpr std::uint32_t instances = 256;           ///< of one stage
inline constexpr std::uint32_t processes = 4096;          ///< of one scenario; fits ProcessId
inline constexpr std::uint64_t messages = 1'000'000'000;  ///< of one workload; fits MessageId
inline constexpr std::uint32_t message_bytes = 64u << 20;
/// Least declared size of a message: what the live world writes in front of a payload (id, key, digest …).
inline constexpr std::uint32_t message_bytes_min = 40;
inline constexpr std::uint32_t concurrency = 256;   ///< messages one instance works on at the same time
inline constexpr std::uint32_t retry_topics = 16;   ///< of one input; port numbers fit a byte
inline constexpr std::uint32_t fetch_max = 10'000;  ///< messages one fetch may ask for
inline constexpr std::size_t arena_reserve_bytes = std::size_t{1} << 30;  ///< address space, not memory
inline constexpr Duration workload_start = Duration::seconds(1);  ///< consumers join their groups before
inline constexpr Duration supervisor_delay =
    Duration::seconds(1);  ///< from a process's own end to its new start
inline constexpr std::uint64_t sim_events_per_run = 2'000'000'000;  ///< a runaway simulation stops here

}  // namespace mqlab::limits
