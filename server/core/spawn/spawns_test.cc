#include "server/core/spawn/spawns.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/status.h"
#include "server/core/core_testing.h"
#include "server/core/spawn/tool_spawns.h"
#include "server/core/tree.h"

namespace canopy::core {
namespace {

constexpr ClientId kClient = 7;
constexpr NodeId kController = 0;

// One agent of two. Rank r of "job" runs on agent r; agent 0 controls the job.
struct Agent {
  explicit Agent(NodeId self)
      : tree(2, 32),
        table(self),
        engine(self, names, tree, table),
        spawns(self, table, engine) {
    table.Add(JobOn("job", {0, 1}));
    table.Connect(kClient, {"job", self});
  }

  Actions Arrive(RequestId request, ClientId client = kClient) {
    Actions out;
    spawns.OnArrived({0, out}, {client, request, Bytes(std::string("call"))});
    return out;
  }
  Actions Request(NodeId src, const SpawnRequest& request) {
    Actions out;
    spawns.OnRequest({0, out}, src, request);
    return out;
  }
  Actions Done(const SpawnDone& done) {
    Actions out;
    spawns.OnDone({0, out}, done);
    return out;
  }
  Actions SendAgain() {
    Actions out;
    spawns.OnTreeChanged({0, out});
    return out;
  }
  Actions Reply(const SpawnReply& reply) {
    Actions out;
    spawns.OnReply({0, out}, reply);
    return out;
  }

  Tree tree;
  JobTable table;
  const std::vector<std::string> names = {"n0", "n1"};
  JobEngine engine;
  Spawns spawns;
};

const ProcId kFar{"job", 1};

SpawnRequest FarRequest(RequestId request) {
  return {kFar, request, Bytes(std::string("call"))};
}

TEST(SpawnsTest, ARequestIsSentToTheControllerAndAnsweredToTheClient) {
  Agent agent(1);
  const auto sent = Sent<SpawnRequest>(agent.Arrive(5));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].first, kController);
  EXPECT_EQ(sent[0].second.proc, kFar);
  EXPECT_EQ(sent[0].second.request, 5u);
  EXPECT_EQ(sent[0].second.call.view(), "call");
  EXPECT_EQ(agent.spawns.num_pending(), 1u);

  const SpawnReply reply{kFar, 5, kSuccess, "child", {}};
  EXPECT_FALSE(agent.spawns.Awaits(1, reply)) << "not by the controller";
  ASSERT_TRUE(agent.spawns.Awaits(kController, reply));
  const auto replies = All<ReplyClient>(agent.Reply(reply));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].client, kClient);
  EXPECT_EQ(replies[0].request, 5u);
  EXPECT_EQ(replies[0].status, kSuccess);
  EXPECT_EQ(replies[0].payload.view(), "child");
  EXPECT_EQ(agent.spawns.num_pending(), 0u);
  EXPECT_FALSE(agent.spawns.Awaits(kController, reply));
}

TEST(SpawnsTest, ASpawnerOnTheControllersNodeNeedsNoMessage) {
  Agent agent(0);
  const auto executed = All<HostSpawn>(agent.Arrive(5));
  ASSERT_EQ(executed.size(), 1u);
  EXPECT_EQ(executed[0].proc, (ProcId{"job", 0}));
  const auto replies =
      All<ReplyClient>(agent.Done({{"job", 0}, 5, kErrJobExeNotFound, ""}));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].status, kErrJobExeNotFound);
}

TEST(SpawnsTest, TheAnswerContainsTheMapAndRegistersTheReader) {
  Agent agent(0);
  agent.Request(1, FarRequest(5));
  agent.table.Add(JobOn("child", {0}));
  const auto sent = Sent<SpawnReply>(agent.Done({kFar, 5, kSuccess, "child"}));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].first, 1u);
  EXPECT_EQ(sent[0].second.nspace, "child");
  EXPECT_EQ(sent[0].second.spec.view(),
            EncodeJobSpec(*agent.table.Find("child")->spec));
  EXPECT_TRUE(agent.table.Find("child")->readers.contains(1));
}

TEST(SpawnsTest, ARepeatedRequestIsExecutedOnce) {
  Agent agent(0);
  EXPECT_EQ(All<HostSpawn>(agent.Request(1, FarRequest(5))).size(), 1u);
  EXPECT_TRUE(agent.Request(1, FarRequest(5)).empty());
  agent.Done({kFar, 5, kSuccess, "child"});
  const auto sent = Sent<SpawnReply>(agent.Request(1, FarRequest(5)));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].second.nspace, "child");
  EXPECT_EQ(All<HostSpawn>(agent.Request(1, FarRequest(6))).size(), 1u);
}

TEST(SpawnsTest, TheLastAnswersToAProcessAreKept) {
  Agent agent(0);
  for (RequestId r = 1; r <= Spawns::kMaxHeld + 1; ++r) {
    agent.Request(1, FarRequest(r));
    agent.Done({kFar, r, kErrJobFailedToMap, ""});
  }
  EXPECT_TRUE(All<HostSpawn>(agent.Request(1, FarRequest(2))).empty());
  EXPECT_FALSE(All<HostSpawn>(agent.Request(1, FarRequest(1))).empty());
}

TEST(SpawnsTest, ASpawnOfThePredecessorIsNotExecutedAgain) {
  Agent agent(0);
  agent.spawns.OnRecovered({kFar, 5});
  EXPECT_TRUE(agent.Request(1, FarRequest(5)).empty());
  EXPECT_EQ(Sent<SpawnReply>(agent.Done({kFar, 5, kSuccess, "child"})).size(),
            1u);
}

// A successor receives the result before it knows the spawner's job.
TEST(SpawnsTest, ASpawnAnsweredByThePredecessorIsAnsweredAgain) {
  Agent agent(0);
  const ProcId spawner{"later", 1};
  agent.spawns.OnRecovered({spawner, 5});
  agent.Done({spawner, 5, kSuccess, "child"});
  agent.table.Add(JobOn("later", {0, 1}));
  const Actions actions = agent.Request(1, {spawner, 5, {}});
  EXPECT_TRUE(All<HostSpawn>(actions).empty());
  EXPECT_EQ(Sent<SpawnReply>(actions).size(), 1u);
}

TEST(SpawnsTest, SpawnsForProcessesOfOtherAgentsAreIgnored) {
  Agent agent(0);
  EXPECT_TRUE(agent.Request(1, {{"job", 0}, 5, {}}).empty());
  EXPECT_TRUE(agent.Request(1, {{"job", 2}, 5, {}}).empty());
  EXPECT_TRUE(agent.Request(1, {{"none", 1}, 5, {}}).empty());
  EXPECT_EQ(agent.spawns.num_pending(), 0u);
}

TEST(SpawnsTest, RequestsAreSentAgainUntilTheyAreAnswered) {
  Agent agent(1);
  agent.Arrive(5);
  EXPECT_EQ(Sent<SpawnRequest>(agent.SendAgain()).size(), 1u);
  agent.Reply({kFar, 5, kErrJobFailedToMap, "", {}});
  EXPECT_TRUE(agent.SendAgain().empty());
}

TEST(SpawnsTest, AClientThatReattachesGetsTheAnswer) {
  Agent agent(1);
  agent.Arrive(5);
  agent.table.Connect(kClient + 1, kFar);
  EXPECT_TRUE(agent.Arrive(5, kClient + 1).empty());
  Actions none;
  agent.spawns.OnClientGone({0, none}, kClient);
  EXPECT_TRUE(none.empty());
  const auto replies =
      All<ReplyClient>(agent.Reply({kFar, 5, kSuccess, "child", {}}));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].client, kClient + 1);
}

TEST(SpawnsTest, TooManyAndTooLargeRequestsAreRefused) {
  Agent agent(1);
  for (RequestId r = 1; r <= Spawns::kMaxHeld; ++r) agent.Arrive(r);
  const auto refused = All<ReplyClient>(agent.Arrive(Spawns::kMaxHeld + 1));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].status, kErrOutOfResource);

  Agent other(1);
  Actions out;
  other.spawns.OnArrived(
      {0, out}, {kClient, 1, Bytes(std::string(Spawns::kMaxCall + 1, 'x'))});
  ASSERT_EQ(All<ReplyClient>(out).size(), 1u);
  EXPECT_EQ(All<ReplyClient>(out)[0].status, kErrOutOfResource);
}

TEST(SpawnsTest, UnknownClientsAreRefused) {
  Agent agent(1);
  EXPECT_EQ(All<ReplyClient>(agent.Arrive(1, 99))[0].status, kErrInit);
}

// ------------------------------------------------------------------ tools ---

constexpr ClientId kToolClient = 8;
const ProcId kTool{"tool", 0};

SpawnRequest ToolRequest(RequestId request) {
  return {kTool, kSpawnsOfTools + request, Bytes(std::string("call"))};
}

TEST(SpawnsTest, TheRootExecutesASpawnOfAToolOnce) {
  Agent near(1);
  near.table.ConnectTool(kToolClient, kTool, {});
  const auto sent = Sent<SpawnRequest>(near.Arrive(5, kToolClient));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].first, 0u);
  EXPECT_EQ(sent[0].second.request, kSpawnsOfTools + 5);

  Agent root(0);
  EXPECT_EQ(All<HostSpawn>(root.Request(1, sent[0].second)).size(), 1u);
  EXPECT_TRUE(root.Request(1, sent[0].second).empty());
  root.table.Add(JobOn("child", {0}));
  const auto replies = Sent<SpawnReply>(
      root.Done({kTool, kSpawnsOfTools + 5, kSuccess, "child"}));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].first, 1u);
  ASSERT_TRUE(near.spawns.Awaits(0, replies[0].second));
  const auto told = All<ReplyClient>(near.Reply(replies[0].second));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].client, kToolClient);
  EXPECT_EQ(told[0].request, 5u);
  EXPECT_EQ(Sent<SpawnReply>(root.Request(1, sent[0].second)).size(), 1u);
}

// Otherwise two agents could execute one request.
TEST(SpawnsTest, TheSpawnsOfAToolStayWithTheAgentThatWasTheLeaderAtFirst) {
  Agent near(1);
  near.table.ConnectTool(kToolClient, kTool, {});
  EXPECT_EQ(Sent<SpawnRequest>(near.Arrive(5, kToolClient)).at(0).first, 0u);
  near.tree.SetInService(0, false);
  EXPECT_EQ(Sent<SpawnRequest>(near.SendAgain()).at(0).first, 0u);
  EXPECT_EQ(Sent<SpawnRequest>(near.Arrive(6, kToolClient)).at(0).first, 0u);
  EXPECT_TRUE(near.spawns.Awaits(
      0, {kTool, kSpawnsOfTools + 5, kSuccess, "child", {}}));
  Actions gone;
  near.spawns.OnClientGone({0, gone}, kToolClient);
  EXPECT_EQ(Sent<SpawnRequest>(gone).at(0).first, 0u);
}

TEST(SpawnsTest, TheJobsOfAToolOfAnotherUserGetItsOwner) {
  Agent near(1);
  near.table.ConnectTool(kToolClient, kTool, {7, 8}, /*of_other_user=*/true);
  const auto sent = Sent<SpawnRequest>(near.Arrive(5, kToolClient));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_TRUE(sent[0].second.has_owner);
  Agent root(0);
  const auto host = All<HostSpawn>(root.Request(1, sent[0].second));
  ASSERT_EQ(host.size(), 1u);
  ASSERT_TRUE(host[0].owner);
  EXPECT_EQ(host[0].owner->uid, 7u);
  EXPECT_EQ(host[0].owner->gid, 8u);
}

TEST(SpawnsTest, TheEndOfAToolIsReportedToTheHost) {
  Agent near(1);
  near.table.ConnectTool(kToolClient, kTool, {});
  Actions gone;
  near.spawns.OnClientGone({0, gone}, kToolClient);
  const auto sent = Sent<SpawnRequest>(gone);
  ASSERT_EQ(sent.size(), 1u);

  Agent root(0);
  EXPECT_TRUE(root.Request(1, sent[0].second).empty()) << "it spawned nothing";
  root.Request(1, ToolRequest(5));
  EXPECT_TRUE(root.Request(0, sent[0].second).empty()) << "another's";
  const auto told = All<HostSpawn>(root.Request(1, sent[0].second));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].proc, kTool);
  EXPECT_TRUE(told[0].call.empty());
  EXPECT_EQ(root.spawns.num_pending(), 0u);
}

TEST(SpawnsTest, TheLossOfANodeEndsItsTools) {
  Agent root(0);
  root.Request(1, ToolRequest(5));
  Actions actions;
  root.spawns.OnNodeLost({0, actions}, {0, false, ""});
  EXPECT_TRUE(actions.empty());
  root.spawns.OnNodeLost({0, actions}, {1, false, ""});
  EXPECT_EQ(All<HostSpawn>(actions).size(), 1u);
  root.Done({kTool, kSpawnsOfTools + 5, kSuccess, "child"});
  EXPECT_EQ(root.spawns.num_answered(), 0u);
}

TEST(SpawnsTest, TheEndOfAJobDropsItsRequests) {
  Agent agent(0);
  agent.Arrive(1);
  agent.Request(1, FarRequest(5));
  EXPECT_EQ(agent.spawns.num_pending(), 3u) << "one is held and executed";
  agent.Request(1, FarRequest(6));
  agent.Done({kFar, 6, kSuccess, "child"});
  EXPECT_EQ(agent.spawns.num_answered(), 1u);
  agent.table.Remove("job");
  Actions none;
  agent.spawns.OnJobRemoved({0, none}, {"job"});
  EXPECT_EQ(agent.spawns.num_pending(), 0u);
  agent.Done({kFar, 5, kSuccess, "child"});
  EXPECT_EQ(agent.spawns.num_answered(), 0u) << "it comes too late";
}

TEST(SpawnsTest, WhyNamesTheSpawner) {
  Agent agent(1);
  agent.Arrive(5);
  std::vector<Waiting> waiting;
  agent.spawns.Describe(3'000'000, "job", &waiting);
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0].operation, "spawn by rank 1");
  EXPECT_EQ(waiting[0].age_ms, 3u);
  waiting.clear();
  agent.spawns.Describe(0, "other", &waiting);
  EXPECT_TRUE(waiting.empty());
}

}  // namespace
}  // namespace canopy::core
