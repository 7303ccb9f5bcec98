#include "core/seam/partitioner.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

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

TEST(Partitioner, a_key_always_goes_to_one_partition_of_those_there_are) {
  for (const Flavour flavour : {Flavour::java, Flavour::librdkafka}) {
    for (std::uint32_t key = 1; key < 200; ++key) {
      const std::uint32_t partition = partition_of_key(flavour, key, 6);
      EXPECT_LT(partition, 6u);
      EXPECT_EQ(partition, partition_of_key(flavour, key, 6));
    }
  }
}

TEST(Partitioner, the_java_rule_drops_the_sign_before_the_modulo) {
  ASSERT_LT(static_cast<std::int32_t>(murmur2(key_text(1))), static_cast<std::int32_t>(0x7fffffff));
  EXPECT_EQ(partition_of_key(Flavour::java, 1, 7), (murmur2("k1") & 0x7fffffffu) % 7);
}

TEST(Partitioner, without_a_key_the_draw_decides_evenly) {
  std::vector<int> hits(4);
  for (std::uint64_t i = 0; i < 4000; ++i) ++hits[partition_without_key(i << 52, 4)];
  for (const int n : hits) EXPECT_NEAR(n, 1000, 100);
}

}  // namespace
}  // namespace mqlab
