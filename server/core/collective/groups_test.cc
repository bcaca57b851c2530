#include "server/core/collective/groups.h"

#include <gtest/gtest.h>

#include "common/status.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

CollectiveId Id(CollectiveOp op, const std::string& name,
                std::vector<ProcId> procs) {
  return {op, std::move(procs), 0, name};
}

class GroupsTest : public testing::Test {
 protected:
  void Construct(const std::string& name, std::vector<ProcId> procs,
                 std::vector<ProcId> missing = {}) {
    GroupRecord record;
    record.context_id = 5;
    record.missing = std::move(missing);
    groups_.OnCompleted(
        Id(CollectiveOp::kGroupConstruct, name, std::move(procs)), kSuccess,
        EncodeGroupRecord(record));
  }

  Groups groups_;
};

TEST_F(GroupsTest, AGroupExistsFromConstructToDestruct) {
  Construct("g", {{"a", 0}, {"a", 1}});
  const Group* group = groups_.FindOf("g", {"a", 1});
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->record.context_id, 5u);
  EXPECT_EQ(groups_.Find("g", {{"a", 0}, {"a", 1}}), group);
  EXPECT_EQ(groups_.FindOf("g", {"a", 2}), nullptr);
  EXPECT_EQ(groups_.FindOf("h", {"a", 1}), nullptr);
  groups_.OnCompleted(
      Id(CollectiveOp::kGroupDestruct, "g", {{"a", 0}, {"a", 1}}), kErrTimeout,
      Bytes());
  EXPECT_EQ(groups_.size(), 0u);
}

TEST_F(GroupsTest, AFailedConstructMakesNoGroup) {
  groups_.OnCompleted(Id(CollectiveOp::kGroupConstruct, "g", {{"a", 0}}),
                      kErrTimeout, Bytes());
  EXPECT_EQ(groups_.size(), 0u);
}

TEST_F(GroupsTest, AGroupsMembersHaveTakenPartAndNotLeft) {
  JobTable jobs(0);
  jobs.Add(JobOn("a", {0, 0, 0, 0}));
  Construct("g", {{"a", kRankWildcard}}, {{"a", 2}});
  EXPECT_EQ(groups_.FindOf("g", {"a", 2}), nullptr);
  EXPECT_NE(groups_.Leave("g", {"a", 0}), nullptr);
  EXPECT_EQ(groups_.Leave("g", {"a", 0}), nullptr);
  const Group* group = groups_.FindOf("g", {"a", 1});
  ASSERT_NE(group, nullptr);
  EXPECT_EQ(group->Members(jobs), (std::vector<ProcId>{{"a", 1}, {"a", 3}}));
  EXPECT_TRUE(groups_.Of({"a", 0}).empty());
  EXPECT_EQ(groups_.Of({"a", 3}).size(), 1u);
}

TEST_F(GroupsTest, SeveralGroupsMayHaveOneName) {
  Construct("g", {{"a", 0}});
  Construct("g", {{"a", 1}});
  Construct("h", {{"a", 1}});
  EXPECT_NE(groups_.FindOf("g", {"a", 0}), groups_.FindOf("g", {"a", 1}));
  EXPECT_EQ(groups_.Of({"a", 1}).size(), 2u);
}

TEST_F(GroupsTest, TheNameOfAGroupStandsForItsMembers) {
  JobTable jobs(0);
  jobs.Add(JobOn("a", {0, 0, 0, 0}));
  Construct("g", {{"a", kRankWildcard}}, {{"a", 2}});
  const ProcId member{"a", 1};
  std::vector<ProcId> procs = {{"b", 7}, {"g", kRankWildcard}, {"g", 2}};
  EXPECT_TRUE(groups_.ReplaceNames(member, jobs, &procs));
  EXPECT_EQ(procs, (std::vector<ProcId>{
                       {"b", 7}, {"a", 0}, {"a", 1}, {"a", 3}, {"a", 3}}));
  groups_.Leave("g", {"a", 0});
  procs = {{"g", 0}};
  EXPECT_TRUE(groups_.ReplaceNames(member, jobs, &procs));
  EXPECT_EQ(procs, (std::vector<ProcId>{{"a", 1}}));
  // For a process that is not a member, the name is not that of a group.
  procs = {{"g", kRankWildcard}};
  EXPECT_TRUE(groups_.ReplaceNames({"a", 0}, jobs, &procs));
  EXPECT_EQ(procs, (std::vector<ProcId>{{"g", kRankWildcard}}));
  procs = {{"g", 2}};
  EXPECT_FALSE(groups_.ReplaceNames(member, jobs, &procs));
}

TEST_F(GroupsTest, AGroupEndsWithOneOfItsJobs) {
  Construct("g", {{"a", 0}, {"b", 1}});
  Construct("h", {{"a", 0}});
  groups_.DropJob("b");
  EXPECT_EQ(groups_.size(), 1u);
}

TEST_F(GroupsTest, RecoversGroupsOfAPredecessor) {
  const CollectiveId id =
      Id(CollectiveOp::kGroupConstruct, "g", {{"a", 0}, {"a", 1}});
  const Bytes result = EncodeGroupRecord({});
  groups_.Recover(id, true, result, {{"a", 1}});
  ASSERT_EQ(groups_.size(), 1u);
  EXPECT_NE(groups_.FindOf("g", {"a", 0}), nullptr);
  EXPECT_EQ(groups_.FindOf("g", {"a", 1}), nullptr) << "it has left";
  groups_.Recover(id, false, Bytes(), {});
  EXPECT_EQ(groups_.size(), 0u);
}

}  // namespace
}  // namespace canopy::core
