#include "live/wire.h"

#include <gtest/gtest.h>

#include <array>

namespace mqlab::live {
namespace {

Message sample(std::uint32_t size, Bytes payload = {}) {
  Message m;
  m.id = 7;
  m.cause = 3;
  m.key = 11;
  m.size = size;
  m.digest = 0x0123456789abcdef;
  m.payload = payload;
  return m;
}

TEST(Wire, carries_what_the_simulated_world_keeps_beside_a_message) {
  const std::array<std::byte, 5> bytes = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                                          std::byte{5}};
  std::vector<std::byte> value;
  encode(sample(200, {bytes.data(), 5}), {4, 2, 9}, value);
  EXPECT_EQ(value.size(), 200u);
  const auto wire = decode(value);
  ASSERT_TRUE(wire.has_value());
  EXPECT_EQ(wire->message.id, 7u);
  EXPECT_EQ(wire->message.cause, 3u);
  EXPECT_EQ(wire->message.key, 11u);
  EXPECT_EQ(wire->message.size, 200u);
  EXPECT_EQ(wire->message.digest, 0x0123456789abcdefu);
  EXPECT_EQ(wire->writer, (Writer{4, 2, 9}));
  ASSERT_EQ(wire->message.payload.size, 5u);
  EXPECT_EQ(std::to_integer<int>(wire->message.payload.data[4]), 5);
}

TEST(Wire, the_header_and_the_payload_are_never_cut_for_a_small_declared_size) {
  const std::array<std::byte, 3> bytes{};
  std::vector<std::byte> value;
  encode(sample(10, {bytes.data(), 3}), {}, value);
  EXPECT_EQ(value.size(), wire_header_bytes + 3);
  EXPECT_TRUE(decode(value).has_value());
}

TEST(Wire, a_buffer_used_again_holds_nothing_of_the_message_before) {
  std::vector<std::byte> value, fresh;
  encode(sample(5000), {}, value);
  encode(sample(64), {}, value);
  encode(sample(64), {}, fresh);
  EXPECT_EQ(value, fresh);
}

TEST(Wire, what_is_cut_short_or_foreign_is_no_message) {
  std::vector<std::byte> value;
  encode(sample(100), {}, value);
  for (std::size_t n = 0; n < value.size(); ++n)
    EXPECT_FALSE(decode(std::span(value).first(n)).has_value()) << n;
  value[0] ^= std::byte{1};
  EXPECT_FALSE(decode(value).has_value());
}

}  // namespace
}  // namespace mqlab::live
