#include "server/core/collective/arrival_check.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

using Procs = std::vector<ProcId>;

// Agent 1 in a binary tree of 7 agents. Job "job" has ranks 0 and 1 here and
// rank 2 on agent 3, which is below agent 1.
class ArrivalCheckTest : public testing::Test {
 protected:
  ArrivalCheckTest() { jobs_.Add(JobOn("job", {1, 1, 3})); }

  static CollectiveArrived At(CollectiveOp op, Procs procs,
                              std::string name = {}) {
    CollectiveArrived in;
    in.client = 10;
    in.op = op;
    in.participants = std::move(procs);
    in.name = std::move(name);
    return in;
  }
  int Identify(const CollectiveArrived& in) {
    return check_.Identify(in, kProc, &id_);
  }
  Series SeriesOf(CollectiveOp op, Procs procs) {
    Series series;
    series.id = {op, std::move(procs), 0, IsGroupOp(op) ? "g" : ""};
    series.SetMembers(jobs_, tree_, 1);
    return series;
  }

  const ProcId kProc{"job", 0};
  const Tree tree_{7, 2};
  JobTable jobs_{1};
  Connections connections_;
  Groups groups_;
  ArrivalCheck check_{{1, tree_, jobs_, connections_, groups_}};
  CollectiveId id_;
};

TEST_F(ArrivalCheckTest, AllNotationsOfEqualParticipantsGetOneIdentity) {
  ASSERT_EQ(Identify(At(CollectiveOp::kFence, {})), kSuccess);
  EXPECT_EQ(id_.participants, (Procs{{"job", kRankWildcard}}));
  ASSERT_EQ(Identify(At(CollectiveOp::kFence, {{"job", 2}, {"", 0}})),
            kSuccess);
  EXPECT_EQ(id_.participants, (Procs{{"job", 0}, {"job", 2}}));
  ASSERT_EQ(Identify(At(CollectiveOp::kGroupConstruct,
                        {{"job", 0}, {"job", 1}, {"job", 2}}, "g")),
            kSuccess);
  EXPECT_EQ(id_.participants, (Procs{{"job", kRankWildcard}}));
}

TEST_F(ArrivalCheckTest, RejectsNamesOfUnknownProcessesAndGroups) {
  EXPECT_EQ(Identify(At(CollectiveOp::kFence, {{"job", 3}})), kErrBadParam);
  EXPECT_EQ(Identify(At(CollectiveOp::kGroupConstruct, {{"job", 0}})),
            kErrBadParam);
  EXPECT_EQ(Identify(At(CollectiveOp::kGroupConstruct, {}, "g")), kErrBadParam);
  EXPECT_EQ(Identify(At(CollectiveOp::kGroupConstruct, {{"job", 0}}, "job")),
            kErrBadParam)
      << "a namespace has that name";
  EXPECT_EQ(Identify(At(CollectiveOp::kGroupDestruct, {}, "g")), kErrNotFound);
}

TEST_F(ArrivalCheckTest, ADisconnectWithoutAConnectIsRefused) {
  const Series series =
      SeriesOf(CollectiveOp::kDisconnect, {{"job", kRankWildcard}});
  const CollectiveArrived in = At(CollectiveOp::kDisconnect, {});
  EXPECT_EQ(check_.Accepts(series, in, 0), kErrInvalidOperation);
  connections_.OnCompleted(CollectiveOp::kConnect, series.id.participants,
                           kSuccess);
  EXPECT_EQ(check_.Accepts(series, in, 0), kSuccess);
  EXPECT_EQ(check_.Accepts(series, in, -1), kErrBadParam);
}

TEST_F(ArrivalCheckTest, PendingFencesOfAProcessAreLimited) {
  Series series = SeriesOf(CollectiveOp::kFence, {{"job", kRankWildcard}});
  CollectiveArrived in = At(CollectiveOp::kFence, {});
  series.FindOrAddInstance(0, 0).waiters.push_back({in.client, 1, kProc});
  series.arrivals[0] = 1;
  EXPECT_EQ(check_.Accepts(series, in, 0), kSuccess);
  in.client = 11;
  EXPECT_EQ(check_.Accepts(series, in, 0), kErrInvalidOperation)
      << "another process of the rank";
  series.arrivals[0] = kMaxPipelined;
  EXPECT_EQ(check_.Accepts(series, in, 0), kErrResourceBusy);
}

TEST_F(ArrivalCheckTest, AConstructOfAGroupThatTheProcessIsInIsRefused) {
  const CollectiveId first{CollectiveOp::kGroupConstruct, {{"job", 0}}, 0, "g"};
  EXPECT_EQ(check_.RefusalOf(first, {}, kProc), kSuccess);
  groups_.OnCompleted(first, kSuccess, EncodeGroupRecord({}));
  EXPECT_EQ(check_.RefusalOf(first, {}, kProc), kErrExists);
}

}  // namespace
}  // namespace canopy::core
