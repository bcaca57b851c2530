#include "server/core/dispatch/peer_dispatch.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "common/job.h"
#include "server/core/core_testing.h"
#include "server/core/dispatch/propagation.h"

namespace canopy::core {
namespace {

// Agent 1 of four in a tree of radix 2; agent 3 is below it.
class PeerDispatchTest : public testing::Test {
 protected:
  PeerDispatchTest() : e_(Config()) {}
  static CoreConfig Config() {
    CoreConfig config;
    config.self = 1;
    config.node_names = {"a", "b", "c", "d"};
    config.radix = 2;
    return config;
  }
  Actions FromRoot(MessageBody body, NodeId dst = 1) {
    OnPeerMessage(e_, {0, dst, std::move(body)});
    PropagateChanges(e_);
    return std::exchange(e_.out, {});
  }
  JobPrepare Prepare() {
    return {Bytes(EncodeJobSpec(*JobOn("job", {0, 1}))), 0, {}};
  }

  Engines e_;
};

TEST_F(PeerDispatchTest, MessagesForOtherAgentsAreDropped) {
  EXPECT_TRUE(FromRoot(StateQuery{1, "why", ""}, 2).empty());
  EXPECT_EQ(Sent<StateReply>(FromRoot(StateQuery{1, "why", ""})).size(), 1u);
}

TEST_F(PeerDispatchTest, APrepareMessageAddsAndPreparesTheJob) {
  const Actions actions = FromRoot(Prepare());
  ASSERT_NE(e_.jobs.Find("job"), nullptr);
  EXPECT_EQ(All<PrepareLocal>(actions).size(), 1u);
}

TEST_F(PeerDispatchTest, EndsOfRanksOfOtherNodesAreRecorded) {
  FromRoot(Prepare());
  FromRoot(JobExits{"job", {{0, 0, false, true, true}}});
  EXPECT_TRUE(e_.jobs.Find("job")->ranks[0].finalized);
}

TEST_F(PeerDispatchTest, AKillOfAllRanksMarksTheJobAsEnding) {
  FromRoot(Prepare());
  JobKill some;
  some.nspace = "job";
  some.ranks = {1};
  FromRoot(some);
  EXPECT_FALSE(e_.jobs.Find("job")->ending);
  some.ranks.clear();
  FromRoot(some);
  EXPECT_TRUE(e_.jobs.Find("job")->ending);
}

TEST_F(PeerDispatchTest, AShutdownIsForwardedDownTheTree) {
  const Actions actions = FromRoot(OverlayShutdown{"enough"});
  const auto sent = Sent<OverlayShutdown>(actions);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].first, 3u);
  const auto ends = All<EndAgent>(actions);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].reason, "enough");
}

}  // namespace
}  // namespace canopy::core
