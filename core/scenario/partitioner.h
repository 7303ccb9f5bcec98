// Which partition a record goes to, by the rules of the client libraries. Live, librdkafka decides itself.
#pragma once
#include <cstdint>
#include <string_view>

namespace mqlab {

/// Kafka's variant of MurmurHash2, seed 0x9747b28c (org.apache.kafka.common.utils.Utils.murmur2).
std::uint32_t murmur2(std::string_view bytes);
/// CRC-32 as zlib computes it, which librdkafka's "consistent" partitioners use.
std::uint32_t crc32(std::string_view bytes);

/// FNV-1a of 32 bits, then its absolute value as of a signed number (librdkafka rdfnv1a.c, as Sarama does).
std::uint32_t fnv1a(std::string_view bytes);

/// librdkafka's `partitioner` by name (rd_kafka_msg_partitioner_*). The Java client's default is
/// murmur2_random (BuiltInPartitioner.partitionForKey), and any_key with partitioner.ignore.keys = true
/// (KIP-794).
enum class Partitioner : std::uint8_t {
  random,
  consistent,
  consistent_random,  ///< librdkafka's default
  murmur2,
  murmur2_random,
  fnv1a,
  fnv1a_random,
  any_key,
};
/// Throws std::out_of_range for what is no name of librdkafka's.
Partitioner partitioner_named(std::string_view name);

/// Whether the partition comes from a hash of the key; a key that is not there hashes as an empty one.
/// Otherwise it is drawn: partition_from().
bool hashes(Partitioner partitioner, bool keyed);
/// hashes(partitioner, key != 0); key 0 = none.
std::uint32_t partition_of_key(Partitioner partitioner, std::uint32_t key, std::uint32_t partitions);

/// Drawn, from uniform bits. Both clients stick to one partition for records without a key (java until about
/// batch.size bytes, librdkafka for sticky.partitioning.linger.ms): give the same bits for those that stick
/// together.
std::uint32_t partition_from(std::uint64_t bits, std::uint32_t partitions);

}  // namespace mqlab
