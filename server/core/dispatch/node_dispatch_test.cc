#include "server/core/dispatch/node_dispatch.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "common/job.h"
#include "common/status.h"
#include "server/core/core_testing.h"
#include "server/core/dispatch/peer_dispatch.h"
#include "server/core/dispatch/propagation.h"

namespace canopy::core {
namespace {

// Agent 0 of three, with rank 0 of "job" and its client; rank 1 is on node 1.
class NodeDispatchTest : public testing::Test {
 protected:
  NodeDispatchTest() : e_(Config()) {
    e_.jobs.Add(JobOn("job", {0, 1}));
    e_.jobs.Connect(1, {"job", 0});
    PropagateChanges(e_);
    e_.out.clear();
  }
  static CoreConfig Config() {
    CoreConfig config;
    config.node_names = {"a", "b", "c"};
    return config;
  }
  Actions State(NodeId node, bool up) {
    OnNodeStateChanged(e_, {node, up, up ? "" : "gone", up ? 0u : 5u});
    return std::exchange(e_.out, {});
  }
  Actions Restarted(NodeId node) {
    OnNodeRestarted(e_, {node});
    return std::exchange(e_.out, {});
  }
  // Requests a key of rank 1 from its node.
  Actions Get() {
    GetArrived get;
    get.client = 1;
    get.request = 7;
    get.target = {"job", 1};
    get.key = "k";
    e_.gets.OnGet({0, e_.out}, get);
    return std::exchange(e_.out, {});
  }

  Engines e_;
};

TEST_F(NodeDispatchTest, ALossIsHandledOnceAndNeverForTheAgentItself) {
  EXPECT_TRUE(State(0, false).empty());
  EXPECT_TRUE(State(7, false).empty());
  EXPECT_EQ(All<LogLine>(State(2, false)).size(), 1u);
  EXPECT_FALSE(e_.tree.alive(2));
  EXPECT_TRUE(State(2, false).empty());
  EXPECT_EQ(All<LogLine>(State(2, true)).size(), 1u);
  EXPECT_TRUE(e_.tree.alive(2));
}

TEST_F(NodeDispatchTest, AnAddedMemberIsLostUntilItsAgentIsUp) {
  OnMemberAdded(e_, {3, "d"});
  OnMemberAdded(e_, {3, "other"});
  EXPECT_EQ(e_.tree.size(), 4u);
  EXPECT_FALSE(e_.tree.alive(3));
  EXPECT_EQ(e_.config.node_names[3], "d");
  EXPECT_FALSE(State(3, true).empty());
  EXPECT_TRUE(e_.tree.alive(3));
}

TEST_F(NodeDispatchTest, AGetFromALostNodeFails) {
  EXPECT_EQ(Sent<DmodexRequest>(Get()).size(), 1u);
  const auto replies = All<ReplyClient>(State(1, false));
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_NE(replies[0].status, kSuccess);
}

TEST_F(NodeDispatchTest, AMessageThatComesAfterTheLossOfItsSenderIsDropped) {
  const PeerMessage query{1, 0, JobQuery{"unknown"}};
  OnPeerMessage(e_, query);
  EXPECT_EQ(Sent<JobQueryReply>(std::exchange(e_.out, {})).size(), 1u);
  State(1, false);
  OnPeerMessage(e_, query);
  EXPECT_TRUE(e_.out.empty());
  State(1, true);
  OnPeerMessage(e_, query);
  EXPECT_EQ(Sent<JobQueryReply>(e_.out).size(), 1u);
}

TEST_F(NodeDispatchTest, ALossIsAnEventForClientsThatRegisteredForIt) {
  EventsWanted wanted{1, 9, false, {kEventNodeDown}};
  e_.events.OnWanted(e_.step(), wanted);
  e_.out.clear();
  const auto told = All<NotifyClient>(State(2, false));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].event->source, (ProcId{"canopy-agent", 2}));
}

TEST_F(NodeDispatchTest, RequestsToARestartedAgentAreResent) {
  Get();
  EXPECT_EQ(Sent<DmodexRequest>(Restarted(1)).size(), 1u);
  EXPECT_TRUE(Restarted(0).empty());
  State(2, false);
  EXPECT_TRUE(Restarted(2).empty());
}

// The new leader maps jobs onto the same nodes, so it must know the job.
TEST_F(NodeDispatchTest, ANewLeaderGetsTheJobsThatAreControlledHere) {
  e_.engine.OnLaunchRequested(e_.step(), {JobOn("own", {0, 2})});
  PropagateChanges(e_);
  EXPECT_TRUE(Sent<JobMapReply>(e_.out).empty()) << "this agent leads";
  e_.out.clear();
  OnMemberServes(e_, {2, false});
  EXPECT_TRUE(e_.out.empty());
  OnMemberServes(e_, {0, false});
  auto offers = Sent<JobMapReply>(e_.out);
  ASSERT_EQ(offers.size(), 1u);
  EXPECT_EQ(offers[0].first, 1u);
  EXPECT_EQ(offers[0].second.nspace, "own");
  e_.out.clear();
  OnMemberServes(e_, {0, false});
  EXPECT_TRUE(e_.out.empty());
  offers = Sent<JobMapReply>(Restarted(1));
  EXPECT_EQ(offers.size(), 1u) << "the successor does not know the job";
  offers = Sent<JobMapReply>(State(1, false));
  ASSERT_EQ(offers.size(), 0u) << "the root leads when none is in service";
}

// Agent 3 gets its part from agent 0, while agent 1 is still between them in
// the view of agent 3.
TEST(DeferredMessages, ADeferredMessageIsHandledWhenTheViewsConverge) {
  CoreConfig config;
  config.self = 3;
  config.node_names = {"a", "b", "c", "d"};
  config.radix = 2;
  Engines e(config);
  const JobPrepare prepare{Bytes(EncodeJobSpec(*JobOn("job", {0, 3}))), 0, {}};
  OnPeerMessage(e, {0, 3, prepare});
  EXPECT_EQ(e.jobs.Find("job"), nullptr);
  OnNodeStateChanged(e, {1, false, "gone", 5});
  EXPECT_NE(e.jobs.Find("job"), nullptr);
  EXPECT_EQ(All<PrepareLocal>(e.out).size(), 1u);
}

}  // namespace
}  // namespace canopy::core
