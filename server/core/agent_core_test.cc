// The dispatcher: what one agent alone does with its inputs. Agents together
// are in tests/sim.
#include "server/core/agent_core.h"

#include <gtest/gtest.h>

#include "common/status.h"
#include "server/core/core_testing.h"
#include "server/core/why.h"

namespace canopy::core {
namespace {

constexpr TimeNs kMs = 1'000'000;

// Agent 0 of 2, with both ranks of "job" here; clients 1 and 2.
class AgentCoreTest : public testing::Test {
 protected:
  AgentCoreTest() : core_(Config()) {
    Step(LaunchRequested{JobOn("job", {0, 0})});
    Step(LocalPrepared{"job", 0, ""});
    Step(LocalStarted{"job", 2, 0, ""});
    Step(ClientConnected{1, {"job", 0}});
    Step(ClientConnected{2, {"job", 1}});
  }
  static CoreConfig Config() {
    CoreConfig config;
    config.node_names = {"a", "b"};
    config.about = "me";
    return config;
  }
  Actions Step(Input input) { return core_.Step(now_, std::move(input)); }

  AgentCore core_;
  TimeNs now_ = 0;
};

TEST_F(AgentCoreTest, StrangersAreShutOut) {
  for (const ProcId& proc :
       {ProcId{"job", 2}, ProcId{"none", 0}, ProcId{"job", kRankWildcard}}) {
    const auto closed = All<CloseClient>(Step(ClientConnected{9, proc}));
    ASSERT_EQ(closed.size(), 1u);
    EXPECT_EQ(closed[0].client, 9u);
  }
}

TEST_F(AgentCoreTest, AbortsNameRanksThatAreThere) {
  const auto refused =
      All<ReplyClient>(Step(AbortArrived{1, 7, 9, "enough", {{"job", 2}}}));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].status, kErrBadParam);
  const auto executed =
      All<ReplyClient>(Step(AbortArrived{1, 8, 9, "enough", {{"job", 1}}}));
  for (const ReplyClient& reply : executed)
    EXPECT_NE(reply.status, kErrBadParam);
}

TEST_F(AgentCoreTest, ASpawnerHasTheJobsDataBeforeItsAnswer) {
  ASSERT_EQ(All<HostSpawn>(Step(SpawnArrived{1, 7, {}})).size(), 1u);
  Step(LaunchRequested{JobOn("child", {1})});
  const Actions actions = Step(SpawnDone{{"job", 0}, 7, kSuccess, "child"});
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_EQ(std::get<RegisterJob>(actions[0]).job->nspace, "child");
  EXPECT_EQ(std::get<ReplyClient>(actions[1]).payload.view(), "child");
}

TEST_F(AgentCoreTest, WhoPublishesACommitAnswersIt) {
  const Actions actions = Step(Committed{1, 7, {{Scope::kGlobal, Kval("k")}}});
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(std::get<PublishRank>(actions[0]).client, 1u);
  EXPECT_EQ(std::get<PublishRank>(actions[0]).request, 7u);
  const Actions taken =
      Step(CommitTaken{{"job", 0}, {{Scope::kGlobal, Kval("k2")}}});
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(std::get<PublishRank>(taken[0]).request, 0u);
}

TEST_F(AgentCoreTest, CommitAnswersThoseWhoWait) {
  GetArrived get;
  get.client = 2;
  get.request = 8;
  get.target = {"job", 0};
  get.key = "k";
  const Actions asked = Step(get);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(std::get<AwaitCommit>(asked[0]).proc, (ProcId{"job", 0}));
  const Actions actions = Step(Committed{1, 0, {{Scope::kGlobal, Kval("k")}}});
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<PublishRank>(actions[0]));
  EXPECT_EQ(std::get<ReplyClient>(actions[1]).request, 8u);
}

TEST_F(AgentCoreTest, CommitsWithoutAMessageNeedNoConnection) {
  Step(ClientGone{1});
  const Actions actions =
      Step(CommitTaken{{"job", 0}, {{Scope::kGlobal, Kval("k")}}});
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(std::get<PublishRank>(actions[0]).proc, (ProcId{"job", 0}));
}

TEST_F(AgentCoreTest, CommitsOfNobodyHereAreNone) {
  for (const ProcId& proc : {ProcId{"job", 2}, ProcId{"none", 0}}) {
    EXPECT_TRUE(Step(CommitTaken{proc, {{Scope::kGlobal, Kval("k")}}}).empty());
  }
  EXPECT_TRUE(
      Step(CommitTaken{{"job", 0}, {{Scope::kGlobal, Bytes("\xff")}}}).empty());
}

TEST_F(AgentCoreTest, DeadlineIsTheEarliestAndIsMovedOn) {
  CollectiveArrived fence;
  fence.client = 1;
  fence.request = 1;
  fence.timeout_ms = 50;
  auto set = All<SetDeadline>(Step(fence));
  ASSERT_EQ(set.size(), 1u);
  EXPECT_EQ(set[0].when, 50 * kMs);
  GetArrived get;
  get.client = 2;
  get.request = 2;
  get.target = {"job", 0};
  get.key = "k";
  get.timeout_ms = 20;
  set = All<SetDeadline>(Step(get));
  ASSERT_EQ(set.size(), 1u);
  EXPECT_EQ(set[0].when, 20 * kMs);
  // Nothing new: the timer stands.
  get.request = 3;
  get.timeout_ms = 30;
  EXPECT_TRUE(All<SetDeadline>(Step(get)).empty());
  now_ = 20 * kMs;
  const Actions actions = Step(Tick{});
  ASSERT_EQ(All<ReplyClient>(actions).size(), 1u);
  EXPECT_EQ(All<ReplyClient>(actions)[0].status, kErrTimeout);
  ASSERT_EQ(All<SetDeadline>(actions).size(), 1u);
  EXPECT_EQ(All<SetDeadline>(actions)[0].when, 30 * kMs);
}

TEST_F(AgentCoreTest, MessagesForOthersAreIgnored) {
  EXPECT_TRUE(Step(PeerArrived{{1, 1, StateQuery{1, "why", ""}}}).empty());
  EXPECT_EQ(Step(PeerArrived{{1, 0, StateQuery{1, "why", ""}}}).size(), 1u);
}

TEST_F(AgentCoreTest, TellsAboutItself) {
  const auto states =
      All<StateCollected>(Step(StateRequested{3, "status", ""}));
  ASSERT_EQ(states.size(), 1u);
  const auto answer = DecodeStateAnswer(states[0].answer.view());
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->about, "me");
  EXPECT_EQ(answer->parent, kNoNode);
  ASSERT_EQ(answer->jobs.size(), 1u);
  EXPECT_EQ(answer->jobs[0].local_procs, 2u);
  EXPECT_EQ(answer->jobs[0].connected, 2u);
}

TEST_F(AgentCoreTest, NodeStateIsTakenOnceAndNeverOfItself) {
  EXPECT_TRUE(Step(NodeStateChanged{0, false, ""}).empty());
  EXPECT_TRUE(Step(NodeStateChanged{7, false, ""}).empty());
  EXPECT_EQ(All<LogLine>(Step(NodeStateChanged{1, false, "gone"})).size(), 1u);
  EXPECT_TRUE(Step(NodeStateChanged{1, false, "gone"}).empty());
  EXPECT_EQ(All<LogLine>(Step(NodeStateChanged{1, true, ""})).size(), 1u);
}

TEST_F(AgentCoreTest, ExitKnowsWhatTheConnectionKnew) {
  Step(FinalizeArrived{1, 1});
  Step(ClientGone{1});
  ProcExit exit;
  exit.rank = 0;
  // In order: no event, no end of the job.
  EXPECT_TRUE(All<KillLocal>(Step(LocalExits{"job", {exit}})).empty());
  exit.rank = 1;
  const Actions actions = Step(LocalExits{"job", {exit}});
  bool ended = false;
  for (const JobChanged& change : All<JobChanged>(actions)) {
    if (change.phase != JobPhase::kEnded && change.phase != JobPhase::kEnding) {
      continue;
    }
    ended = true;
    EXPECT_EQ(change.first_failed, 1u);
    EXPECT_EQ(change.status, kErrProcTermWoSync);
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace canopy::core
