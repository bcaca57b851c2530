#include "server/core/collective/group_ends.h"

#include <gtest/gtest.h>

#include "common/status.h"
#include "server/core/collective/connections.h"
#include "server/core/collective/group_record.h"
#include "server/core/core_testing.h"
#include "server/core/modex/modex.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"

namespace canopy::core {
namespace {

using Procs = std::vector<ProcId>;

// Agent 0, alone, with ranks 0 and 1 of "job".
class GroupEndsTest : public testing::Test {
 protected:
  GroupEndsTest() { jobs_.Add(JobOn("job", {0, 0})); }

  void Construct() {
    groups_.OnCompleted(construct_, kSuccess, EncodeGroupRecord({}));
  }

  const ProcId kProc{"job", 0};
  const Procs whole_{{"job", kRankWildcard}};
  const CollectiveId construct_{CollectiveOp::kGroupConstruct, whole_, 0, "g"};
  const CollectiveId destruct_{CollectiveOp::kGroupDestruct, whole_, 0, "g"};
  const Tree tree_{1, 2};
  JobTable jobs_{0};
  ModexStore modex_;
  SeriesTable table_;
  Connections connections_;
  Groups groups_;
  MemberLookup lookup_{0, tree_, jobs_};
  CollectiveProgress progress_{
      {0, tree_, jobs_, modex_, table_, connections_, groups_}};
  GroupEnds ends_{{jobs_, table_, groups_, lookup_, progress_}};
  Actions actions_;
  StepContext step_{0, actions_};
};

TEST_F(GroupEndsTest, TheGroupEndsWhenItsLastLocalMemberLeaves) {
  EXPECT_FALSE(ends_.OnLeft(step_, kProc, "g", 0)) << "no such group";
  Construct();
  EXPECT_TRUE(ends_.OnLeft(step_, kProc, "g", 0));
  EXPECT_FALSE(ends_.OnLeft(step_, kProc, "g", 0)) << "a member no more";
  EXPECT_EQ(groups_.size(), 1u);
  EXPECT_TRUE(ends_.OnLeft(step_, {"job", 1}, "g", 0));
  EXPECT_EQ(groups_.size(), 0u);
}

TEST_F(GroupEndsTest, TakeLeftBeforeReportsARecoveredLeaveOnce) {
  ends_.Recover(construct_, {kProc});
  EXPECT_TRUE(ends_.HasLeftBefore(kProc, destruct_));
  EXPECT_FALSE(ends_.HasLeftBefore({"job", 1}, destruct_));
  EXPECT_TRUE(ends_.TakeLeftBefore(kProc, "g"));
  EXPECT_FALSE(ends_.TakeLeftBefore(kProc, "g"));
  EXPECT_FALSE(ends_.TakeLeftBefore({"job", 1}, "g"));
}

TEST_F(GroupEndsTest, AConstructOfTheSameNameClearsTheRecoveredLeave) {
  ends_.Recover(construct_, {kProc});
  ends_.OnConstructing(kProc, "g");
  EXPECT_FALSE(ends_.HasLeftBefore(kProc, destruct_));
  ends_.Recover(construct_, {kProc});
  ends_.Recover(construct_, {});
  EXPECT_FALSE(ends_.HasLeftBefore(kProc, destruct_))
      << "nobody has left the later group of the series";
  ends_.Recover(construct_, {kProc});
  ends_.DropJob("job");
  EXPECT_FALSE(ends_.TakeLeftBefore(kProc, "g"));
}

TEST_F(GroupEndsTest, ResumeContinuesADestructOfThePredecessor) {
  groups_.Recover(construct_, true, EncodeGroupRecord({}), {kProc});
  ends_.Resume(step_, "job");
  const Series* series = table_.Find(destruct_);
  ASSERT_NE(series, nullptr);
  EXPECT_EQ(series->active.size(), 1u);
  EXPECT_EQ(groups_.size(), 1u) << "rank 1 is still a member";
}

TEST_F(GroupEndsTest, SkipLeftSkipsTheDestructsOfEarlierGroups) {
  Construct();
  Series& series = table_.FindOrAdd(destruct_);
  ASSERT_TRUE(lookup_.Resolve(step_, series));
  series.next = 3;
  EXPECT_EQ(ends_.EndsBefore(series),
            (std::map<ProcId, uint64_t>{{kProc, 3}, {{"job", 1}, 3}}));
  ends_.SkipLeft(series, 0);
  EXPECT_EQ(series.arrivals[0], 3u);
}

}  // namespace
}  // namespace canopy::core
