#include "core/scenario/subject_map.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "core/scenario/subject.h"

namespace mqlab {
namespace {

TEST(SubjectMap, AFilterTakesAllKeysOrSome) {
  EXPECT_TRUE(match_keys("s.*", "s.>").all);
  EXPECT_TRUE(match_keys("s.*", "s.*").all);
  EXPECT_TRUE(match_keys("s.*", ">").all);
  EXPECT_EQ(match_keys("s.*", "s.k7").keys, std::vector<std::uint32_t>{7});
  EXPECT_TRUE(match_keys("s.*", "s.m").has(0));
  EXPECT_FALSE(match_keys("s.*", "s.m").has(1));
  EXPECT_EQ(match_keys("s.*.x.*", "s.k7.x.>").keys, std::vector<std::uint32_t>{7});
  for (const char* none : {"t.*", "s", "s.*.x", "s.k07", "s.other", "s.k"})
    EXPECT_FALSE(match_keys("s.*", none).all || !match_keys("s.*", none).keys.empty()) << none;
  EXPECT_TRUE(match_keys("s.*.*", "s.k1.k2").keys.empty()) << "both are the message's one key";
}

TEST(SubjectMap, ATransformMakesForms) {
  const SubjectTransform t("s.*.*", "u.{{wildcard(2)}}.$1");
  EXPECT_EQ(t.form("s.eu.*", 0), "u.*.eu");
  EXPECT_EQ(SubjectTransform("s.>", "u.>").form("s.a.*", 0), "u.a.*");
  EXPECT_EQ(SubjectTransform("s.*", "u").form("s.*", 0), "u");
}

// As nats-server 2.15.1 stored t.k1 … t.k11 by t.* → u.{{partition(3,1)}}.{{wildcard(1)}}.
TEST(SubjectMap, PartitionsAreTheServers) {
  const SubjectTransform t("t.*", "u.{{partition(3,1)}}.{{wildcard(1)}}");
  EXPECT_EQ(t.partitions(), 3u);
  const std::uint32_t expected[] = {0, 0, 2, 0, 2, 2, 1, 0, 2, 1, 2};
  for (std::uint32_t key = 1; key <= 11; ++key)
    EXPECT_EQ(t.partition_of("t.*", key), expected[key - 1]) << key;
  EXPECT_EQ(subject_of(t.form("t.*", 2), 3), "u.2.k3");
}

TEST(SubjectMap, BadTransformsAreTold) {
  for (const auto& [source, destination] : {std::pair{"s.*", "u.{{nope(1)}}"},
                                            {"s.*", "u.{{wildcard(2)}}"},
                                            {"s.*", "u.$0"},
                                            {"s.>", "u.x"},
                                            {"s.*", "u.>"},
                                            {"s..x", "u"},
                                            {"s.*", ""},
                                            {"s.*", "u.{{partition(16,1)}}"},
                                            {"s.*", "u.{{partition(3)}}"},
                                            {"s.*", "u.*"}})
    EXPECT_THROW(SubjectTransform(source, destination), std::invalid_argument)
        << source << " " << destination;
}

}  // namespace
}  // namespace mqlab
