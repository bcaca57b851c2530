#include "server/core/collective/collective_plan.h"

#include <gtest/gtest.h>

#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

using Procs = std::vector<ProcId>;
using Nodes = std::vector<NodeId>;

TEST(CollectivePlan, CanonicaliseSortsAndCompletesParticipants) {
  Procs procs = {{"b", 1}, {"", 3}, {"b", 1}, {"a", kRankWildcard}};
  ASSERT_TRUE(Canonicalise("a", &procs).ok());
  EXPECT_EQ(procs, (Procs{{"a", 3}, {"a", kRankWildcard}, {"b", 1}}));
  Procs none;
  ASSERT_TRUE(Canonicalise("a", &none).ok());
  EXPECT_EQ(none, (Procs{{"a", kRankWildcard}}));
  for (const Rank rank : {kRankUndef, kRankInvalid, kRankLocalPeers}) {
    Procs bad = {{"a", rank}};
    EXPECT_EQ(Canonicalise("a", &bad).code(), kErrBadParam);
  }
}

TEST(CollectivePlan, FindMembersReturnsLocalMembersAndNodes) {
  JobTable jobs(5);
  jobs.Add(JobOn("a", {5, 6, 5}));
  jobs.Add(JobOn("b", {7, 5}));
  const Procs procs = {{"a", kRankWildcard}, {"b", 1}};
  EXPECT_TRUE(UnknownNspaces(procs, jobs, 9).empty());
  const Result<CollectiveMembers> members = FindMembers(procs, jobs, 5);
  ASSERT_TRUE(members.ok());
  EXPECT_EQ(members->nodes, (Nodes{5, 6}));
  EXPECT_EQ(members->local, (Procs{{"a", 0}, {"a", 2}, {"b", 1}}));
  EXPECT_EQ(members->LocalIndex({"a", 2}), 1);
  EXPECT_EQ(members->LocalIndex({"a", 1}), -1);
  EXPECT_TRUE(members->HasNode(6));
  EXPECT_FALSE(members->HasNode(7));
}

TEST(CollectivePlan, AProcessNamedTwiceIsAMemberOnce) {
  JobTable jobs(5);
  jobs.Add(JobOn("a", {5, 6}));
  const Result<CollectiveMembers> members =
      FindMembers({{"a", 0}, {"a", kRankWildcard}}, jobs, 5);
  ASSERT_TRUE(members.ok());
  EXPECT_EQ(members->local, (Procs{{"a", 0}}));
}

TEST(CollectivePlan, ReportsUnknownJobsAndRejectsUnknownRanks) {
  JobTable jobs(5);
  jobs.Add(JobOn("a", {5}));
  const std::vector<ProcId> some = {
      {"a", 0}, {"x", 0}, {"x", 1}, {"y", 0}, {"z", 0}};
  EXPECT_EQ(UnknownNspaces(some, jobs, 2),
            (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(FindMembers({{"a", 1}}, jobs, 5).code(), kErrBadParam);
}

TEST(CollectivePlan, MembersWhereReturnsMembersInAState) {
  JobTable jobs(5);
  jobs.Add(JobOn("a", {5, 6, 5}));
  EXPECT_TRUE(NobodyIsGone({{"a", 0}}, jobs));
  jobs.MarkEnded("a", 1);
  EXPECT_FALSE(NobodyIsGone({{"a", 0}}, jobs));
  const auto gone = [](NodeId, const RankState& state) { return state.gone(); };
  EXPECT_EQ(MembersWhere({{"a", kRankWildcard}}, jobs, gone),
            (Procs{{"a", 1}}));
  EXPECT_TRUE(MembersWhere({{"a", 0}, {"a", 2}}, jobs, gone).empty());
}

TEST(CollectivePlan, FindPlaceReturnsParentAndChildrenInTheTree) {
  const Tree tree(15, 2);
  CollectiveMembers members;
  members.nodes = {7, 10};
  const CollectiveTree top = FindPlace(members, tree, 1);
  EXPECT_TRUE(top.member);
  EXPECT_TRUE(top.top);
  EXPECT_EQ(top.parent, kNoNode);
  EXPECT_EQ(top.children, (Nodes{3, 4}));
  EXPECT_EQ(top.below, (Nodes{7, 10}));
  const CollectiveTree between = FindPlace(members, tree, 3);
  EXPECT_TRUE(between.member);
  EXPECT_FALSE(between.top);
  EXPECT_EQ(between.parent, 1u);
  EXPECT_EQ(between.below, (Nodes{7}));
  const CollectiveTree leaf = FindPlace(members, tree, 10);
  EXPECT_EQ(leaf.parent, 4u);
  EXPECT_EQ(leaf.below, (Nodes{10}));
  EXPECT_TRUE(leaf.children.empty());
  EXPECT_FALSE(FindPlace(members, tree, 0).member);
  EXPECT_FALSE(FindPlace(members, tree, 8).member);
}

TEST(CollectivePlan, TheTopIsTheCommonAncestorOfLivingNodes) {
  Tree tree(15, 2);
  CollectiveMembers members;
  members.nodes = {7, 8, 10};
  tree.SetAlive(10, false);
  EXPECT_TRUE(FindPlace(members, tree, 3).top);
  EXPECT_FALSE(FindPlace(members, tree, 1).member);
  tree.SetAlive(3, false);
  EXPECT_TRUE(FindPlace(members, tree, 1).top);
  tree.SetAlive(7, false);
  tree.SetAlive(8, false);
  EXPECT_FALSE(FindPlace(members, tree, 1).member);
}

TEST(CollectivePlan, ProcessesThatTheirJobDoesNotHaveAreDetected) {
  JobTable jobs(5);
  jobs.Add(JobOn("a", {5, 5}));
  EXPECT_FALSE(NamesNobody({{"", 1}, {"a", kRankWildcard}}, "a", jobs));
  EXPECT_FALSE(NamesNobody({{"unknown", 9}, {"a", kRankUndef}}, "a", jobs));
  EXPECT_TRUE(NamesNobody({{"unknown", 9}, {"", 2}}, "a", jobs));
  EXPECT_TRUE(NamesNobody({{"a", 0}, {"a", 2}}, "b", jobs));
}

TEST(CollectivePlan, ListsLongerThanTheirJobsAreRejected) {
  JobTable jobs(5);
  jobs.Add(JobOn("a", {5, 5}));
  const auto check = [&](size_t count, const std::string& nspace) {
    return CheckCounts(std::vector<ProcId>(count, {nspace, 0}), "a", jobs);
  };
  EXPECT_EQ(check(1000, "a"), kSuccess);
  EXPECT_EQ(check(5000, "a"), kErrBadParam);
  EXPECT_EQ(check(5000, ""), kErrBadParam);
  EXPECT_EQ(check(kMaxUnknownNames, "unknown"), kSuccess);
  EXPECT_EQ(check(kMaxUnknownNames + 1, "unknown"), kErrOutOfResource);
  std::vector<ProcId> jobs_named;
  for (size_t i = 0; i <= kMaxJobsInList; ++i) {
    jobs_named.push_back({"job" + std::to_string(i), 0});
  }
  EXPECT_EQ(CheckCounts(jobs_named, "a", jobs), kErrOutOfResource);
}

}  // namespace
}  // namespace canopy::core
