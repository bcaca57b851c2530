#include "server/overlay/router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace canopy::overlay {
namespace {

class FakeLinks : public PacketLinks {
 public:
  bool Linked(NodeId node) const override { return linked.contains(node); }
  void Enqueue(NodeId node, Packet packet) override {
    sent.emplace_back(node, std::move(packet));
  }
  std::set<NodeId> linked;
  std::vector<std::pair<NodeId, Packet>> sent;
};

// Node 1 of seven in a binary tree: 0 is its parent, 3 and 4 are its children.
class RouterTest : public testing::Test, public Router::Listener {
 protected:
  RouterTest() {
    config_.self = 1;
    config_.radix = 2;
    config_.settle_ms = 0;
    config_.detect_ms = 1;
    config_.grace_ms = 1;
    for (NodeId id = 0; id < 7; ++id) {
      config_.members.push_back({"n" + std::to_string(id), ""});
    }
    view_ = std::make_unique<MembershipView>(config_);
    for (NodeId id = 0; id < 7; ++id) {
      view_->Merge({id, 1, true, "", "", false});
    }
    links_.linked = {0, 3, 4};
  }
  void Make() {
    router_ =
        std::make_unique<Router>(&loop_, &config_, view_.get(), &links_, this);
  }
  void OnMessage(core::PeerMessage&& message) override {
    messages_.push_back(std::move(message));
  }
  void OnDropped(NodeId node, const Status& error) override {
    dropped_.emplace_back(node, error);
  }

  static core::PeerMessage Note(NodeId to) {
    return {kNoNode, to, core::OutputCredit{"job", 1}};
  }
  // Returns a whole message as the agent `source` would send it.
  Packet PacketOf(NodeId source, NodeId target) {
    router_->Send(Note(0));
    Packet packet = links_.sent.back().second;
    links_.sent.pop_back();
    packet.source = source;
    packet.target = target;
    return packet;
  }
  void AwaitSettled() {
    bool passed = false;
    loop_.AddTimer(10000000, [&] { passed = true; });
    while (!passed) loop_.RunOnce(-1);
  }
  std::vector<NodeId> Hops() const {
    std::vector<NodeId> hops;
    for (const auto& [node, packet] : links_.sent) hops.push_back(node);
    return hops;
  }

  EventLoop loop_;
  OverlayConfig config_;
  std::unique_ptr<MembershipView> view_;
  FakeLinks links_;
  std::unique_ptr<Router> router_;
  std::vector<core::PeerMessage> messages_;
  std::vector<std::pair<NodeId, Status>> dropped_;
};

TEST_F(RouterTest, MessagesAreSentToTheNextHopInTheTree) {
  Make();
  for (const NodeId to : {0u, 3u, 4u, 2u, 6u}) router_->Send(Note(to));
  EXPECT_EQ(Hops(), (std::vector<NodeId>{0, 3, 4, 0, 0}));
}

TEST_F(RouterTest, ArrivingPacketsAreDeliveredOrForwarded) {
  Make();
  router_->OnPacket(PacketOf(3, 1), 3);
  ASSERT_EQ(messages_.size(), 1u);
  EXPECT_EQ(messages_[0].src, 3u);
  router_->OnPacket(PacketOf(3, 6), 3);
  EXPECT_EQ(Hops(), std::vector<NodeId>{0});
}

TEST_F(RouterTest, MessagesToALostMemberAreDropped) {
  Make();
  view_->Merge({2, 1, false, "gone", "", false});
  router_->Send(Note(2));
  EXPECT_TRUE(links_.sent.empty());
  EXPECT_TRUE(dropped_.empty());
}

TEST_F(RouterTest, APacketFromTheWrongSideOfTheTreeIsDropped) {
  Make();
  AwaitSettled();
  router_->OnPacket(PacketOf(3, 1), 3);
  router_->OnPacket(PacketOf(6, 1), 0);
  router_->OnPacket(PacketOf(0, 1), 0);
  EXPECT_EQ(messages_.size(), 3u);
  // A child forges messages of the root, of its sibling, and of the other side
  // of the tree, to this agent and to others.
  for (const NodeId source : {0u, 4u, 6u}) {
    router_->OnPacket(PacketOf(source, 1), 3);
    router_->OnPacket(PacketOf(source, 2), 3);
  }
  // The parent forges a message of a child.
  router_->OnPacket(PacketOf(4, 1), 0);
  EXPECT_EQ(messages_.size(), 3u);
  EXPECT_TRUE(links_.sent.empty());
  ASSERT_EQ(dropped_.size(), 7u);
  EXPECT_EQ(dropped_[0].first, 3u);
  EXPECT_EQ(dropped_[0].second.code(), kErrInvalidCred);
}

TEST_F(RouterTest, AMemberThatIsNoNeighbourMaySendOnlyItsOwnPackets) {
  Make();
  AwaitSettled();
  router_->OnPacket(PacketOf(5, 1), 5);
  EXPECT_EQ(messages_.size(), 1u);
  router_->OnPacket(PacketOf(2, 1), 5);
  EXPECT_EQ(messages_.size(), 1u);
}

TEST_F(RouterTest, PathsOfOtherTreesAreAcceptedWhileTheTreeChanges) {
  config_.settle_ms = 60000;
  Make();
  // Node 0 may still be linked to node 3, because it does not know yet that
  // this agent has started.
  router_->OnPacket(PacketOf(3, 1), 0);
  EXPECT_EQ(messages_.size(), 1u);
  // No tree has node 5 below node 3.
  router_->OnPacket(PacketOf(5, 1), 3);
  EXPECT_EQ(messages_.size(), 1u);
}

TEST_F(RouterTest, AMemberThatReturnsRepeatedlyHidesNoForgery) {
  Make();
  AwaitSettled();
  for (uint64_t life = 2; life < 10; ++life) {
    view_->Merge({6, life, true, "", "", false});
    router_->OnMemberChanged(6);
    router_->OnPacket(PacketOf(0, 1), 3);
    router_->OnPacket(PacketOf(4, 1), 0);
  }
  EXPECT_TRUE(messages_.empty());
  EXPECT_EQ(dropped_.size(), 16u);
}

TEST_F(RouterTest, PacketsWithoutARouteWaitForALink) {
  Make();
  // Node 0 has sent the packet to this agent, but the path to its target leads
  // back to node 0.
  router_->OnPacket(PacketOf(2, 6), 0);
  EXPECT_TRUE(links_.sent.empty());
  links_.linked.insert(6);
  router_->Retry();
  EXPECT_EQ(Hops(), std::vector<NodeId>{6});
}

TEST_F(RouterTest, APacketDroppedForLackOfARouteIsReported) {
  Make();
  const Packet packet = PacketOf(2, 6);
  for (int i = 0; i < 4096; ++i) router_->OnPacket(packet, 0);
  EXPECT_TRUE(dropped_.empty());
  router_->OnPacket(packet, 0);
  ASSERT_EQ(dropped_.size(), 1u);
  EXPECT_EQ(dropped_[0].first, 6u);
  EXPECT_EQ(dropped_[0].second.code(), kErrOutOfResource);
}

TEST_F(RouterTest, AMessageOverTheLimitIsSentAsAFailure) {
  config_.message_limit_bytes = 1000;
  Make();
  router_->Send(
      {kNoNode, 3,
       core::DmodexReply{1, 0, {"j", 0}, Bytes(std::string(2000, 'x'))}});
  ASSERT_EQ(links_.sent.size(), 1u);
  EXPECT_LT(links_.sent[0].second.piece.size(), 100u);
  ASSERT_EQ(dropped_.size(), 1u);
  EXPECT_EQ(dropped_[0].second.code(), kErrOutOfResource);
}

TEST_F(RouterTest, AMessageThatDoesNotFitArrivesAsAFailure) {
  config_.message_limit_bytes = size_t{1} << 20;
  Make();
  router_->Send(
      {kNoNode, 3,
       core::DmodexReply{
           7, 0, {"j", 0}, Bytes(std::string(size_t{900} << 10, 'x'))}});
  const auto pieces = std::exchange(links_.sent, {});
  ASSERT_GT(pieces.size(), 3u);
  // Both children send a message of this size at the same time. The limit is
  // enough for only one of them.
  for (const auto& [node, piece] : pieces) {
    for (const NodeId source : {3u, 4u}) {
      Packet packet = piece;
      packet.source = source;
      packet.target = 1;
      router_->OnPacket(packet, source);
    }
  }
  ASSERT_EQ(messages_.size(), 2u);
  ASSERT_EQ(dropped_.size(), 1u);
  const NodeId refused = dropped_[0].first;
  EXPECT_EQ(dropped_[0].second.code(), kErrOutOfResource);
  EXPECT_EQ(messages_[0].src, refused);
  const auto& failed = std::get<core::DmodexReply>(messages_[0].body);
  EXPECT_EQ(failed.request, 7u);
  EXPECT_EQ(failed.status, kErrOutOfResource);
  EXPECT_TRUE(failed.data.empty());
  EXPECT_EQ(std::get<core::DmodexReply>(messages_[1].body).status, 0);
}

}  // namespace
}  // namespace canopy::overlay
