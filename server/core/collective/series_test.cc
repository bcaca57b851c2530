#include "server/core/collective/series.h"

#include <gtest/gtest.h>

#include "common/status.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

// Agent 0 of two. Ranks 0 and 1 of the job are here, rank 2 is on agent 1.
class SeriesTest : public testing::Test {
 protected:
  SeriesTest() : tree_(2, 2), jobs_(0) {
    jobs_.Add(JobOn("job", {0, 0, 1}));
    series_.id = {CollectiveOp::kFence, {{"job", kRankWildcard}}, 0};
  }
  void Resolve() { EXPECT_TRUE(series_.SetMembers(jobs_, tree_, 0)); }
  void Complete(uint64_t sequence, int status) {
    series_.completed[sequence].status = status;
    if (status == kSuccess) series_.SkipEarlier(sequence);
    series_.AdvanceNext();
  }

  Tree tree_;
  JobTable jobs_;
  Series series_;
};

TEST_F(SeriesTest, ASeriesIsBlankWithoutArrivalsAndInstances) {
  EXPECT_TRUE(series_.IsBlank());
  Resolve();
  EXPECT_TRUE(series_.IsBlank());
  series_.arrivals[1] = 1;
  EXPECT_FALSE(series_.IsBlank());
  series_.arrivals[1] = 0;
  series_.FindOrAddInstance(7, 0);
  EXPECT_FALSE(series_.IsBlank());
}

TEST_F(SeriesTest, NamesAndIncludesFindTheJobsAndProcesses) {
  series_.id.participants = {{"a", 3}, {"b", kRankWildcard}, {"c", 1}};
  EXPECT_TRUE(series_.Names("b"));
  EXPECT_FALSE(series_.Names("bb"));
  EXPECT_FALSE(series_.Names("d"));
  EXPECT_TRUE(series_.Includes({"b", 77}));
  EXPECT_TRUE(series_.Includes({"a", 3}));
  EXPECT_FALSE(series_.Includes({"a", 4}));
}

TEST_F(SeriesTest, AnUnknownProcessIsNotAMember) {
  series_.id.participants = {{"job", 7}};
  EXPECT_FALSE(series_.SetMembers(jobs_, tree_, 0));
  EXPECT_TRUE(series_.members->nodes.empty());
}

TEST_F(SeriesTest, FailuresMayCompleteOutOfOrder) {
  Resolve();
  Complete(0, kSuccess);
  EXPECT_TRUE(series_.IsOver(0));
  EXPECT_FALSE(series_.IsOver(1));
  // Collectives may complete out of order, because a failure may arrive before
  // an earlier collective has completed.
  Complete(2, kErrTimeout);
  EXPECT_EQ(series_.next, 1u);
  EXPECT_TRUE(series_.IsOver(2));
  Complete(1, kErrTimeout);
  EXPECT_EQ(series_.next, 3u);
}

TEST_F(SeriesTest, ASuccessCompletesEarlierInstancesWithoutWaiters) {
  Resolve();
  series_.FindOrAddInstance(0, 0);
  series_.FindOrAddInstance(0, 1).waiters.push_back({10, 1, {"job", 0}});
  Complete(2, kSuccess);
  EXPECT_EQ(series_.next, 3u);
  EXPECT_EQ(series_.ActiveSequences(), std::vector<uint64_t>{1});
}

TEST_F(SeriesTest, ResultsAreRetainedForLaterArrivals) {
  Resolve();
  Complete(0, kErrTimeout);
  Complete(1, kErrTimeout);
  Complete(2, kSuccess);
  series_.arrivals = {3, 1};
  series_.PruneCompleted(jobs_);
  EXPECT_FALSE(series_.completed.contains(0));
  EXPECT_TRUE(series_.completed.contains(1));
  // A process that has ended arrives at no collective, so no result is retained
  // for it.
  jobs_.MarkEnded("job", 1);
  series_.PruneCompleted(jobs_);
  EXPECT_FALSE(series_.completed.contains(1));
  EXPECT_TRUE(series_.completed.contains(2));
}

TEST_F(SeriesTest, CollectivesCountedByAReattachedProcessAreCompleted) {
  series_.reattached = {{{"job", 1}, 4}, {{"job", 2}, 9}};
  Resolve();
  series_.ApplyReattached();
  EXPECT_EQ(series_.next, 4u);
  EXPECT_EQ(series_.recovered, 4u);
  EXPECT_EQ(series_.arrivals, (std::vector<uint64_t>{0, 4}));
  EXPECT_EQ(series_.arrivals_known, (std::vector<bool>{false, true}));
}

TEST_F(SeriesTest, SuspectsAreGoneMembersAndMembersOfLostNodes) {
  Resolve();
  EXPECT_TRUE(series_.suspects.empty());
  tree_.SetAlive(1, false);
  series_.UpdatePlace(jobs_, tree_, 0);
  EXPECT_EQ(series_.suspects, (std::vector<ProcId>{{"job", 2}}));
  jobs_.MarkEnded("job", 0);
  Series later;
  later.id = series_.id;
  EXPECT_TRUE(later.SetMembers(jobs_, tree_, 0));
  EXPECT_EQ(later.suspects, (std::vector<ProcId>{{"job", 0}, {"job", 2}}));
}

}  // namespace
}  // namespace canopy::core
