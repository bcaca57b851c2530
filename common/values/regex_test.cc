#include "common/values/regex.h"

#include <gtest/gtest.h>

namespace canopy {
namespace {

TEST(RegexTest, NodeListsAreCompressedLikeOpenPmix) {
  EXPECT_EQ(CompressNodeList("node001,node002,node003,gpu01"),
            "pmix[node[3:1-3],gpu[2:1]]");
  EXPECT_EQ(CompressNodeList("n1,n2,n4,n5,n6"), "pmix[n[1:1-2,4-6]]");
  EXPECT_EQ(CompressNodeList("a,b,c"), "pmix[a,b,c]");
  EXPECT_EQ(CompressNodeList("n9,n10,n11"), "pmix[n[1:9],n[2:10-11]]");
  EXPECT_EQ(CompressNodeList("a1b2,a1b3"), "pmix[a[1:1]b2,a[1:1]b3]");
  EXPECT_EQ(CompressNodeList("10.0.0.1,10.0.0.2"), "pmix[10.0.0.1,10.0.0.2]");
  EXPECT_EQ(CompressNodeList(""), "raw:");
  EXPECT_EQ(CompressRankMap("0,1;2,3"), "raw:0,1;2,3");
}

TEST(RegexTest, ExpandsInOrder) {
  for (const char* names :
       {"node001,node002,node003,gpu01", "n3,n2,n1", "a1,b1,a2", "n1,n1",
        "x001y,x002y", "host", "1,2", "node01,node1", "n9,n10", "a[1],b",
        "n123456789012345678901,n2", "login-1.example.org,c0-0c0s1n2"}) {
    const auto expanded = ExpandNodeList(CompressNodeList(names));
    ASSERT_TRUE(expanded.has_value()) << names;
    EXPECT_EQ(JoinNames(*expanded), names);
  }
}

TEST(RegexTest, ReadsPlainLists) {
  const auto names = ExpandNodeList("a,b");
  ASSERT_TRUE(names.has_value());
  EXPECT_EQ(names->size(), 2u);
}

TEST(RegexTest, RejectsMalformedText) {
  for (const char* regex :
       {"pmix[n[3:1-]]", "pmix[n[3:1", "pmix[n[x:1]]", "pmix[n[3:5-1]]",
        "pmix[n[3]]", "pmix[n]]", "pmix[n[3:1,,2]]", "pmix[n[99:1]]",
        "pmix[n[3:0-99999999999]]", "pmix[n[3:18446744073709551615999]]"}) {
    EXPECT_FALSE(ExpandNodeList(regex).has_value()) << regex;
  }
}

TEST(RegexTest, TheTotalOfAllRangesIsLimited) {
  std::string regex = "pmix[n[1:0-99999";
  for (int i = 0; i < 20; ++i) regex += ",0-99999";
  EXPECT_FALSE(ExpandNodeList(regex + "]]").has_value());
}

}  // namespace
}  // namespace canopy
