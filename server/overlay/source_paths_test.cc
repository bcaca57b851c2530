#include "server/overlay/source_paths.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace canopy::overlay {
namespace {

constexpr int64_t kWindow = 1000;

// The view of one member, and the paths that it accepts.
class Agent {
 public:
  Agent(NodeId self, uint32_t members, uint32_t radix) {
    OverlayConfig config;
    config.self = self;
    config.radix = radix;
    config.members.resize(members);
    config.incarnation = 1;
    view_ = std::make_unique<MembershipView>(config);
    for (NodeId id = 0; id < members; ++id) {
      if (id != self) view_->Merge({id, 1, true, "", "", false});
    }
    paths_ = std::make_unique<SourcePaths>(view_.get(), kWindow);
  }

  void Learn(const MemberState& state, int64_t now) {
    if (view_->Merge(state) != MembershipView::Change::kNone) {
      paths_->OnChanged(state.node, now);
    }
  }
  void Begin(int64_t now) { paths_->OnBegin(now); }
  bool Admits(NodeId source, NodeId neighbor, int64_t now) const {
    return paths_->MayCome(source, neighbor, now);
  }
  const core::Tree& tree() const { return view_->tree(); }

 private:
  std::unique_ptr<MembershipView> view_;
  std::unique_ptr<SourcePaths> paths_;
};

MemberState Lost(NodeId node, uint64_t life) {
  return {node, life, false, "lost", "", false};
}
MemberState Back(NodeId node, uint64_t life) {
  return {node, life, true, "", "", false};
}

// Node 1 of fifteen in a binary tree: 0, then 1 and 2, then 3 and 4 below 1.
TEST(SourcePathsTest, WithoutChangesOnlyPathsOfTheTreeAreAccepted) {
  const Agent agent(1, 15, 2);
  for (NodeId source = 0; source < 15; ++source) {
    for (const NodeId neighbor : {0u, 3u, 4u}) {
      if (source == 1) continue;
      EXPECT_EQ(
          agent.Admits(source, neighbor, kWindow),
          agent.tree().NextHop(1, source) == neighbor || source == neighbor)
          << source << " by " << neighbor;
    }
  }
}

TEST(SourcePathsTest, TheNodesBelowALostMemberSendByThemselves) {
  Agent agent(1, 15, 2);
  agent.Learn(Lost(3, 1), 5000);
  EXPECT_TRUE(agent.Admits(8, 8, 5001));
  EXPECT_TRUE(agent.Admits(7, 3, 5001));
  EXPECT_FALSE(agent.Admits(7, 8, 5001));
  // Long after the loss, node 3 cannot have forwarded a packet of node 7.
  EXPECT_FALSE(agent.Admits(7, 3, 5000 + kWindow));
}

TEST(SourcePathsTest, AMemberThatReturnsRepeatedlyForgesOnlyItsOwnSide) {
  Agent agent(1, 15, 2);
  for (int64_t life = 2; life < 50; ++life) {
    const int64_t now = 10000 + life * 10;
    agent.Learn(Back(4, life), now);
    EXPECT_FALSE(agent.Admits(0, 4, now));
    EXPECT_FALSE(agent.Admits(7, 4, now));
    EXPECT_FALSE(agent.Admits(0, 3, now));
    EXPECT_FALSE(agent.Admits(7, 0, now));
    EXPECT_TRUE(agent.Admits(9, 4, now));
  }
}

TEST(SourcePathsTest, AnAgentThatHasJustReturnedMayBeBypassed) {
  Agent agent(1, 15, 2);
  agent.Begin(7000);
  // Node 7 is below this agent, but other members may not have this agent in
  // their trees yet. There, node 0 is the parent of the nodes below this agent.
  EXPECT_TRUE(agent.Admits(7, 0, 7001));
  EXPECT_FALSE(agent.Admits(7, 4, 7001));
  EXPECT_FALSE(agent.Admits(7, 0, 7000 + kWindow));
}

TEST(SourcePathsTest, BothRootsAreAcceptedWhileTheRootChanges) {
  Agent agent(2, 7, 2);
  agent.Learn(Lost(0, 1), 3000);
  EXPECT_TRUE(agent.Admits(3, 1, 3001));
  EXPECT_TRUE(agent.Admits(3, 0, 3001));
  EXPECT_TRUE(agent.Admits(3, 1, 9000));
  EXPECT_FALSE(agent.Admits(3, 0, 9000));
}

// Simulates members that learn of losses and returns one after the other, where
// each link delivers the news before the packets. Every member must accept
// every honest packet.
class Walk {
 public:
  Walk(uint32_t seed, uint32_t members, uint32_t radix)
      : random_(seed), members_(members), lives_(members, 1) {
    for (NodeId id = 0; id < members; ++id) {
      agents_.push_back(std::make_unique<Agent>(id, members, radix));
    }
    known_.resize(members);
    up_.resize(members, true);
  }

  void Run() {
    for (int i = 0; i < 60; ++i) {
      if (Pick(3) == 0) Change();
      for (int k = 0; k < 4; ++k)
        Spread(Pick(members_), Pick(news_.size() + 1));
      for (int k = 0; k < 8; ++k) SendPacket(Pick(members_), Pick(members_));
      now_ += Pick(2) == 0 ? 1 : 40;
    }
  }

 private:
  NodeId Pick(size_t n) {
    return static_cast<NodeId>(random_() % std::max<size_t>(n, 1));
  }

  void Change() {
    const NodeId node = Pick(members_);
    if (up_[node]) {
      news_.push_back({Lost(node, lives_[node]), now_});
    } else {
      news_.push_back({Back(node, ++lives_[node]), now_});
      agents_[node]->Begin(now_);
    }
    up_[node] = !up_[node];
  }

  // Makes the agent know the first `count` changes.
  void Spread(NodeId agent, size_t count) {
    for (; known_[agent] < count; ++known_[agent]) {
      const MemberState& state = news_[known_[agent]].state;
      if (state.node != agent) agents_[agent]->Learn(state, now_);
    }
  }

  // Makes every agent know the changes that are older than a quarter of the
  // window.
  void SpreadOld() {
    size_t old = 0;
    while (old < news_.size() && now_ - news_[old].at > kWindow / 4) ++old;
    for (NodeId id = 0; id < members_; ++id) Spread(id, old);
  }

  void SendPacket(NodeId source, NodeId target) {
    SpreadOld();
    if (!up_[source] || source == target) return;
    NodeId from = kNoNode;
    NodeId at = source;
    while (at != target) {
      const core::Tree& tree = agents_[at]->tree();
      if (!tree.alive(target) || !up_[at]) return;
      const NodeId hop = tree.NextHop(at, target);
      if (hop == kNoNode || hop == from || !up_[hop]) return;
      Spread(hop, known_[at]);
      // In the handshake of the link, `hop` has received the state of `at`.
      agents_[hop]->Learn(Back(at, lives_[at]), now_);
      ASSERT_TRUE(agents_[hop]->Admits(source, at, now_))
          << source << " to " << target << ": " << hop << " refuses " << at;
      from = at;
      at = hop;
    }
  }

  struct News {
    MemberState state;
    int64_t at;
  };

  std::mt19937 random_;
  const uint32_t members_;
  int64_t now_ = 10000;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::vector<News> news_;
  std::vector<size_t> known_;  // changes that each agent knows
  std::vector<uint64_t> lives_;
  std::vector<bool> up_;
};

TEST(SourcePathsTest, NoHonestPacketIsRefusedWhileNewsSpreads) {
  for (uint32_t seed = 0; seed < 400 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Walk(seed, 3 + seed % 28, 2 + seed % 3).Run();
  }
}

}  // namespace
}  // namespace canopy::overlay
