#include "server/core/dispatch/propagation.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/job.h"
#include "common/status.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

CoreConfig ConfigOf(NodeId self) {
  CoreConfig config;
  config.self = self;
  config.node_names = {"a", "b"};
  return config;
}

GetArrived GetOf(const ProcId& target) {
  GetArrived get;
  get.client = 1;
  get.request = 7;
  get.target = target;
  get.key = "k";
  return get;
}

// Agent 1 of two, with rank 0 of "job" and its client 1.
class PropagationTest : public testing::Test {
 protected:
  PropagationTest() : e_(ConfigOf(1)) {
    e_.jobs.Add(JobOn("job", {1, 1}));
    e_.jobs.Connect(1, {"job", 0});
    PropagateChanges(e_);
    e_.out.clear();
  }
  Actions Propagate() {
    PropagateChanges(e_);
    return std::exchange(e_.out, {});
  }

  Engines e_;
};

TEST_F(PropagationTest, PropagationWithoutChangesCausesNoAction) {
  EXPECT_TRUE(Propagate().empty());
}

TEST_F(PropagationTest, CommittedDataAnswersAWaitingGet) {
  e_.gets.OnGet({0, e_.out}, GetOf({"job", 1}));
  EXPECT_TRUE(All<ReplyClient>(Propagate()).empty());
  ASSERT_TRUE(e_.modex.Commit(0, {"job", 1}, {{Scope::kGlobal, Kval("k")}}));
  const auto replies = All<ReplyClient>(Propagate());
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].status, kSuccess);
  EXPECT_TRUE(Propagate().empty());
}

TEST_F(PropagationTest, AMapThatAnEngineNeedsIsRequested) {
  e_.gets.OnGet({0, e_.out}, GetOf({"strange", 0}));
  const auto requests = Sent<JobMapRequest>(Propagate());
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].first, 0u);
  EXPECT_EQ(requests[0].second.nspace, "strange");
  // The root replies that no agent has the map.
  e_.maps.OnReply(0, {requests[0].second.request, kErrNotFound, "strange", {}});
  const auto replies = All<ReplyClient>(Propagate());
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].status, kErrNotFound);
}

TEST_F(PropagationTest, ARemovedJobIsDroppedByAllEngines) {
  e_.jobs.Register("job", &e_.out);
  ASSERT_TRUE(e_.modex.Commit(0, {"job", 1}, {{Scope::kGlobal, Kval("k")}}));
  Propagate();
  EXPECT_EQ(e_.Count().modex_jobs, 1u);
  e_.jobs.Remove("job");
  // The step already contains the DropJob of another engine.
  e_.out.push_back(DropJob{"job"});
  EXPECT_EQ(All<DropJob>(Propagate()).size(), 1u);
  EXPECT_EQ(e_.Count(), ResourceCounts());
}

// The agent has only forwarded messages of the job, which continues on other
// nodes.
TEST_F(PropagationTest, TheMapOfAJobThatTheAgentLeftIsKeptUntilItsEnd) {
  e_.jobs.Add(JobOn("relayed", {0}));
  Propagate();
  e_.jobs.NoteLeft("relayed", 0);
  const Actions actions = Propagate();
  const auto checks = Sent<JobMapRequest>(actions);
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(checks[0].first, 0u);
  EXPECT_TRUE(checks[0].second.exists_only);
  EXPECT_NE(e_.jobs.Find("relayed"), nullptr);
  e_.maps.OnForget(0, "relayed");
  Propagate();
  EXPECT_EQ(e_.jobs.Find("relayed"), nullptr);
}

TEST_F(PropagationTest, AGoneRankFailsTheFenceThatAwaitsIt) {
  CollectiveArrived fence;
  fence.client = fence.request = 1;
  e_.collectives.OnArrived({0, e_.out}, fence);
  EXPECT_TRUE(Propagate().empty());
  e_.jobs.MarkEnded("job", 1);
  const auto replies = All<ReplyClient>(Propagate());
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_NE(replies[0].status, kSuccess);
}

TEST_F(PropagationTest, AnEventThatIsPostedAgainIsSentOnce) {
  const EventDue due{e_.sets.Define({"job", 0}, 1, "set", {{"job", 1}})};
  e_.queue.Post(due);
  EXPECT_EQ(Sent<EventMessage>(Propagate()).size(), 1u);
  e_.queue.Post(due);
  EXPECT_TRUE(Sent<EventMessage>(Propagate()).empty());
}

// A job may be removed and a job of the same name added in the same step.
TEST_F(PropagationTest, AJobIsDroppedBeforeAJobOfTheSameNameIsAdded) {
  CollectiveArrived fence;
  fence.client = fence.request = 1;
  e_.collectives.OnArrived({0, e_.out}, fence);
  ASSERT_TRUE(e_.modex.Commit(0, {"job", 1}, {{Scope::kGlobal, Kval("k")}}));
  e_.jobs.Remove("job");
  e_.jobs.Add(JobOn("job", {1, 0}));
  Propagate();
  EXPECT_EQ(e_.Count().collectives, 0u);
  EXPECT_EQ(e_.Count().modex_jobs, 0u);
  EXPECT_NE(e_.jobs.Find("job"), nullptr);
}

TEST_F(PropagationTest, AReplyFollowsTheEventThatWasPostedBeforeIt) {
  e_.queue.Post(EventDue{e_.sets.Define({"job", 0}, 1, "set", {{"job", 1}})});
  e_.queue.Post(ReplyDue{{1, 7, kSuccess, {}}});
  const Actions actions = Propagate();
  EXPECT_EQ(Sent<EventMessage>(actions).size(), 1u);
  EXPECT_TRUE(std::holds_alternative<ReplyClient>(actions.back()));
}

// The second deferred message belongs to the job that the first one, a
// JobPrepare, adds.
TEST_F(PropagationTest, ReleasedMessagesAreHandledOneAfterTheOther) {
  const JobPrepare prepare{Bytes(EncodeJobSpec(*JobOn("new", {1}))), 0, {}};
  JobKill kill;
  kill.nspace = "new";
  e_.queue.Post(MessagesReleased{{{0, 1, prepare}, {0, 1, kill}}});
  Propagate();
  ASSERT_NE(e_.jobs.Find("new"), nullptr);
  EXPECT_TRUE(e_.jobs.Find("new")->ending);
}

}  // namespace
}  // namespace canopy::core
