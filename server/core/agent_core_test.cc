// Tests of the dispatcher: how a single agent handles its inputs. tests/sim
// tests several agents together.
#include "server/core/agent_core.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/job.h"
#include "common/status.h"
#include "server/core/agent_core_testing.h"
#include "server/core/core_testing.h"
#include "server/core/event/lifecycle.h"
#include "server/core/why.h"

namespace canopy::core {
namespace {

constexpr TimeNs kMs = 1'000'000;

using AgentCoreTest = OneAgentTest;

TEST_F(AgentCoreTest, RequestsOfUnknownClientsAreRefused) {
  for (const ProcId& proc :
       {ProcId{"job", 2}, ProcId{"none", 0}, ProcId{"job", kRankWildcard}}) {
    const auto closed = All<CloseClient>(Step(ClientConnected{9, proc}));
    ASSERT_EQ(closed.size(), 1u);
    EXPECT_EQ(closed[0].client, 9u);
  }
}

TEST_F(AgentCoreTest, AbortsMustNameExistingRanks) {
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

// ------------------------------------------------------ lifecycle events ---

class LifecycleCoreTest : public AgentCoreTest {
 protected:
  LifecycleCoreTest() {
    // Starts a second job, which continues when "job" ends.
    Step(LaunchRequested{JobOn("watch", {0})});
    Step(LocalPrepared{"watch", 0, ""});
    Step(LocalStarted{"watch", 1, 0, ""});
    Step(ClientConnected{3, {"watch", 0}});
    Step(EventsWanted{
        3,
        9,
        false,
        {kEventProcTerminated, kErrProcAbortedBySig, kErrProcKilledByCmd,
         kErrExitNonzeroTerm, kErrProcFailedToStart, kEventNodeDown,
         kEventNodeOffline, kErrJobAbortedBySysEvent}});
  }
  // Handles the input. Returns the events that the watcher gets then, with
  // their ranks.
  using Heard = std::vector<std::pair<int, Rank>>;
  Heard HearOf(Input input) {
    Heard out;
    for (const NotifyClient& notice : All<NotifyClient>(Step(input))) {
      if (notice.client == 3) {
        out.emplace_back(notice.event->status, notice.event->source.rank);
      }
    }
    return out;
  }
};

TEST_F(LifecycleCoreTest, TheEndOfAProcessRaisesEventsForItsCause) {
  constexpr int kCrash = 11;
  constexpr int kTerminated = 15;
  EXPECT_EQ(HearOf(LocalExits{"job", {{0, kCrash}}}),
            (Heard{{kEventProcTerminated, 0}, {kErrProcAbortedBySig, 0}}));
  // The crash of rank 0 ends the job, so rank 1 ends on request.
  EXPECT_EQ(HearOf(LocalExits{"job", {{1, kTerminated}}}),
            (Heard{{kEventProcTerminated, 1}, {kErrProcKilledByCmd, 1}}));
}

TEST_F(LifecycleCoreTest, AProcessThatIsRequestedToEndIsReportedAsKilled) {
  Step(AbortArrived{1, 8, 9, "enough", {{"job", 1}}});
  EXPECT_EQ(HearOf(LocalExits{"job", {{1, 15}}}),
            (Heard{{kEventProcTerminated, 1}, {kErrProcKilledByCmd, 1}}));
}

// Only this event ends the leader's wait, because the leader's own job
// continues.
TEST_F(LifecycleCoreTest, TheLeaderLearnsThatAnInvitedProcessesJobEnds) {
  constexpr int kInvited = -159;
  constexpr int kInviteFailed = -163;
  Step(EventsWanted{3, 10, false, {kInviteFailed}});
  Encoder info;
  info.PutSize(1);
  info.PutString("pmix.grp.id");
  info.PutUint32(0);
  info.PutUint16(PMIX_STRING);
  info.PutString("g");
  EventRaised invitation;
  invitation.client = 3;
  invitation.request = invitation.id = 11;
  invitation.status = kInvited;
  invitation.range = 6;  // PMIX_RANGE_CUSTOM
  invitation.targets = {{"job", 0}};
  invitation.info = Bytes(info.Take());
  Step(invitation);
  Step(KillRequested{"job", 0, ""});
  const Heard heard = HearOf(LocalExits{"job", {{0, 15}}});
  EXPECT_EQ(std::ranges::count(heard, std::pair(kInviteFailed, Rank{0})), 1);
}

TEST_F(LifecycleCoreTest, AFailedStartRaisesAnEventForEachProcess) {
  Step(LaunchRequested{JobOn("none", {0, 0})});
  Step(LocalPrepared{"none", 0, ""});
  EXPECT_EQ(HearOf(LocalStarted{"none", 0, kErrJobSysOpFailed, "no"}),
            (Heard{{kErrProcFailedToStart, 0}, {kErrProcFailedToStart, 1}}));
}

TEST_F(LifecycleCoreTest, LossAndLeaveOfANodeRaiseDifferentEvents) {
  EXPECT_EQ(HearOf(NodeStateChanged{1, false, "gone", 5}),
            (Heard{{kEventNodeDown, 1}}));
  EXPECT_TRUE(HearOf(NodeStateChanged{1, true, ""}).empty());
  EXPECT_EQ(HearOf(NodeStateChanged{1, false, "left", 6, true}),
            (Heard{{kEventNodeOffline, 1}}));
  Step(NodeStateChanged{1, true, ""});
  // This agent was cut off. The other agent was not lost.
  EXPECT_TRUE(HearOf(NodeStateChanged{1, false, "cut off"}).empty());
}

TEST(LifecycleOfOthers, TheLossOfTheControllerIsReportedForItsJob) {
  CoreConfig config;
  config.self = 1;
  config.node_names = {"a", "b"};
  AgentCore core(config);
  const JobPrepare prepare{Bytes(EncodeJobSpec(*JobOn("job", {0, 1}))), 0, {}};
  core.Step(0, PeerArrived{{0, 1, prepare}});
  core.Step(0, ClientConnected{5, {"tool", 0}, true});
  core.Step(0, EventsWanted{5, 9, false, {kErrJobAbortedBySysEvent}});
  const auto told =
      All<NotifyClient>(core.Step(0, NodeStateChanged{0, false, "gone", 5}));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].event->source, (ProcId{"job", kRankWildcard}));
}

TEST_F(AgentCoreTest, TheActionThatPublishesACommitContainsTheRequest) {
  const Actions actions = Step(Committed{1, 7, {{Scope::kGlobal, Kval("k")}}});
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(std::get<PublishRank>(actions[0]).client, 1u);
  EXPECT_EQ(std::get<PublishRank>(actions[0]).request, 7u);
  const Actions taken =
      Step(CommitTaken{{"job", 0}, {{Scope::kGlobal, Kval("k2")}}});
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(std::get<PublishRank>(taken[0]).request, 0u);
}

TEST_F(AgentCoreTest, ACommitAnswersWaitingGets) {
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

TEST_F(AgentCoreTest, ACommitFromAMailboxIsPublishedWithoutAConnection) {
  Step(ClientGone{1});
  const Actions actions =
      Step(CommitTaken{{"job", 0}, {{Scope::kGlobal, Kval("k")}}});
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(std::get<PublishRank>(actions[0]).proc, (ProcId{"job", 0}));
}

TEST_F(AgentCoreTest, CommitsOfOtherProcessesAreIgnored) {
  for (const ProcId& proc : {ProcId{"job", 2}, ProcId{"none", 0}}) {
    EXPECT_TRUE(Step(CommitTaken{proc, {{Scope::kGlobal, Kval("k")}}}).empty());
  }
  EXPECT_TRUE(
      Step(CommitTaken{{"job", 0}, {{Scope::kGlobal, Bytes("\xff")}}}).empty());
}

TEST_F(AgentCoreTest, TheCoreRequestsATimerForTheEarliestDeadline) {
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
  // The new deadline is not earlier, so the timer stays.
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

TEST_F(AgentCoreTest, MessagesForOtherAgentsAreIgnored) {
  EXPECT_TRUE(Step(PeerArrived{{1, 1, StateQuery{1, "why", ""}}}).empty());
  EXPECT_EQ(Step(PeerArrived{{1, 0, StateQuery{1, "why", ""}}}).size(), 1u);
}

TEST_F(AgentCoreTest, AStateRequestReturnsTheAgentsState) {
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

TEST_F(AgentCoreTest, ANodeStateIsHandledOnceAndNeverForTheAgentItself) {
  EXPECT_TRUE(Step(NodeStateChanged{0, false, ""}).empty());
  EXPECT_TRUE(Step(NodeStateChanged{7, false, ""}).empty());
  EXPECT_EQ(All<LogLine>(Step(NodeStateChanged{1, false, "gone"})).size(), 1u);
  EXPECT_TRUE(Step(NodeStateChanged{1, false, "gone"}).empty());
  EXPECT_EQ(All<LogLine>(Step(NodeStateChanged{1, true, ""})).size(), 1u);
}

TEST_F(AgentCoreTest, WhetherAnExitIsAFailureDependsOnFinalize) {
  Step(FinalizeArrived{1, 1});
  Step(ClientGone{1});
  ProcExit exit;
  exit.rank = 0;
  // The exit is normal, so no event is raised, and the job continues.
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

TEST_F(AgentCoreTest, AChildGetsDataOfItsParentAfterItsEnd) {
  auto child = std::make_shared<JobSpec>(*JobOn("child", {0}));
  child->parent = {"job", 0};
  Step(LaunchRequested{child});
  Step(LocalPrepared{"child", 0, ""});
  Step(LocalStarted{"child", 1, 0, ""});
  Step(ClientConnected{5, {"child", 0}});
  for (const ClientId client : {1, 2}) Step(FinalizeArrived{client, 1});
  for (const Rank rank : {0, 1}) {
    Step(LocalExits{"job", {{rank, 0, false, true, true}}});
    for (const uint16_t channel : {2, 4}) {
      Step(LocalOutput{"job", rank, channel, {}, 0});
    }
  }
  const auto ask = [&](const std::string& key) {
    GetArrived get;
    get.client = 5;
    get.request = 9;
    get.target = {"job", kRankWildcard};
    get.key = key;
    return Step(get);
  };
  const Actions known = ask("pmix.job.size");
  ASSERT_EQ(known.size(), 2u);
  EXPECT_EQ(std::get<RegisterJob>(known[0]).job->nspace, "job");
  EXPECT_EQ(std::get<ReplyClient>(known[1]).status, kSuccess);
  EXPECT_EQ(All<ReplyClient>(ask("of the parent"))[0].status, kErrNotFound);
  // Nothing is known about the processes of a former parent.
  GetArrived pid;
  pid.client = 5;
  pid.request = 10;
  pid.target = {"job", 0};
  pid.key = "pmix.ppid";
  const auto none = All<ReplyClient>(Step(pid));
  ASSERT_EQ(none.size(), 1u);
  EXPECT_EQ(none[0].status, kErrNotFound);
  Step(FinalizeArrived{5, 2});
  Step(LocalExits{"child", {{0, 0, false, true, true}}});
  Actions last;
  for (const uint16_t channel : {2, 4}) {
    last = Step(LocalOutput{"child", 0, channel, {}, 0});
  }
  std::vector<std::string> dropped;
  for (const DropJob& drop : All<DropJob>(last)) dropped.push_back(drop.nspace);
  std::ranges::sort(dropped);
  EXPECT_EQ(dropped, (std::vector<std::string>{"child", "job"}));
  EXPECT_EQ(core_.Count().jobs, 0u);
}

}  // namespace
}  // namespace canopy::core
