#include "core/scenario/subject.h"

#include <gtest/gtest.h>

namespace mqlab {
namespace {

TEST(Subject, Matches) {
  EXPECT_TRUE(subject_matches("a.b.c", "a.b.c"));
  EXPECT_TRUE(subject_matches("a.b.c", "a.*.c"));
  EXPECT_TRUE(subject_matches("a.b.c", "a.>"));
  EXPECT_TRUE(subject_matches("a.b.c", ">"));
  EXPECT_FALSE(subject_matches("a", "a.>")) << "one token or more";
  EXPECT_FALSE(subject_matches("a.b.c", "a.*"));
  EXPECT_FALSE(subject_matches("a.b", "a.b.*"));
  EXPECT_FALSE(subject_matches("a.b", "a.c"));
}

TEST(Subject, Valid) {
  for (const char* good : {"a", "a.b", "a.*", ">", "a.*.>", "k-1_x"})
    EXPECT_TRUE(valid_subject(good)) << good;
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "a.>.b", "a b"})
    EXPECT_FALSE(valid_subject(bad)) << bad;
}

TEST(Subject, OfAKey) {
  const std::string form = form_of({"orders.*.>", "other"});
  EXPECT_EQ(form, "orders.*.*");
  EXPECT_EQ(subject_of(form, 17), "orders.k17.k17");
  EXPECT_EQ(subject_of(form, 0), "orders.m.m");
  EXPECT_EQ(subject_of("plain.text", 5), "plain.text");
  for (const std::uint32_t key : {0u, 9u, 10u, 12345u}) {
    EXPECT_EQ(subject_bytes(form, key), subject_of(form, key).size());
    EXPECT_EQ(subject_bytes("a.b", key), 3u);
  }
  EXPECT_TRUE(has_key(form));
  EXPECT_FALSE(has_key("orders.all"));
}

TEST(Subject, Overlap) {
  EXPECT_TRUE(subjects_overlap("a.*", "a.b"));
  EXPECT_TRUE(subjects_overlap("a.>", "a.b.c"));
  EXPECT_FALSE(subjects_overlap("a.*", "a.b.c"));
  EXPECT_FALSE(subjects_overlap("a.b", "b.>"));
}

}  // namespace
}  // namespace mqlab
