#include "core/scenario/partitioner.h"

#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/scenario/subject.h"

namespace mqlab {
namespace {

struct Vector {
  std::string_view bytes;
  std::int32_t hash;
};

// Kafka's own test vectors (clients: UtilsTest.testMurmur2).
TEST(Partitioner, murmur2_gives_what_the_java_client_computes) {
  const std::vector<Vector> known = {
      {"21", -973932308},
      {"foobar", -790332482},
      {"a-little-bit-long-string", -985981536},
      {"a-little-bit-longer-string", -1486304829},
      {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971},
      {"abc", 479470107},
  };
  for (const auto& [bytes, hash] : known) EXPECT_EQ(static_cast<std::int32_t>(murmur2(bytes)), hash) << bytes;
}

// The check value of CRC-32/ISO-HDLC, and zlib's of a longer text.
TEST(Partitioner, crc32_gives_what_librdkafka_computes) {
  EXPECT_EQ(crc32("123456789"), 0xcbf43926u);
  EXPECT_EQ(crc32(""), 0u);
  EXPECT_EQ(crc32("The quick brown fox jumps over the lazy dog"), 0x414fa339u);
}

// The library itself is asked: its partitioners take no topic.
TEST(Partitioner, a_key_goes_where_librdkafka_puts_it) {
  const std::vector<std::pair<std::string_view, decltype(&rd_kafka_msg_partitioner_random)>> theirs = {
      {"consistent", rd_kafka_msg_partitioner_consistent},
      {"consistent_random", rd_kafka_msg_partitioner_consistent_random},
      {"murmur2", rd_kafka_msg_partitioner_murmur2},
      {"murmur2_random", rd_kafka_msg_partitioner_murmur2_random},
      {"fnv1a", rd_kafka_msg_partitioner_fnv1a},
      {"fnv1a_random", rd_kafka_msg_partitioner_fnv1a_random},
  };
  for (const auto& [name, asked] : theirs) {
    const Partitioner ours = partitioner_named(name);
    for (std::uint32_t key = hashes(ours, false) ? 0 : 1; key < 2000; ++key) {
      const std::string text = key == 0 ? "" : key_text(key);
      for (const int partitions : {1, 6, 7, 64}) {
        const void* given = key == 0 ? nullptr : text.data();
        ASSERT_EQ(
            partition_of_key(ours, key, static_cast<std::uint32_t>(partitions)),
            static_cast<std::uint32_t>(asked(nullptr, given, text.size(), partitions, nullptr, nullptr)))
            << name << " " << text << " of " << partitions;
      }
    }
  }
}

TEST(Partitioner, which_ones_hash_what) {
  const auto pair = [](std::string_view name) {
    return std::pair(hashes(partitioner_named(name), true), hashes(partitioner_named(name), false));
  };
  EXPECT_EQ(pair("random"), std::pair(false, false));
  for (const char* name : {"consistent", "murmur2", "fnv1a"})
    EXPECT_EQ(pair(name), std::pair(true, true)) << name;
  for (const char* name : {"consistent_random", "murmur2_random", "fnv1a_random"})
    EXPECT_EQ(pair(name), std::pair(true, false)) << name;
  EXPECT_FALSE(hashes(Partitioner::any_key, true));
  EXPECT_THROW(partitioner_named("sticky"), std::out_of_range);
}

TEST(Partitioner, without_a_key_the_draw_decides_evenly) {
  std::vector<int> hits(4);
  for (std::uint64_t i = 0; i < 4000; ++i) ++hits[partition_from(i << 52, 4)];
  for (const int n : hits) EXPECT_NEAR(n, 1000, 100);
}

}  // namespace
}  // namespace mqlab
