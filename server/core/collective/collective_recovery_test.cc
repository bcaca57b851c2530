// Tests that collectives completed under a predecessor are answered, whichever
// job is over meanwhile.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/status.h"
#include "server/core/collective/collective.h"
#include "server/core/collective/collective_records.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

constexpr ClientId kClient = 5;
constexpr ClientId kOther = 6;

// Agent 0 has rank 0 of "mine", which was connected with rank 0 of "other".
class CollectiveRecoveryTest : public testing::Test {
 protected:
  CollectiveRecoveryTest() {
    jobs_.Add(JobOn("mine", {0}));
    collectives_.OnRecovered("mine");
    const PersistRecord record = EncodeCollective(
        "mine", {CollectiveOp::kConnect, list_, 0}, {0, kSuccess, true, false});
    collectives_.Recover({record.key, record.value});
    jobs_.Connect(kClient, {"mine", 0});
  }
  std::vector<int> Arrive(RequestId request,
                          CollectiveOp op = CollectiveOp::kConnect) {
    Actions actions;
    CollectiveArrived in;
    in.client = kClient;
    in.request = request;
    in.op = op;
    in.participants = list_;
    collectives_.OnArrived({0, actions}, in);
    std::vector<int> statuses;
    for (const ReplyClient& reply : All<ReplyClient>(actions)) {
      statuses.push_back(reply.status);
    }
    return statuses;
  }
  void Remove(const std::string& nspace) {
    Actions actions;
    jobs_.Remove(nspace);
    collectives_.OnJobRemoved({0, actions}, {nspace});
  }
  void AddOther() {
    Actions actions;
    jobs_.Add(JobOn("other", {1}));
    collectives_.OnJobAdded({0, actions}, "other");
  }
  // Replaces the process of rank 0 of "mine".
  void Follow() {
    Actions actions;
    jobs_.MarkRestarted("mine", 0, 1);
    collectives_.OnRankRestarted({0, actions}, {"mine", 0});
    jobs_.Connect(kClient, {"mine", 0});
  }
  void Reattach() {
    Actions actions;
    collectives_.OnReattached({0, actions}, {kClient, {}});
  }

  const std::vector<ProcId> list_{{"mine", 0}, {"other", 0}};
  const Tree tree_{2, 2};
  JobTable jobs_{0};
  ModexStore modex_;
  Collectives collectives_{0, tree_, jobs_, modex_};
};

TEST_F(CollectiveRecoveryTest,
       ARepeatedRequestIsAnsweredWithoutTheMapsOfOtherJobs) {
  Reattach();
  EXPECT_EQ(Arrive(1), std::vector<int>{kSuccess});
  EXPECT_TRUE(Arrive(2).empty()) << "the next one has not ended";
}

TEST_F(CollectiveRecoveryTest, ARepeatedRequestIsAnsweredAfterOtherJobsEnded) {
  for (const bool known : {false, true}) {
    if (known) jobs_.Add(JobOn("other", {1}));
    Remove("other");
  }
  Reattach();
  EXPECT_EQ(Arrive(1), std::vector<int>{kSuccess});
  Remove("mine");
  EXPECT_EQ(collectives_.num_series(), 0u);
}

// A root recovers one job after the other, and does not know the later jobs
// meanwhile.
TEST_F(CollectiveRecoveryTest,
       ARepeatedRequestIsAnsweredBeforeOtherJobsAreRecovered) {
  Actions actions;
  collectives_.OnJobUnknown({0, actions}, "other");
  jobs_.Add(JobOn("other", {1}));
  collectives_.OnJobAdded({0, actions}, "other");
  Reattach();
  EXPECT_EQ(Arrive(1), std::vector<int>{kSuccess});
}

TEST_F(CollectiveRecoveryTest, ARecordedFailureIsAnsweredAsAFailure) {
  const CollectiveId disconnect{CollectiveOp::kDisconnect, list_, 0};
  const PersistRecord record =
      EncodeCollective("mine", disconnect, {0, kErrProcAborted, false, false});
  collectives_.Recover({record.key, record.value});
  Actions actions;
  collectives_.OnJobUnknown({0, actions}, "other");
  jobs_.Add(JobOn("other", {1}));
  collectives_.OnJobAdded({0, actions}, "other");
  // The local process has received the reply; the other node has not.
  collectives_.OnReattached(
      {0, actions}, {kClient, {{CollectiveOp::kDisconnect, list_, 1, {}}}});
  collectives_.OnUp({0, actions}, 1,
                    CollectiveUp{disconnect, kSuccess, {{1, {}}}, {}});
  const auto downs = Sent<CollectiveDown>(actions);
  ASSERT_EQ(downs.size(), 1u);
  EXPECT_EQ(downs[0].second.status, kErrProcAborted);
}

// A local process sent its request to the predecessor. The other processes get
// their replies, and one of their jobs ends before this process reattaches.
TEST_F(CollectiveRecoveryTest,
       ACollectiveThatEndsBeforeTheReattachmentIsAnswered) {
  jobs_.Add(JobOn("other", {1}));
  Actions actions;
  collectives_.OnJobAdded({0, actions}, "other");
  CollectiveDown down{{CollectiveOp::kDisconnect, list_, 0}, kSuccess, {}, {}};
  collectives_.OnDown({0, actions}, 1, down);
  Remove("other");
  Reattach();
  EXPECT_EQ(Arrive(1, CollectiveOp::kDisconnect), std::vector<int>{kSuccess});
  EXPECT_TRUE(Arrive(2, CollectiveOp::kDisconnect).empty());
  Remove("mine");
  EXPECT_EQ(collectives_.num_series(), 0u);
}

// A process that has completed the first disconnect and fails in the next one
// does not disconnect the processes that have yet to arrive at the first.
TEST_F(CollectiveRecoveryTest,
       ALaterDisconnectThatFailsDoesNotEndTheConnection) {
  AddOther();
  Reattach();
  CollectiveDown down{
      {CollectiveOp::kDisconnect, list_, 1}, kErrProcTermWoSync, {}, {}};
  Actions actions;
  collectives_.OnDown({0, actions}, 1, down);
  EXPECT_TRUE(Arrive(1, CollectiveOp::kDisconnect).empty());
  down = {{CollectiveOp::kDisconnect, list_, 0}, kSuccess, {}, {}};
  collectives_.OnDown({0, actions}, 1, down);
  const auto replies = All<ReplyClient>(actions);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].status, kSuccess);
  EXPECT_EQ(Arrive(2, CollectiveOp::kDisconnect),
            std::vector<int>{kErrProcTermWoSync});
  EXPECT_EQ(Arrive(3, CollectiveOp::kDisconnect),
            std::vector<int>{kErrInvalidOperation});
}

// Any of the jobs may be over when the agent is replaced.
TEST_F(CollectiveRecoveryTest, EachLocalJobGetsARecordOfACollective) {
  jobs_.Add(JobOn("other", {0}));
  collectives_.set_persists(true);
  jobs_.Connect(kOther, {"other", 0});
  Reattach();
  (void)Arrive(1);
  (void)Arrive(2);
  Actions actions;
  CollectiveArrived in;
  in.client = kOther;
  in.op = CollectiveOp::kConnect;
  in.participants = list_;
  collectives_.OnArrived({0, actions}, in);
  std::vector<std::string> nspaces;
  for (const auto& record : All<PersistRecord>(actions)) {
    nspaces.push_back(record.nspace);
  }
  EXPECT_EQ(nspaces, (std::vector<std::string>{"mine", "other"}));
}

TEST_F(CollectiveRecoveryTest, ANewProcessJoinsTheNextCollective) {
  EXPECT_TRUE(Arrive(1).empty());
}

// A restarted process has not counted the collectives of its rank's first
// process.
TEST_F(CollectiveRecoveryTest, ARestartedProcessJoinsTheNextCollective) {
  jobs_.RecoverIncarnation("mine", 0, 1);
  Reattach();
  EXPECT_TRUE(Arrive(1).empty());
}

TEST_F(CollectiveRecoveryTest,
       AProcessThatReplacesAReattachedOneJoinsTheNextCollective) {
  Reattach();
  Follow();
  EXPECT_TRUE(Arrive(1).empty());
}

TEST_F(CollectiveRecoveryTest,
       WithAllMapsAReplacingProcessJoinsTheNextCollective) {
  AddOther();
  Reattach();
  Follow();
  EXPECT_TRUE(Arrive(1).empty());
}

// A client may claim any count.
TEST_F(CollectiveRecoveryTest, AHugeClaimedCountCostsNoTime) {
  Actions actions;
  jobs_.Add(JobOn("pair", {0, 0}));
  jobs_.Connect(kClient + 1, {"pair", 0});
  jobs_.Connect(kClient + 2, {"pair", 1});
  collectives_.OnReattached(
      {0, actions},
      {kClient + 1, {{CollectiveOp::kFence, {}, uint64_t{1} << 60}}});
  jobs_.MarkRestarted("pair", 1, 1);
  collectives_.OnRankRestarted({0, actions}, {"pair", 1});
}

}  // namespace
}  // namespace canopy::core
