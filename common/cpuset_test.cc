#include "common/cpuset.h"

#include <gtest/gtest.h>

namespace canopy {
namespace {

CpuSet Set(std::string_view list) {
  Result<CpuSet> set = CpuSet::Parse(list);
  EXPECT_TRUE(set.ok()) << list;
  return set.ok() ? *set : CpuSet();
}

TEST(CpuSet, ToStringReturnsTheShortestForm) {
  EXPECT_EQ(Set("").ToString(), "");
  EXPECT_EQ(Set("7").ToString(), "7");
  EXPECT_EQ(Set("0-3,8").ToString(), "0-3,8");
  EXPECT_EQ(Set("8,1,0,2-2").ToString(), "0-2,8");
  EXPECT_EQ(Set("60-70,128").ToString(), "60-70,128");
}

TEST(CpuSet, MalformedTextIsRejected) {
  for (const char* bad : {",", "1,,2", "a", "1-", "-1", "3-1", "1 ", "65536",
                          "0-99999999999", "0x3", "1-2-3"}) {
    EXPECT_EQ(CpuSet::Parse(bad).code(), kErrBadParam) << bad;
  }
}

TEST(CpuSet, OperatorsCombineSets) {
  const CpuSet a = Set("0-3,100");
  const CpuSet b = Set("2-5");
  EXPECT_EQ((a & b).ToString(), "2-3");
  EXPECT_EQ((a | b).ToString(), "0-5,100");
  EXPECT_EQ((a - b).ToString(), "0-1,100");
  EXPECT_EQ((b - a).ToString(), "4-5");
  EXPECT_EQ(a & Set("2"), Set("2"));  // equal, however they were made
  EXPECT_TRUE((a - a).empty());
}

TEST(CpuSet, FindsTheNumbersOfASet) {
  const CpuSet a = Set("5,64-65");
  EXPECT_EQ(a.Count(), 3u);
  EXPECT_EQ(a.First(), 5u);
  EXPECT_EQ(Set("64").First(), 64u);
  EXPECT_TRUE(a.Has(65));
  EXPECT_FALSE(a.Has(6));
  EXPECT_FALSE(a.Has(5000));
  EXPECT_TRUE(a.Intersects(Set("1-5")));
  EXPECT_FALSE(a.Intersects(Set("1-4")));
  EXPECT_TRUE(a.Contains(Set("5,64")));
  EXPECT_TRUE(a.Contains(CpuSet()));
  EXPECT_FALSE(a.Contains(Set("5,66")));
  EXPECT_FALSE(Set("5").Contains(a));
  EXPECT_EQ(a.ToVector(), (std::vector<uint32_t>{5, 64, 65}));
}

TEST(CpuSet, OfThisProcessIsNotEmpty) {
  EXPECT_FALSE(CpuSet::OfThisProcess().empty());
}

}  // namespace
}  // namespace canopy
