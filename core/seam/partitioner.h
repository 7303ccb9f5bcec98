// Which partition a record goes to. The lab computes it for both worlds, by the rules of the client flavour.
#pragma once
#include <cstdint>
#include <string>

#include "core/scenario/scenario.h"
#include "core/scenario/subject.h"

namespace mqlab {

/// Kafka's variant of MurmurHash2, seed 0x9747b28c (org.apache.kafka.common.utils.Utils.murmur2).
std::uint32_t murmur2(std::string_view bytes);
/// CRC-32 as zlib computes it, which librdkafka's "consistent" partitioners use.
std::uint32_t crc32(std::string_view bytes);

/// The partition of a keyed record.
/// java: murmur2 without its sign bit, modulo count (BuiltInPartitioner.partitionForKey).
/// librdkafka: crc32 modulo count ("consistent_random", its default partitioner).
std::uint32_t partition_of_key(Flavour flavour, std::uint32_t key, std::uint32_t partitions);

/// The partition of a record without a key, from uniform bits. Both clients stick to one partition for a
/// while (java until about batch.size bytes, librdkafka for sticky.partitioning.linger.ms): give the same
/// bits for the records that stick together.
std::uint32_t partition_without_key(std::uint64_t bits, std::uint32_t partitions);

}  // namespace mqlab
