#include "server/datastore/maps.h"

#include <gtest/gtest.h>

namespace canopy::datastore {
namespace {

TEST(MapsTest, Lists) {
  EXPECT_EQ(RankList({0, 2, 5}), "0,2,5");
  EXPECT_EQ(RankList({}), "");
  EXPECT_EQ(Join({"a", "b"}, ','), "a,b");
}

TEST(MapsTest, NodeMap) {
  EXPECT_EQ(NodeMapRegex({"node001", "node002", "node003", "gpu01"}),
            "pmix[node[3:1-3],gpu[2:1]]");
  EXPECT_EQ(NodeMapRegex({"node001", "node003", "login"}),
            "pmix[node[3:1,3],login]");
  EXPECT_EQ(NodeMapRegex({"n9", "n10"}), "pmix[n[1:9],n[2:10]]");
  EXPECT_EQ(NodeMapRegex({"127"}), "pmix[127]");
  const std::string long_number = "n1234567890123456789";
  EXPECT_EQ(NodeMapRegex({long_number}), "pmix[" + long_number + "]");
}

TEST(MapsTest, ProcMap) {
  EXPECT_EQ(ProcMapRaw({{0, 1}, {2, 3}, {4}}), "0,1;2,3;4");
  EXPECT_EQ(ProcMapRegex({{0, 1, 2, 6}, {3, 5}, {4}}), "pmix[0-2,6;3,5;4]");
}

TEST(MapsTest, ProcessMapping) {
  EXPECT_EQ(ProcessMapping({0, 0, 1, 1}), "(vector,(0,2,2))");
  EXPECT_EQ(ProcessMapping({0, 0, 1}), "(vector,(0,1,2),(1,1,1))");
  EXPECT_EQ(ProcessMapping({0, 1, 0, 1}), "(vector,(0,2,1))");
  EXPECT_EQ(ProcessMapping({0, 1, 0}), "(vector,(0,2,1))");
  EXPECT_EQ(ProcessMapping({1, 0, 0}), "(vector,(1,1,1),(0,1,2))");
  EXPECT_EQ(ProcessMapping({0, 0, 1, 0}), "(vector,(0,1,2),(1,1,1),(0,1,1))");
}

}  // namespace
}  // namespace canopy::datastore
