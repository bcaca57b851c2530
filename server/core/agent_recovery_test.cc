// Tests of a successor: the state that it recovers from persisted records, from
// its clients and from its peers.
#include <gtest/gtest.h>

#include <deque>

#include "common/status.h"
#include "server/core/agent_core.h"
#include "server/core/core_testing.h"
#include "server/core/step/client_id.h"

namespace canopy::core {
namespace {

// Agents 0 and 1 with one rank of "job" each; the client of agent n is n + 1.
class RestartTest : public testing::Test {
 protected:
  RestartTest() : job_(JobOn("job", {0, 1})) {
    for (NodeId n = 0; n < 2; ++n) Make(n);
    Step(0, LaunchRequested{job_});
    for (NodeId n = 0; n < 2; ++n) Step(n, LocalPrepared{"job", 0, ""});
    for (NodeId n = 0; n < 2; ++n) Step(n, LocalStarted{"job", 1, 0, ""});
    for (NodeId n = 0; n < 2; ++n) Connect(n);
  }

  void Make(NodeId n) {
    CoreConfig config;
    config.self = n;
    config.node_names = {"a", "b"};
    config.persists = true;
    config.began_at = ++now_;
    cores_[n] = std::make_unique<AgentCore>(config);
  }
  void Connect(NodeId n) { Step(n, ClientConnected{n + 1, {"job", n}}); }

  // Handles the input and everything that follows from it on both nodes.
  void Step(NodeId n, Input input) {
    inputs_.emplace_back(n, std::move(input));
    while (!inputs_.empty()) {
      auto [node, next] = std::move(inputs_.front());
      inputs_.pop_front();
      for (const Action& action : cores_[node]->Step(++now_, std::move(next))) {
        Execute(node, action);
      }
    }
  }
  void Execute(NodeId n, const Action& action) {
    if (const auto* send = std::get_if<SendPeer>(&action)) {
      if (const auto* ask = std::get_if<DmodexRequest>(&send->message.body)) {
        last_ask_ = *ask;
      }
      if (std::holds_alternative<JobExits>(send->message.body)) {
        exits_to_.push_back(send->message.dst);
      }
      if (!cut_) {
        inputs_.emplace_back(send->message.dst, PeerArrived{send->message});
      }
    } else if (const auto* record = std::get_if<PersistRecord>(&action)) {
      std::erase_if(records_[n],
                    [&](const auto& r) { return r.key == record->key; });
      records_[n].push_back({record->key, record->value});
    } else if (const auto* control =
                   std::get_if<PersistControlState>(&action)) {
      control_[n] = control->state;
    } else if (std::holds_alternative<KillLocal>(action)) {
      killed_.push_back(n);
    } else if (std::holds_alternative<ForgetLocal>(action)) {
      forgotten_.push_back(n);
    } else if (const auto* reply = std::get_if<ReplyClient>(&action)) {
      replies_[n][reply->request] = reply->status;
    } else if (const auto* data = std::get_if<PublishRank>(&action)) {
      published_[n][data->proc.rank] = data->visible;
    }
  }

  void Fence(NodeId n, RequestId request, bool collect = true) {
    CollectiveArrived in;
    in.client = n + 1;
    in.request = request;
    in.collect_data = collect;
    Step(n, in);
  }
  void Everybody(CollectiveOp op, RequestId request) {
    for (NodeId n = 0; n < 2; ++n) {
      CollectiveArrived in;
      in.client = n + 1;
      in.request = request;
      in.op = op;
      Step(n, in);
    }
  }
  void Commit(NodeId n, const std::string& key) {
    Step(n, Committed{n + 1, 0, {{Scope::kGlobal, Kval(key)}}});
  }
  bool Sees(NodeId n, Rank rank, const std::string& key) {
    const auto it = published_[n].find(rank);
    return it != published_[n].end() &&
           it->second.view().find(key) != std::string_view::npos;
  }

  // Replaces the agent of node 1. Data of other ranks that the old agent
  // published is still in the segment.
  void Restart() {
    Make(1);
    replies_[1].clear();
    JobRecovered in{job_, true, records_[1], {}};
    for (const auto& [rank, visible] : published_[1]) {
      if (rank != 1) in.published.push_back({{"job", rank}, visible, {}});
    }
    published_[1].clear();
    Step(1, in);
    Step(0, NodeRestarted{1});
  }
  void RestartController() {
    Make(0);
    replies_[0].clear();
    killed_.clear();
    JobRecovered in{job_, true, records_[0], {}, true, control_[0]};
    for (const auto& [rank, visible] : published_[0]) {
      if (rank != 0) in.published.push_back({{"job", rank}, visible, {}});
    }
    published_[0].clear();
    Step(0, in);
    Step(1, NodeRestarted{0});
    Step(0, LauncherReattached{"job", std::vector<uint64_t>{0, 0}});
  }
  void Resume(uint64_t fences) {
    Connect(1);
    Step(1, ClientReattached{
                2, {{CollectiveOp::kFence, {{"job", kRankWildcard}}, fences}}});
  }

  std::shared_ptr<const JobSpec> job_;
  std::unique_ptr<AgentCore> cores_[2];
  std::deque<std::pair<NodeId, Input>> inputs_;
  std::vector<PersistedRecord> records_[2];
  std::optional<Bytes> control_[2];
  std::vector<NodeId> killed_;
  std::vector<NodeId> forgotten_;
  std::vector<NodeId> exits_to_;  // receivers of exits
  DmodexRequest last_ask_;
  std::map<RequestId, int> replies_[2];
  std::map<Rank, Bytes> published_[2];
  TimeNs now_ = 0;
  bool cut_ = false;
};

TEST_F(RestartTest, DataIsRecoveredBeforeProcessesReconnect) {
  Commit(0, "mine");
  Commit(1, "yours");
  Fence(0, 10);
  Fence(1, 10);
  Restart();
  EXPECT_TRUE(Sees(1, 0, "mine"));
  EXPECT_TRUE(Sees(1, 1, "yours"));
  // The data is also served to the other agents.
  GetArrived get;
  get.client = 1;
  get.request = 20;
  get.target = {"job", 1};
  get.key = "yours";
  get.refresh = true;
  Step(0, get);
  EXPECT_EQ(replies_[0].at(20), kSuccess);
}

// The process counts no ended collective, but its agent counts one.
TEST_F(RestartTest, ASuccessorRepeatsALostReplyToTheFirstFence) {
  Fence(0, 10);
  Fence(1, 10);
  Restart();
  Connect(1);
  Step(1, ClientReattached{2, {}});
  Fence(1, 10);
  EXPECT_EQ(replies_[1].at(10), kSuccess);
  Fence(1, 11);
  Fence(0, 11);
  EXPECT_EQ(replies_[0].at(11), kSuccess);
  EXPECT_EQ(replies_[1].at(11), kSuccess);
}

TEST_F(RestartTest, TheNextFenceAfterARestartWaitsForAllRanks) {
  for (RequestId i = 10; i < 13; ++i) {
    Fence(0, i);
    Fence(1, i);
  }
  Restart();
  Resume(3);
  Commit(0, "new");
  Fence(0, 13);
  EXPECT_FALSE(replies_[0].contains(13));
  Fence(1, 13);
  EXPECT_EQ(replies_[0].at(13), kSuccess);
  EXPECT_EQ(replies_[1].at(13), kSuccess);
  EXPECT_TRUE(Sees(1, 0, "new"));
}

TEST_F(RestartTest, AContributionOfThePredecessorIsKept) {
  Fence(0, 10);
  Fence(1, 10);
  Commit(0, "early");
  Fence(0, 11);
  Restart();
  Resume(1);
  Fence(1, 11);
  EXPECT_EQ(replies_[0].at(11), kSuccess);
  EXPECT_EQ(replies_[1].at(11), kSuccess);
  EXPECT_TRUE(Sees(1, 0, "early"));
}

// The new agent contributes with versions of its own, and this contribution is
// lost. The next contribution must not be a delta to it.
TEST_F(RestartTest, ADeltaIsNeverBasedOnALostContribution) {
  Commit(1, "before");
  Fence(1, 1);
  Restart();
  Resume(0);
  Commit(1, "before");
  Fence(1, 1);
  Fence(0, 1);
  EXPECT_TRUE(Sees(0, 1, "before"));
  Commit(1, "after");
  Fence(1, 2);
  Fence(0, 2);
  EXPECT_TRUE(Sees(0, 1, "after"));
  Commit(1, "last");
  Fence(1, 3);
  Fence(0, 3);
  EXPECT_TRUE(Sees(0, 1, "last"));
  EXPECT_EQ(replies_[1][3], kSuccess);
}

TEST_F(RestartTest, ALostContributionIsSentByTheSuccessor) {
  cut_ = true;
  Fence(1, 10);
  Restart();
  cut_ = false;
  Fence(0, 10);
  Resume(0);
  Fence(1, 10);
  EXPECT_EQ(replies_[0].at(10), kSuccess);
  EXPECT_EQ(replies_[1].at(10), kSuccess);
}

TEST_F(RestartTest, ALostReplyIsSentAgain) {
  Fence(0, 10);
  Fence(1, 10);
  Restart();
  // The process has not been notified of the fence's end.
  Resume(0);
  Fence(1, 10);
  EXPECT_EQ(replies_[1].at(10), kSuccess);
  // The next arrival belongs to a new fence.
  Fence(1, 11);
  EXPECT_FALSE(replies_[1].contains(11));
  Fence(0, 11);
  EXPECT_EQ(replies_[1].at(11), kSuccess);
}

TEST_F(RestartTest, ALostReleaseIsSentAgain) {
  Commit(0, "late");
  Fence(1, 10);
  cut_ = true;
  Fence(0, 10);
  cut_ = false;
  EXPECT_EQ(replies_[0].at(10), kSuccess);
  Restart();
  Resume(0);
  Fence(1, 10);
  EXPECT_EQ(replies_[1].at(10), kSuccess);
  EXPECT_TRUE(Sees(1, 0, "late"));
}

TEST_F(RestartTest, ARepeatedReleaseHasTheDataOfTheFirst) {
  for (const bool collect : {true, false}) {
    const std::string key = collect ? "collected" : "kept";
    const RequestId fence = collect ? 10 : 11;
    Commit(0, key);
    Fence(1, fence, collect);
    cut_ = true;
    Fence(0, fence, collect);
    cut_ = false;
    RestartController();
    EXPECT_EQ(replies_[1].at(fence), kSuccess);
    EXPECT_EQ(Sees(1, 0, key), collect);
    Connect(0);
    Step(0,
         ClientReattached{
             1, {{CollectiveOp::kFence, {{"job", kRankWildcard}}, fence - 9}}});
  }
}

TEST_F(RestartTest, ASuccessorRecoversWhetherProcessesAreConnected) {
  Everybody(CollectiveOp::kConnect, 10);
  Restart();
  EXPECT_EQ(cores_[1]->Count().connections, 1u);
  const std::vector<ProcId> all{{"job", kRankWildcard}};
  Connect(1);
  Step(1, ClientReattached{2, {{CollectiveOp::kConnect, all, 1}}});
  Everybody(CollectiveOp::kDisconnect, 11);
  EXPECT_EQ(replies_[1].at(11), kSuccess);
  Restart();
  EXPECT_EQ(cores_[1]->Count().connections, 0u);
  Connect(1);
  Step(1, ClientReattached{2,
                           {{CollectiveOp::kConnect, all, 1},
                            {CollectiveOp::kDisconnect, all, 1}}});
  Everybody(CollectiveOp::kConnect, 12);
  EXPECT_EQ(replies_[1].at(12), kSuccess);
  Restart();
  EXPECT_EQ(cores_[1]->Count().connections, 1u);
}

TEST_F(RestartTest, RequestsForDataAreSentAgain) {
  GetArrived get;
  get.client = 1;
  get.request = 20;
  get.target = {"job", 1};
  get.key = "later";
  Step(0, get);
  Restart();
  Resume(0);
  EXPECT_FALSE(replies_[0].contains(20));
  Commit(1, "later");
  EXPECT_EQ(replies_[0].at(20), kSuccess);
}

TEST_F(RestartTest, ASuccessorIgnoresAnswersToItsPredecessor) {
  GetArrived get;
  get.client = 2;
  get.request = 20;
  get.target = {"job", 0};
  get.key = "first";
  Step(1, get);
  const DmodexRequest former = last_ask_;
  Restart();
  Resume(0);
  get.request = 21;
  get.key = "second";
  Step(1, get);
  const DmodexReply late{former.request, kErrNotFound, former.target, {}, 0};
  Step(1, PeerArrived{{0, 1, late}});
  EXPECT_FALSE(replies_[1].contains(21));
  Commit(0, "second");
  EXPECT_EQ(replies_[1].at(21), kSuccess);
}

TEST_F(RestartTest, ARestartedControllerWithoutARecordEndsTheJob) {
  Make(0);
  Actions actions = cores_[0]->Step(++now_, JobRecovered{job_, true, {}, {}});
  EXPECT_EQ(All<ForgetLocal>(actions).size(), 1u);
  killed_.clear();
  Step(1, NodeRestarted{0});
  EXPECT_EQ(killed_, std::vector<NodeId>{1});
}

// Otherwise the root would regard jobs as over that have not been reported to
// it yet.
TEST_F(RestartTest, SyncCompleteFollowsAllReportsToTheRoot) {
  const auto told_last = [&](Input input) {
    const auto sent = All<SendPeer>(cores_[1]->Step(++now_, std::move(input)));
    if (sent.empty()) return false;
    const PeerMessage& last = sent.back().message;
    return last.dst == 0 && std::holds_alternative<SyncComplete>(last.body);
  };
  EXPECT_TRUE(told_last(NodeRestarted{0}));
  EXPECT_FALSE(told_last(NodeStateChanged{0, false, "gone"}));
  EXPECT_TRUE(told_last(NodeStateChanged{0, true, ""}));
}

TEST_F(RestartTest, ARestartedControllerContinuesAFence) {
  Commit(0, "mine");
  Fence(0, 10);
  Fence(1, 10);
  Commit(1, "theirs");
  Fence(1, 11);
  RestartController();
  EXPECT_TRUE(killed_.empty());
  Connect(0);
  Step(0, ClientReattached{
              1, {{CollectiveOp::kFence, {{"job", kRankWildcard}}, 1}}});
  Fence(0, 11);
  EXPECT_EQ(replies_[0].at(11), kSuccess);
  EXPECT_EQ(replies_[1].at(11), kSuccess);
  EXPECT_TRUE(Sees(0, 1, "theirs"));
}

TEST_F(RestartTest, ASuccessorRecoversTheRoleOfController) {
  for (NodeId n = 0; n < 2; ++n) Make(n);
  Step(1, NodeStateChanged{0, false, "gone"});
  const auto job = JobOn("other", {1});
  Step(1, LaunchRequested{job});
  Step(1, LocalPrepared{"other", 0, ""});
  Step(1, LocalStarted{"other", 1, 0, ""});
  Step(1, NodeStateChanged{0, true, ""});
  Make(1);
  Step(1, JobRecovered{job, true, records_[1], {}, true, control_[1]});
  EXPECT_TRUE(forgotten_.empty());
  // The exits of processes of "other" do not go to the root.
  exits_to_.clear();
  LocalExits exits{"other", {ProcExit{0, 0, false, false, false}}};
  Step(1, exits);
  EXPECT_TRUE(exits_to_.empty());
}

}  // namespace
}  // namespace canopy::core
