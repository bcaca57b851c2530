#include "server/core/job/messages.h"

#include <gtest/gtest.h>

#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

// Agent 1, which is below the root and above 3 and 4.
class JobMessagesTest : public testing::Test {
 protected:
  JobMessagesTest()
      : tree_(7, 2),
        table_(1),
        resync_(1, tree_),
        jobs_(1, names_, tree_, table_, resync_),
        messages_(jobs_, resync_),
        spec_(JobOn("job", {1, 3})) {}
  bool Take(NodeId src, MessageBody body) {
    out_.clear();
    return messages_.Take({{1, out_}, 1, tree_}, {src, 1, std::move(body)});
  }
  JobPrepare Prepare(NodeId controller = 0) const {
    return {Bytes(EncodeJobSpec(*spec_)), controller, {}};
  }
  bool Knows() { return jobs_.Find("job") != nullptr; }

  Tree tree_;
  JobTable table_;
  JobResync resync_;
  const std::vector<std::string> names_ = {"a", "b", "c", "d", "e", "f", "g"};
  JobSet jobs_;
  JobMessages messages_;
  std::shared_ptr<const JobSpec> spec_;
  Actions out_;
};

TEST_F(JobMessagesTest, TakeReturnsFalseForMessagesOfOtherEngines) {
  EXPECT_FALSE(Take(0, StateQuery{}));
  EXPECT_FALSE(Take(0, DmodexRequest{}));
  EXPECT_TRUE(Take(0, SyncComplete{}));
}

TEST_F(JobMessagesTest, APrepareFromTheParentIsExecutedOnce) {
  EXPECT_TRUE(Take(0, Prepare()));
  EXPECT_TRUE(Knows());
  EXPECT_EQ(Sent<JobPrepare>(out_).size(), 1u);
  // A repeated JobPrepare does not start the launch again.
  Take(0, Prepare());
  EXPECT_TRUE(Sent<JobPrepare>(out_).empty());
}

TEST_F(JobMessagesTest, APrepareFromAnotherAgentIsDeferred) {
  Take(2, Prepare());
  EXPECT_FALSE(Knows());
  EXPECT_EQ(Sent<JobQuery>(out_)[0].first, 2u);
  Take(2, JobStart{"job"});
  EXPECT_EQ(resync_.size(), 1u);
  Take(0, Prepare());
  EXPECT_TRUE(Knows());
  EXPECT_EQ(resync_.size(), 0u);
}

TEST_F(JobMessagesTest, AnUnusablePrepareIsRefused) {
  Take(0, JobPrepare{Bytes("garbage"), 0, {}, false});
  EXPECT_EQ(All<LogLine>(out_).size(), 1u);
  for (const NodeId controller : {NodeId{7}, kNoNode}) {
    Take(0, Prepare(controller));
    EXPECT_EQ(All<LogLine>(out_).size(), 1u);
    EXPECT_FALSE(Knows());
  }
}

TEST_F(JobMessagesTest, APrepareDoesNotMakeThisAgentTheController) {
  Take(0, Prepare());
  Take(0, Prepare(1));
  EXPECT_EQ(jobs_.Find("job")->part.place().controller(), 0u);
  Take(0, Prepare(2));
  EXPECT_EQ(jobs_.Find("job")->part.place().controller(), 2u);
}

TEST_F(JobMessagesTest, ReportsAboutUnknownJobsLeadToAQuery) {
  for (const MessageBody& report :
       {MessageBody(JobPrepared{"x", 1, {}}),
        MessageBody(JobStarted{"y", 1, {}}), MessageBody(JobExits{"z", {{}}}),
        MessageBody(NodeLost{"u", {0}}), MessageBody(JobQuery{"v"})}) {
    Take(3, report);
    EXPECT_EQ(Sent<JobQuery>(out_).size(), 1u) << report.index();
    EXPECT_EQ(Sent<JobQuery>(out_)[0].first, 0u);
  }
  Take(0, JobQueryReply{"x", JobVerdict::kNoRecord});
  const auto replies = Sent<JobQueryReply>(out_);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].first, 3u);
}

TEST_F(JobMessagesTest, TheEndIsAcceptedOnlyFromTheRouteOrTheRoot) {
  Take(0, Prepare());
  Take(4, JobForget{"job"});
  EXPECT_TRUE(Knows());
  EXPECT_EQ(Sent<JobQuery>(out_)[0].first, 0u);
  Take(0, JobQueryReply{"job", JobVerdict::kEnded});
  EXPECT_FALSE(Knows());
  EXPECT_TRUE(resync_.HasEnded("job"));
  // A late JobPrepare does not start the job again.
  Take(0, Prepare());
  EXPECT_FALSE(Knows());
}

TEST_F(JobMessagesTest, AQueryFromTheControllerEndsTheJob) {
  Take(0, Prepare());
  Take(3, JobQuery{"job"});
  EXPECT_TRUE(Knows());
  Take(0, JobQuery{"job"});
  EXPECT_FALSE(Knows());
}

TEST_F(JobMessagesTest, AReportOfLostRanksMarksTheirNodesAsLost) {
  Take(0, Prepare());
  Take(3, NodeLost{"job", {1, 99}});
  EXPECT_EQ(jobs_.Find("job")->part.place().lost(), std::set<NodeId>{3});
  EXPECT_EQ(Sent<NodeLost>(out_).size(), 1u);
}

TEST_F(JobMessagesTest, MessagesDuringAReleaseAreDeferred) {
  Take(0, Prepare());
  Take(0, JobStart{"job"});
  Take(0, JobForget{"job"});
  ASSERT_TRUE(Knows());
  EXPECT_TRUE(jobs_.Find("job")->releasing());
  Take(0, Prepare());
  Take(0, JobStart{"job"});
  EXPECT_EQ(jobs_.Find("job")->deferred.size(), 2u);
}

TEST_F(JobMessagesTest, StreamMessagesAreHandledAtTheController) {
  Take(0, Prepare());
  EXPECT_TRUE(Take(3, OutputData{"job", 1, 2, Bytes("x")}));
  EXPECT_TRUE(out_.empty());
  Take(0, OutputCredit{"job", 1, 1, true});
  EXPECT_EQ(All<CreditOutput>(out_).size(), 1u);
  EXPECT_EQ(All<ResendOutput>(out_).size(), 1u);
}

}  // namespace
}  // namespace canopy::core
