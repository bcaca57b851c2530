#include "server/shim/cpuset.h"

#include <gtest/gtest.h>

namespace canopy::process {
namespace {

TEST(ParseCpuList, AcceptsNumbersAndRanges) {
  EXPECT_EQ(*ParseCpuList("0"), CpuMask{1});
  EXPECT_EQ(*ParseCpuList("0-3,8"), CpuMask{0x10f});
  EXPECT_EQ(*ParseCpuList("5,1-2,2"), CpuMask{0x26});
  EXPECT_EQ(*ParseCpuList("63-64"), (CpuMask{1ul << 63, 1}));
  EXPECT_EQ(ParseCpuList("65535")->size(), 1024u);
}

TEST(ParseCpuList, RejectsTextsThatAreNotCpuLists) {
  for (const char* list : {"", ",", "1,", "a", "-1", "1-", "3-1", "1 2", "0x1",
                           "65536", "99999999999999999999", "1-2-3"}) {
    EXPECT_FALSE(ParseCpuList(list).has_value()) << list;
  }
}

}  // namespace
}  // namespace canopy::process
