#include "core/scenario/units.h"

#include <gtest/gtest.h>

namespace mqlab {
namespace {

TEST(Units, DurationsAreExact) {
  EXPECT_EQ(parse_duration("5s"), Duration::seconds(5));
  EXPECT_EQ(parse_duration("200us"), Duration::micros(200));
  EXPECT_EQ(parse_duration("200µs"), Duration::micros(200));
  EXPECT_EQ(parse_duration("1m30s"), Duration::seconds(90));
  EXPECT_EQ(parse_duration("1.5ms"), Duration::micros(1500));
  EXPECT_EQ(parse_duration("2h"), Duration::seconds(7200));
  EXPECT_EQ(parse_duration("0.1ns"), std::nullopt);
  for (const char* bad : {"", "5", "s", "-5s", "5 s", "5s ", "1..5s", ".5s", "5.s", "nan", "inf", "1e3s",
                          "5x", "300y", "99999999999d"}) {
    EXPECT_EQ(parse_duration(bad), std::nullopt) << bad;
  }
}

TEST(Units, DurationsRoundTrip) {
  for (const std::int64_t ns :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{999}, std::int64_t{1'500'000},
        std::int64_t{90'000'000'001}, std::int64_t{86'400'000'000'000}, Duration::forever().ns - 1}) {
    EXPECT_EQ(parse_duration(format_duration({ns})), Duration{ns}) << format_duration({ns});
  }
  EXPECT_EQ(format_duration(Duration::seconds(90)), "1m30s");
  EXPECT_EQ(format_duration({-1}), "-1ns");
}

TEST(Units, Bytes) {
  EXPECT_EQ(parse_bytes("1KiB"), 1024u);
  EXPECT_EQ(parse_bytes("1KB"), 1000u);
  EXPECT_EQ(parse_bytes("1.5KiB"), 1536u);
  EXPECT_EQ(parse_bytes("512"), 512u);
  EXPECT_EQ(parse_bytes("2 MB"), 2'000'000u);
  for (const char* bad : {"", "KB", "-1", "1.3B", "1kb", "1e3", "nan", "99999999999TiB"})
    EXPECT_EQ(parse_bytes(bad), std::nullopt) << bad;
  for (const std::uint64_t n : {0ull, 1ull, 1000ull, 1024ull, 1536ull, 1ull << 40})
    EXPECT_EQ(parse_bytes(format_bytes(n)), n);
}

TEST(Units, Rates) {
  EXPECT_EQ(parse_rate("2000/s"), 2000.0);
  EXPECT_EQ(parse_rate("90/m"), 1.5);
  EXPECT_EQ(parse_rate("2000"), 2000.0);
  for (const char* bad : {"", "/s", "5/", "5/x", "nan/s", "inf", "5/s/s", "1e999"})
    EXPECT_EQ(parse_rate(bad), std::nullopt) << bad;
  EXPECT_EQ(parse_byte_rate("125MB/s"), 125'000'000u);
  EXPECT_EQ(parse_byte_rate("125MB"), std::nullopt);
}

}  // namespace
}  // namespace mqlab
