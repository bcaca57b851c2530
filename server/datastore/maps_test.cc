#include "server/datastore/maps.h"

#include <gtest/gtest.h>

namespace canopy::datastore {
namespace {

TEST(MapsTest, RankListAndJoinSeparateTheirElements) {
  EXPECT_EQ(RankList({0, 2, 5}), "0,2,5");
  EXPECT_EQ(RankList({}), "");
  EXPECT_EQ(Join({"a", "b"}, ','), "a,b");
}

TEST(MapsTest, ProcMapsListTheRanksOfEachNode) {
  EXPECT_EQ(ProcMapRaw({{0, 1}, {2, 3}, {4}}), "0,1;2,3;4");
  EXPECT_EQ(ProcMapRegex({{0, 1, 2, 6}, {3, 5}, {4}}), "pmix[0-2,6;3,5;4]");
}

TEST(MapsTest, ProcessMappingJoinsEqualNodesAndShortensRepetitions) {
  EXPECT_EQ(ProcessMapping({0, 0, 1, 1}), "(vector,(0,2,2))");
  EXPECT_EQ(ProcessMapping({0, 0, 1}), "(vector,(0,1,2),(1,1,1))");
  EXPECT_EQ(ProcessMapping({0, 1, 0, 1}), "(vector,(0,2,1))");
  EXPECT_EQ(ProcessMapping({0, 1, 0}), "(vector,(0,2,1))");
  EXPECT_EQ(ProcessMapping({1, 0, 0}), "(vector,(1,1,1),(0,1,2))");
  EXPECT_EQ(ProcessMapping({0, 0, 1, 0}), "(vector,(0,1,2),(1,1,1),(0,1,1))");
}

}  // namespace
}  // namespace canopy::datastore
