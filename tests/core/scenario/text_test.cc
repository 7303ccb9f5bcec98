#include "core/scenario/text.h"

#include <gtest/gtest.h>

namespace mqlab {
namespace {

TEST(Text, Nearest) {
  const std::vector<std::string> names = {"partitions", "replication", "linger.ms", "fetch.wait.max.ms",
                                          "max_deliver"};
  EXPECT_EQ(nearest("partition", names), "partitions");
  EXPECT_EQ(nearest("linger_ms", names), "linger.ms");
  EXPECT_EQ(nearest("lingre.ms", names), "linger.ms");
  EXPECT_EQ(nearest("fetch.max.wait.ms", names), "fetch.wait.max.ms");
  EXPECT_EQ(nearest("Max-Deliver", names), "max_deliver");
  EXPECT_EQ(nearest("zzz", names), "");
  EXPECT_EQ(nearest(std::string(100'000, 'x'), names), "");
  EXPECT_EQ(suggestion("zzz", {"a", "b"}), "valid: a, b");
}

TEST(Text, OneLine) {
  EXPECT_EQ(one_line("a\nb\tc\x7f"), "a?b?c?");
  EXPECT_EQ(one_line("äöü", 3), "ä…");
  EXPECT_EQ(one_line("a\xff\xc3 z\xe2\x82"), "a?? z??");
  EXPECT_EQ(one_line(std::string(1000, 'x'), 10), "xxxxxxxxxx…");
}

TEST(Text, Split) {
  EXPECT_EQ(split("a, b ,c", ','), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(split("", ',').empty());
  EXPECT_EQ(split("a..b", '.'), (std::vector<std::string>{"a", "", "b"}));
}

}  // namespace
}  // namespace mqlab
