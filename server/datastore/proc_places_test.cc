#include "server/datastore/proc_places.h"

#include <gtest/gtest.h>

#include <memory>

namespace canopy::datastore {
namespace {

// Nodes of agents 0 (this one) and 1 with packages of the CPUs 0-3 and 4-7;
// nothing is known about the node of agent 2.
class ProcPlacesTest : public testing::Test {
 protected:
  ProcPlacesTest() {
    auto packages = std::make_shared<std::vector<CpuSet>>(2);
    packages->at(0).AddRange(0, 3);
    packages->at(1).AddRange(4, 7);
    facts_.nodes = {{"a", 0, "", packages}, {"b", 0, "", packages}};
    facts_.locality = [](const std::string& cpuset) { return "at " + cpuset; };
    job_.nodes = {{"a", {}, 0}, {"b", {}, 1}, {"c", {}, 2}};
  }

  shm::ProcContents Fill(uint32_t node, const std::string& cpuset) {
    shm::ProcContents proc;
    proc.node = node;
    places_.Fill(cpuset, &proc);
    return proc;
  }

  JobSpec job_;
  NodeFacts facts_;
  ProcPlaces places_{job_, facts_};
};

TEST_F(ProcPlacesTest, PackageRanksCountOnEachPackageOfEachNode) {
  EXPECT_EQ(Fill(0, "0").package_rank, 0u);
  EXPECT_EQ(Fill(0, "1-2").package_rank, 1u);
  EXPECT_EQ(Fill(0, "5").package_rank, 0u);
  EXPECT_EQ(Fill(1, "0").package_rank, 0u);
  EXPECT_EQ(Fill(1, "0").package_rank, 1u);
}

TEST_F(ProcPlacesTest, ARankOfSeveralPackagesHasNoPackageRank) {
  EXPECT_EQ(Fill(0, "").package_rank, shm::kNoNumber);
  EXPECT_EQ(Fill(0, "3-4").package_rank, shm::kNoNumber);
  EXPECT_EQ(Fill(0, "9").package_rank, shm::kNoNumber);
  EXPECT_EQ(Fill(2, "0").package_rank, shm::kNoNumber);
}

TEST_F(ProcPlacesTest, OnlyRanksOfThisNodeHaveALocality) {
  EXPECT_FALSE(Fill(0, "1").locality.empty());
  EXPECT_FALSE(Fill(0, "").locality.empty());
  EXPECT_TRUE(Fill(1, "1").locality.empty());
  EXPECT_FALSE(Fill(1, "1").cpuset.empty());
  EXPECT_TRUE(Fill(1, "").cpuset_bitmap.empty());
}

}  // namespace
}  // namespace canopy::datastore
