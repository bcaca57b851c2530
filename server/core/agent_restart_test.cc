// Tests of one agent when a rank gets a new process, when the agent is a
// successor, and when it was cut off.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "common/status.h"
#include "server/core/agent_core.h"
#include "server/core/agent_core_testing.h"
#include "server/core/core_testing.h"
#include "server/core/publish/publishing_testing.h"

namespace canopy::core {
namespace {

constexpr TimeNs kMs = 1'000'000;

std::shared_ptr<const JobSpec> RestartableJob() {
  auto job = std::make_shared<JobSpec>(*JobOn("job", {0, 0}));
  job->max_restarts = 1;
  return job;
}

// Ranks may be restarted once.
class RestartCoreTest : public OneAgentTest {
 protected:
  RestartCoreTest() : OneAgentTest(RestartableJob()) {}
  Actions Exit(Rank rank, uint32_t incarnation) {
    return Step(
        LocalExits{"job", {{rank, 9, false, false, false, incarnation}}});
  }
  Input Fence(ClientId client, RequestId request) {
    CollectiveArrived in;
    in.client = client;
    in.request = request;
    return in;
  }
};

TEST_F(RestartCoreTest, AFenceWaitsForTheNextProcess) {
  Step(Fence(1, 5));
  EXPECT_TRUE(All<ReplyClient>(Step(ClientGone{2})).empty());
  const Actions actions = Exit(1, 0);
  EXPECT_TRUE(All<ReplyClient>(actions).empty());
  ASSERT_EQ(All<RestartLocal>(actions).size(), 1u);
  Step(ClientConnected{3, {"job", 1}});
  const auto replies = All<ReplyClient>(Step(Fence(3, 1)));
  ASSERT_EQ(replies.size(), 2u);
  for (const ReplyClient& reply : replies) EXPECT_EQ(reply.status, kSuccess);
}

TEST_F(RestartCoreTest, AFenceFailsWhenTheLastProcessOfARankIsGone) {
  Step(Fence(1, 5));
  Exit(1, 0);
  // The connection of rank 1's first process ends only after the process
  // itself.
  EXPECT_TRUE(All<ReplyClient>(Step(ClientGone{2})).empty());
  Step(ClientConnected{3, {"job", 1}});
  const auto replies = All<ReplyClient>(Step(ClientGone{3}));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_NE(replies[0].status, kSuccess);
}

TEST_F(RestartCoreTest, ANewProcessSkipsFencesThatHaveFailed) {
  CollectiveArrived timed = std::get<CollectiveArrived>(Fence(1, 5));
  timed.timeout_ms = 1;
  Step(timed);
  now_ += kMs;
  const auto expired = All<ReplyClient>(Step(Tick{}));
  ASSERT_EQ(expired.size(), 1u);
  EXPECT_EQ(expired[0].status, kErrTimeout);
  Exit(1, 0);
  Step(ClientConnected{3, {"job", 1}});
  EXPECT_TRUE(All<ReplyClient>(Step(Fence(3, 1))).empty());
  EXPECT_EQ(All<ReplyClient>(Step(Fence(1, 6))).size(), 2u);
}

TEST_F(RestartCoreTest, ARestartIsAnEventForClientsThatRegisteredForIt) {
  Step(EventsWanted{1, 3, false, {kErrProcRestart, kErrProcAborted}});
  const auto told = All<NotifyClient>(Exit(1, 0));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].event->status, kErrProcRestart);
  EXPECT_EQ(told[0].event->source, (ProcId{"job", 1}));
}

TEST_F(RestartCoreTest, RequestsOfARestartedProcessHaveNewNumbers) {
  const auto first = All<HostSpawn>(Step(SpawnArrived{2, 7, {}}));
  ASSERT_EQ(first.size(), 1u);
  Step(SpawnDone{{"job", 1}, first[0].request, kErrJobFailedToLaunch, ""});
  Exit(1, 0);
  Step(ClientConnected{3, {"job", 1}});
  const auto next = All<HostSpawn>(Step(SpawnArrived{3, 7, {}}));
  ASSERT_EQ(next.size(), 1u);
  EXPECT_NE(next[0].request, first[0].request);
  const auto replies = All<ReplyClient>(
      Step(SpawnDone{{"job", 1}, next[0].request, kErrJobFailedToLaunch, ""}));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].request, 7u);
}

// The rank is restarted, and then the agent. The process of the rank continues.
TEST(RestartRecovery, PublicationsOfTheNewProcessAreRecovered) {
  CoreConfig config;
  config.node_names = {"a"};
  config.persists = true;
  auto job = std::make_shared<JobSpec>(*JobOn("job", {0}));
  job->max_restarts = 1;
  JobRecovered recovered{job, true, {}, {}};
  const auto step = [&](AgentCore& core, Input input) {
    Actions actions = core.Step(0, std::move(input));
    for (const PersistRecord& record : All<PersistRecord>(actions)) {
      recovered.records.push_back({record.key, record.value});
    }
    for (const auto& state : All<PersistControlState>(actions)) {
      recovered.control = state.state;
    }
    return actions;
  };
  AgentCore core(config);
  step(core, LaunchRequested{job, true});
  step(core, LocalPrepared{"job", 0, ""});
  step(core, LocalStarted{"job", 1, 0, ""});
  step(core, LocalExits{"job", {{0, 9}}});
  step(core, ClientConnected{1, {"job", 0}});
  const Bytes data = Persisting(Persistence::kProc).Text("key", "value").Take();
  const auto replies = All<ReplyClient>(step(core, PublishArrived{1, 5, data}));
  ASSERT_EQ(replies.size(), 1u);
  ASSERT_EQ(replies[0].status, kSuccess);
  recovered.incarnations = {{0, 1}};

  AgentCore successor(config);
  Actions actions = successor.Step(0, recovered);
  ASSERT_EQ(All<SetIncarnation>(actions).size(), 1u);
  EXPECT_EQ(All<SetIncarnation>(actions)[0].incarnation, 1u);
  EXPECT_GE(successor.Count().publications, 1u);
  // A repetition of the second process's publishing call is recognised.
  successor.Step(0, ClientConnected{2, {"job", 0}});
  const auto again =
      All<ReplyClient>(successor.Step(0, PublishArrived{2, 5, data}));
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].status, kSuccess);
}

// Agent 3 is below agent 1, which forwards messages for a job that agent 0
// controls, and which is replaced. A fence is over at agent 3 but may not be
// over at other agents below agent 1.
TEST(ReturnOfParentTest, TheAgentReportsEndedCollectivesBeforeLaterLeaves) {
  CoreConfig config;
  config.self = 3;
  config.node_names = {"a", "b", "c", "d"};
  config.radix = 2;
  AgentCore core(config);
  const auto step = [&](Input input) { return core.Step(0, std::move(input)); };
  const auto from_parent = [&](MessageBody body) {
    step(PeerArrived{{1, 3, std::move(body)}});
  };
  from_parent(JobPrepare{Bytes(EncodeJobSpec(*JobOn("job", {0, 3}))), 0, {}});
  step(LocalPrepared{"job", 0, ""});
  from_parent(JobStart{"job", 0});
  step(LocalStarted{"job", 1, 0, ""});
  step(ClientConnected{1, {"job", 1}});
  CollectiveArrived fence;
  fence.client = fence.request = 1;
  step(fence);
  from_parent(CollectiveDown{
      {CollectiveOp::kFence, {{"job", kRankWildcard}}, 0}, kSuccess, {}, {}});
  step(FinalizeArrived{1, 2});
  step(LocalExits{"job", {{1, 0, false, true, true}}});
  step(NodeStateChanged{1, false, "gone"});
  const auto sent = All<SendPeer>(step(NodeStateChanged{1, true, ""}));
  const auto first = [&]<typename Body>(const Body*) {
    return std::ranges::find_if(sent, [](const SendPeer& send) {
      return std::holds_alternative<Body>(send.message.body);
    });
  };
  const auto exits = first(static_cast<const JobExits*>(nullptr));
  ASSERT_NE(exits, sent.end());
  EXPECT_LT(first(static_cast<const CollectiveUp*>(nullptr)), exits);
}

// Agent 1 was cut off and has ended its part of a job that continues. It gets
// the map again when a collective of that job passes it.
TEST(LostPartTest, ACollectiveDoesNotAwaitRanksOfAnEndedPart) {
  CoreConfig config;
  config.self = 1;
  config.node_names = {"a", "b"};
  AgentCore core(config);
  const auto step = [&](Input input) { return core.Step(0, std::move(input)); };
  const auto from_root = [&](MessageBody body) {
    return step(PeerArrived{{0, 1, std::move(body)}});
  };
  const Bytes spec(EncodeJobSpec(*JobOn("job", {0, 1})));
  from_root(JobPrepare{spec, 0, {}});
  step(LocalPrepared{"job", 0, ""});
  step(NodeStateChanged{0, false, "was cut off"});
  step(NodeStateChanged{0, true, ""});
  const std::vector<ProcId> whole = {{"job", kRankWildcard}};
  const auto asked = Sent<JobMapRequest>(from_root(
      CollectiveUp{{CollectiveOp::kConnect, whole, 0}, kSuccess, {}, {}}));
  ASSERT_EQ(asked.size(), 1u);
  from_root(JobMapReply{asked[0].second.request, kSuccess, "job", spec});
  const auto replies =
      Sent<DmodexReply>(from_root(DmodexRequest{4, {"job", 1}, "k", 0, 0}));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].second.status, kErrNotFound);
}

// Agent 1 is new, on a node that was lost with its ranks.
TEST(LostPartTest, RanksOfALostNodeAreNotAwaitedByItsNewAgent) {
  CoreConfig config;
  config.self = 1;
  config.node_names = {"a", "b"};
  AgentCore core(config);
  const auto from_root = [&](MessageBody body) {
    return core.Step(0, PeerArrived{{0, 1, std::move(body)}});
  };
  const std::vector<ProcId> whole = {{"job", kRankWildcard}};
  const auto asked = Sent<JobMapRequest>(from_root(
      CollectiveUp{{CollectiveOp::kConnect, whole, 0}, kSuccess, {}, {}}));
  ASSERT_EQ(asked.size(), 1u);
  const Bytes spec(EncodeJobSpec(*JobOn("job", {0, 1})));
  from_root(JobMapReply{asked[0].second.request, kSuccess, "job", spec, {1}});
  const auto replies =
      Sent<DmodexReply>(from_root(DmodexRequest{4, {"job", 1}, "k", 0, 0}));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].second.status, kErrNotFound);
}

}  // namespace
}  // namespace canopy::core
