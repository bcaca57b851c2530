#include "server/core/job/resync.h"

#include <gtest/gtest.h>

#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

class ResyncTest : public testing::Test {
 protected:
  ResyncTest() : tree_(7, 2), root_(0, tree_), inner_(1, tree_) {}
  JobStep Step(NodeId self) { return {{now_, out_, &events_}, self, tree_}; }
  // Returns the agents that got an answer to their query, in order.
  std::vector<NodeId> Answered() {
    std::vector<NodeId> out;
    for (const auto& [to, reply] : Sent<JobQueryReply>(out_)) out.push_back(to);
    return out;
  }
  static JobPrepare Prepare() { return {Bytes("spec"), 0, {}}; }

  TimeNs now_ = 5;
  CoreEvents events_;
  Tree tree_;
  JobResync root_;
  JobResync inner_;
  Actions out_;
};

using Nodes = std::vector<NodeId>;

TEST_F(ResyncTest, TheRootIsAuthoritativeWhenAllHaveCompleted) {
  EXPECT_TRUE(root_.IsAuthoritative());
  EXPECT_FALSE(inner_.IsAuthoritative());
  root_.Begin(now_);
  root_.OnUnknown(Step(0), 3, "job");
  for (NodeId n = 1; n < 6; ++n) root_.OnSyncComplete(Step(0), n);
  EXPECT_FALSE(root_.IsAuthoritative());
  EXPECT_TRUE(Answered().empty());
  root_.OnSyncComplete(Step(0), 6);
  EXPECT_TRUE(root_.IsAuthoritative());
  EXPECT_EQ(Answered(), Nodes{3});
  EXPECT_EQ(Sent<JobQueryReply>(out_)[0].second.verdict, JobVerdict::kNoRecord);
  EXPECT_EQ(root_.NextDeadline(), kNever);
  EXPECT_EQ(root_.size(), 0u);
}

TEST_F(ResyncTest, TheRootIsAuthoritativeAfterTheTimeout) {
  root_.Begin(now_);
  EXPECT_EQ(root_.NextDeadline(), now_ + kResyncTimeout);
  root_.OnUnknown(Step(0), 3, "job");
  now_ = root_.NextDeadline();
  root_.OnTick(Step(0));
  EXPECT_TRUE(root_.IsAuthoritative());
  EXPECT_EQ(Answered(), Nodes{3});
}

TEST_F(ResyncTest, TheRootDoesNotWaitForALostMember) {
  root_.Begin(now_);
  for (NodeId n = 1; n < 7; ++n) {
    tree_.SetAlive(n, n != 6);
    if (n < 6) root_.OnSyncComplete(Step(0), n);
  }
  root_.OnNodeLost(6);
  EXPECT_TRUE(root_.IsAuthoritative());
}

TEST_F(ResyncTest, AfterAPartitionLowerMembersMustBeConfirmed) {
  inner_.MarkEnded("job");
  for (NodeId n = 0; n < 7; ++n) {
    if (n == 1) continue;
    tree_.SetAlive(n, false);
    inner_.OnNodeLost(n);
  }
  // Jobs that ended on this side of the partition may run on the other side.
  EXPECT_FALSE(inner_.HasEnded("job"));
  EXPECT_TRUE(inner_.IsUnconfirmed(0));
  EXPECT_FALSE(inner_.IsAuthoritative());
  tree_.SetAlive(0, true);
  inner_.OnNodeReturned(now_);
  EXPECT_FALSE(inner_.IsUnconfirmed(0));
  EXPECT_TRUE(inner_.IsUnconfirmed(2));
  now_ = inner_.NextDeadline();
  inner_.OnTick(Step(1));
  EXPECT_FALSE(inner_.IsUnconfirmed(2));
}

TEST_F(ResyncTest, AnAgentThatIsNotTheRootQueriesTheRoot) {
  inner_.OnUnknown(Step(1), 3, "job");
  inner_.OnUnknown(Step(1), 4, "job");
  inner_.OnUnknown(Step(1), 4, "job");
  EXPECT_EQ(Sent<JobQuery>(out_).size(), 2u);
  EXPECT_EQ(Sent<JobQuery>(out_)[0].first, 0u);
  inner_.OnNodeRestarted(Step(1), 0);
  EXPECT_EQ(Sent<JobQuery>(out_).size(), 3u);
  inner_.AnswerInquirers(Step(1), {"job", JobVerdict::kEnded});
  EXPECT_EQ(Answered(), (Nodes{3, 4}));
  EXPECT_EQ(inner_.size(), 0u);
}

TEST_F(ResyncTest, AQueryAboutAnEndedJobIsAnsweredAtOnce) {
  inner_.MarkEnded("job");
  inner_.OnUnknown(Step(1), 3, "job");
  ASSERT_EQ(Answered(), Nodes{3});
  EXPECT_EQ(Sent<JobQueryReply>(out_)[0].second.verdict, JobVerdict::kEnded);
}

TEST_F(ResyncTest, InquirersAreRemovedWhenTheJobIsKnown) {
  inner_.OnUnknown(Step(1), 3, "job");
  EXPECT_EQ(inner_.TakeInquirers("job"), std::set<NodeId>{3});
  EXPECT_TRUE(inner_.TakeInquirers("job").empty());
}

TEST_F(ResyncTest, SyncCompleteIsSentOnlyToTheRoot) {
  inner_.SendSyncComplete({now_, out_}, 3);
  EXPECT_TRUE(out_.empty());
  inner_.SendSyncComplete({now_, out_}, 0);
  EXPECT_EQ(Sent<SyncComplete>(out_).size(), 1u);
}

TEST_F(ResyncTest, APrepareIsDeferredUnlessItComesFromTheParent) {
  JobResync leaf(5, tree_);
  EXPECT_FALSE(leaf.DefersPrepare(2, 0));
  EXPECT_TRUE(leaf.DefersPrepare(0, 0));
  EXPECT_TRUE(leaf.DefersPrepare(2, kNoNode));
  leaf.DeferPrepare(Step(5), 0, "job", Prepare());
  EXPECT_EQ(Sent<JobQuery>(out_)[0].first, 0u);
  // Later messages of the same agent are deferred as well.
  EXPECT_TRUE(leaf.Defer({0, 5, JobStart{"job"}}));
  EXPECT_FALSE(leaf.Defer({1, 5, JobStart{"job"}}));
  EXPECT_FALSE(leaf.Defer({0, 5, JobStart{"other"}}));
  EXPECT_FALSE(leaf.Defer({0, 5, OutputData{"job", 0, 2, {}}}));
  leaf.Release(Step(5));
  const auto all = TakeAll<MessagesReleased>(&events_);
  ASSERT_EQ(all.size(), 1u);
  const std::vector<PeerMessage>& released = all[0].messages;
  ASSERT_EQ(released.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<JobPrepare>(released[0].body));
  EXPECT_EQ(released[1].src, 0u);
  EXPECT_EQ(leaf.size(), 0u);
}

TEST_F(ResyncTest, DeferredMessagesOfALostAgentAreDropped) {
  inner_.DeferPrepare(Step(1), 2, "job", Prepare());
  tree_.SetAlive(2, false);
  inner_.Release(Step(1));
  EXPECT_TRUE(events_.empty());
}

TEST_F(ResyncTest, TheEndOfTheJobDropsItsDeferredMessages) {
  for (const MessageBody& end :
       {MessageBody(JobForget{"job"}), MessageBody(JobQueryReply{"job"})}) {
    inner_.DeferPrepare(Step(1), 2, "job", Prepare());
    EXPECT_FALSE(inner_.Defer({2, 1, end}));
    EXPECT_EQ(inner_.size(), 0u);
  }
  inner_.DeferPrepare(Step(1), 2, "job", Prepare());
  inner_.Undefer("job");
  EXPECT_EQ(inner_.size(), 0u);
}

TEST_F(ResyncTest, TheOldestEndedJobsAreForgotten) {
  RecentJobs jobs;
  for (int i = 0; i < 2000; ++i) jobs.Add(std::to_string(i));
  EXPECT_FALSE(jobs.Contains("5"));
  EXPECT_TRUE(jobs.Contains("1999"));
}

// Agent 2 controls the job and reports its end to the root.
TEST_F(ResyncTest, AJobOfAnotherControllerIsNotUnknown) {
  JobTable table(0);
  JobResync root(0, tree_, &table);
  table.Add(JobOn("job", {2, 3}));
  table.SetLentBy("job", 2);
  root.OnUnknown(Step(0), 3, "job");
  EXPECT_TRUE(Answered().empty());
  root.AnswerInquirers(Step(0), {"job", JobVerdict::kEnded});
  EXPECT_EQ(Answered(), Nodes{3});
  out_.clear();
  // The controller would not inquire if it had the job.
  root.OnUnknown(Step(0), 2, "job");
  EXPECT_EQ(Answered(), Nodes{2});
}

TEST_F(ResyncTest, InquirersAreAnsweredWhenTheControllerIsLost) {
  JobTable table(0);
  JobResync root(0, tree_, &table);
  table.Add(JobOn("job", {2, 3}));
  table.SetLentBy("job", 2);
  root.OnUnknown(Step(0), 3, "job");
  tree_.SetAlive(2, false);
  root.Release(Step(0));
  EXPECT_EQ(Answered(), Nodes{3});
  EXPECT_EQ(root.size(), 0u);
}

TEST_F(ResyncTest, InquirersAreAnsweredWhenTheMapIsDropped) {
  JobTable table(0);
  JobResync root(0, tree_, &table);
  table.Add(JobOn("job", {2, 3}));
  table.SetLentBy("job", 2);
  root.OnUnknown(Step(0), 3, "job");
  table.Remove("job");
  root.OnJobRemoved(Step(0), "job");
  EXPECT_EQ(Answered(), Nodes{3});
  EXPECT_EQ(root.size(), 0u);
}

}  // namespace
}  // namespace canopy::core
