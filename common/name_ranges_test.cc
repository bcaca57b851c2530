#include "common/name_ranges.h"

#include <gtest/gtest.h>

namespace canopy {
namespace {

using Names = std::vector<std::string>;

Names Expanded(std::string_view part) {
  Names names;
  EXPECT_TRUE(ExpandNames(part, &names)) << part;
  return names;
}

bool IsRefused(std::string_view part) {
  Names names;
  return !ExpandNames(part, &names);
}

TEST(NameRangesTest, PartsEndAtCommasOutsideBrackets) {
  EXPECT_EQ(SplitOutsideBrackets("a,n[1,3-4]x,b"),
            (std::vector<std::string_view>{"a", "n[1,3-4]x", "b"}));
  EXPECT_EQ(SplitOutsideBrackets(""), std::vector<std::string_view>{""});
}

TEST(NameRangesTest, RangesKeepLeadingZeros) {
  EXPECT_EQ(Expanded("n[008-010,200]"),
            (Names{"n008", "n009", "n010", "n200"}));
  EXPECT_EQ(Expanded("login"), Names{"login"});
}

TEST(NameRangesTest, SeveralRangesInANameExpandToAllCombinations) {
  EXPECT_EQ(Expanded("r[1-2]n[5,7]-ib"),
            (Names{"r1n5-ib", "r1n7-ib", "r2n5-ib", "r2n7-ib"}));
}

TEST(NameRangesTest, MalformedRangesAreRejected) {
  for (const char* text : {"", "n[", "n]", "n[1", "n[]", "n[a-b]", "n[3-1]",
                           "n[1-2", "n[1,]", "n[[1-2]]", "n[1--2]"}) {
    EXPECT_TRUE(IsRefused(text)) << text;
  }
}

TEST(NameRangesTest, ListsLongerThanTheMaximumAreRefused) {
  EXPECT_EQ(Expanded("n[1-65536]").size(), kMaxListedNames);
  EXPECT_TRUE(IsRefused("n[1-65537]"));
  EXPECT_TRUE(IsRefused("n[0-4294967295]"));
  EXPECT_TRUE(IsRefused("n[1-300][1-300]"));
  Names names(kMaxListedNames);
  EXPECT_FALSE(ExpandNames("one", &names));
}

}  // namespace
}  // namespace canopy
