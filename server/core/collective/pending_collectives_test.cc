// Tests of processes that are far ahead of the others, and of their ends.
#include <gtest/gtest.h>

#include "common/status.h"
#include "server/core/collective/collective.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

using Procs = std::vector<ProcId>;

// Jobs "big" and "other" have 20 ranks each on this node.
class PendingCollectivesTest : public testing::Test {
 protected:
  PendingCollectivesTest() : tree_(1, 2), jobs_(0) {
    for (const char* nspace : {"big", "other"}) {
      jobs_.Add(JobOn(nspace, std::vector<NodeId>(20, 0)));
    }
    jobs_.Connect(10, {"big", 0});
    jobs_.Connect(11, {"big", 1});
    jobs_.Connect(20, {"other", 0});
  }

  // Returns rank 0, rank 1 and each rank r + 2 for which bit r is set.
  static Procs Subset(const std::string& nspace, uint32_t bits) {
    Procs procs = {{nspace, 0}, {nspace, 1}};
    for (Rank rank = 2; bits != 0; bits >>= 1, ++rank) {
      if ((bits & 1) != 0) procs.push_back({nspace, rank});
    }
    return procs;
  }
  int Fence(ClientId client, Procs procs) {
    CollectiveArrived in;
    in.client = client;
    in.request = ++request_;
    in.participants = std::move(procs);
    Actions actions;
    engine_.OnArrived({now_, actions}, in);
    const auto replies = All<ReplyClient>(actions);
    return replies.empty() ? kNone : replies.front().status;
  }
  // Makes the rank begin up to `count` different fences. Returns the number of
  // fences that were accepted.
  size_t FenceAhead(ClientId client, const std::string& nspace, uint32_t first,
                    uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      const int status = Fence(client, Subset(nspace, first + i));
      if (status == kNone) continue;
      EXPECT_EQ(status, kErrOutOfResource);
      return i;
    }
    return count;
  }
  void End(const std::string& nspace, Rank rank, Actions* actions) {
    jobs_.MarkEnded(nspace, rank);
    engine_.OnRankGone({now_, *actions}, {nspace, rank});
  }
  // Does all pending work. Returns the number of slices that this takes.
  int Continue(Actions* actions) {
    int slices = 0;
    while (engine_.NextDeadline() == 0) {
      ++slices;
      engine_.OnTick({++now_, *actions});
    }
    return slices;
  }

  static constexpr int kNone = -1000;
  Tree tree_;
  JobTable jobs_;
  ModexStore modex_;
  Collectives engine_{0, tree_, jobs_, modex_};
  TimeNs now_ = 1000;
  RequestId request_ = 0;
};

TEST_F(PendingCollectivesTest,
       AProcessCanBeginALimitedNumberOfFencesAheadOfOthers) {
  const size_t begun = FenceAhead(10, "big", 0, 40000);
  EXPECT_GT(begun, 2000u);
  EXPECT_LT(begun, 20000u);
  // The other processes of job "big" have shares of their own, and so have
  // other jobs.
  EXPECT_EQ(FenceAhead(11, "big", 100000, 100), 100u);
  EXPECT_EQ(FenceAhead(20, "other", 0, 2000), 2000u);
}

TEST_F(PendingCollectivesTest,
       AProcessCanBeginFencesAgainAfterOthersHaveEnded) {
  FenceAhead(10, "big", 0, 40000);
  const Procs pair = Subset("big", 0);
  size_t begun = 1;
  while (Fence(10, pair) == kNone) ++begun;
  EXPECT_EQ(Fence(10, pair), kErrOutOfResource);
  // The refused fences did not count as arrivals.
  for (size_t i = 0; i < begun; ++i) ASSERT_EQ(Fence(11, pair), kSuccess);
  EXPECT_EQ(Fence(11, pair), kNone);
  EXPECT_EQ(Fence(10, pair), kSuccess);
}

TEST_F(PendingCollectivesTest, ArrivalsThatWaitForAMapAreLimited) {
  size_t waiting = 0;
  for (uint32_t bits = 0; bits < 40000; ++bits) {
    Procs procs = Subset("big", bits);
    procs.push_back({"unknown", 0});
    const int status = Fence(10, procs);
    if (status == kErrOutOfResource) break;
    ASSERT_EQ(status, kNone);
    ++waiting;
  }
  EXPECT_GT(waiting, 1000u);
  EXPECT_LT(waiting, 40000u);
  // The deferred arrivals are dropped with their client.
  Actions actions;
  engine_.OnClientGone({now_, actions}, 10);
  EXPECT_EQ(engine_.num_series(), 0u);
}

TEST_F(PendingCollectivesTest, TheEndOfAProcessFailsItsFencesInSlices) {
  ASSERT_EQ(FenceAhead(10, "big", 0, 4000), 4000u);
  Actions actions;
  End("big", 1, &actions);
  const size_t at_once = All<ReplyClient>(actions).size();
  EXPECT_GT(at_once, 0u);
  EXPECT_LT(at_once, 1000u);
  // A fence of another job is accepted between the slices. The remaining fences
  // of job "big" fail in the later slices.
  EXPECT_EQ(Fence(20, Subset("other", 0)), kNone);
  EXPECT_GT(Continue(&actions), 3);
  EXPECT_EQ(All<ReplyClient>(actions).size(), 4000u);
  for (const ReplyClient& reply : All<ReplyClient>(actions)) {
    ASSERT_EQ(reply.status, kErrProcAborted);
  }
}

TEST_F(PendingCollectivesTest, ManyEndsOfProcessesInOneStepShareASlice) {
  ASSERT_EQ(FenceAhead(10, "big", 0, 4000), 4000u);
  Actions actions;
  for (Rank rank = 1; rank < 20; ++rank) End("big", rank, &actions);
  EXPECT_LT(All<ReplyClient>(actions).size(), 1000u);
  Continue(&actions);
  EXPECT_EQ(All<ReplyClient>(actions).size(), 4000u);
}

TEST_F(PendingCollectivesTest, AJobThatEndsBetweenSlicesLeavesNoSeries) {
  ASSERT_EQ(FenceAhead(10, "big", 0, 4000), 4000u);
  Actions actions;
  End("big", 1, &actions);
  jobs_.Remove("big");
  engine_.OnJobRemoved({now_, actions}, {"big"});
  EXPECT_NE(engine_.NextDeadline(), 0);
  EXPECT_EQ(engine_.num_series(), 0u);
  EXPECT_EQ(All<ReplyClient>(actions).size(), 4000u);
}

TEST_F(PendingCollectivesTest, ANewProcessDoesNotJoinFencesOfTheFormerOne) {
  ASSERT_EQ(FenceAhead(10, "big", 0, 4000), 4000u);
  Actions actions;
  End("big", 1, &actions);
  jobs_.MarkRestarted("big", 1, 1);
  engine_.OnRankRestarted({now_, actions}, {"big", 1});
  EXPECT_NE(engine_.NextDeadline(), 0);
  EXPECT_EQ(All<ReplyClient>(actions).size(), 4000u);
}

}  // namespace
}  // namespace canopy::core
