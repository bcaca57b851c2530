#include "tests/sim/membership.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

namespace canopy::sim {
namespace {

using core::NodeRestarted;
using core::NodeStateChanged;

class MembershipTest : public testing::Test {
 protected:
  MembershipTest() : random_(1, options_), members_(7, 2, queue_, random_) {}

  // Delivers all updates in transit. Returns the agents that received one.
  std::vector<NodeId> DeliverAll() {
    std::vector<NodeId> observers;
    while (std::optional<Event> event = queue_.Take()) {
      const auto& delivery = std::get<UpdateDelivery>(*event);
      observers.push_back(delivery.observer);
      (void)members_.Apply(delivery.observer, delivery.update);
    }
    std::ranges::sort(observers);
    return observers;
  }
  static InTransit MessageOf(NodeId from, NodeId to, uint64_t incarnation,
                             size_t updates) {
    InTransit out;
    out.message.src = from;
    out.message.dst = to;
    out.sender_incarnation = incarnation;
    out.updates = updates;
    return out;
  }

  Options options_;
  Random random_;
  EventQueue queue_;
  Membership members_;
};

TEST_F(MembershipTest, AnAddedMemberIsReportedBeforeItIsUp) {
  EXPECT_EQ(members_.Add(), 7u);
  EXPECT_EQ(members_.size(), 8u);
  EXPECT_FALSE(members_.ViewOf(3, 7).up);
  const auto inputs = members_.Apply(3, {7, true, members_.incarnation(7), ""});
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(std::get<core::MemberAdded>(inputs[0]).name, "n7");
  EXPECT_TRUE(std::get<NodeStateChanged>(inputs[1]).up);
  EXPECT_EQ(DeliverAll(), (std::vector<NodeId>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(members_.ViewOf(0, 7).up);
}

TEST_F(MembershipTest, AMemberThatLeavesIsReportedOnceAndItsMessagesArrive) {
  members_.Remove(1);
  EXPECT_TRUE(members_.alive(1)) << "until its agent leaves";
  EXPECT_FALSE(members_.InService(1));
  const uint64_t incarnation = members_.incarnation(1);
  const UndetectedLoss loss = members_.Leave(1);
  EXPECT_TRUE(loss.in_order);
  EXPECT_TRUE(members_.Carries(1, incarnation));
  const auto inputs =
      members_.Apply(0, {1, false, incarnation, kLeftOverlay, false});
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_TRUE(std::get<NodeStateChanged>(inputs[0]).left);
  const auto late = members_.UpdatesAhead(MessageOf(1, 0, incarnation, 0));
  ASSERT_EQ(late.size(), 1u);
  EXPECT_TRUE(members_.Apply(0, late[0]).empty()) << "it stays lost";
  members_.Lose(2);
  EXPECT_FALSE(members_.Carries(2, 0));
}

TEST_F(MembershipTest, ARemovedMembersNameMayBeThatOfAnother) {
  members_.Remove(6);
  members_.Leave(6);
  DeliverAll();
  EXPECT_EQ(members_.Add("n6"), 7u);
  const auto inputs = members_.Apply(3, {7, true, members_.incarnation(7), ""});
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(std::get<core::MemberAdded>(inputs[0]).name, "n6");
  EXPECT_TRUE(members_.Knows(3, 7));
  EXPECT_FALSE(members_.Knows(3, 6));
}

TEST_F(MembershipTest, HalfOfTheMembersIsNoMajority) {
  for (const NodeId node : {4u, 5u, 6u}) members_.Lose(node);
  EXPECT_TRUE(members_.HasMajority()) << "four of seven";
  members_.Lose(3);
  EXPECT_FALSE(members_.HasMajority());
  members_.Remove(6);
  EXPECT_FALSE(members_.HasMajority()) << "three of six";
  members_.Remove(5);
  EXPECT_TRUE(members_.HasMajority()) << "three of five";
}

TEST_F(MembershipTest, PathsGoThroughTheNearestCommonAncestor) {
  EXPECT_EQ(PathOf(members_.tree(), 3, 4), (std::vector<NodeId>{3, 1, 4}));
  EXPECT_EQ(PathOf(members_.tree(), 0, 6), (std::vector<NodeId>{0, 2, 6}));
  EXPECT_EQ(PathOf(members_.tree(), 5, 5), (std::vector<NodeId>{5}));
}

TEST_F(MembershipTest, EverySurvivorLearnsOfALossOnce) {
  const UndetectedLoss loss = members_.Lose(1);
  EXPECT_FALSE(members_.alive(1));
  ASSERT_EQ(loss.detected.size(), 3u) << "its parent and its children";
  EXPECT_TRUE(loss.tree.alive(1)) << "as it was when messages were sent";
  EXPECT_EQ(DeliverAll(), (std::vector<NodeId>{0, 2, 3, 4, 5, 6}));
  EXPECT_LE(queue_.now(), loss.known);
  for (NodeId node = 2; node < 7; ++node) {
    EXPECT_FALSE(members_.ViewOf(node, 1).up) << node;
  }
}

TEST_F(MembershipTest, ARestartThatRecoveredIsReportedAsARestartOnce) {
  members_.Restart(2);
  const auto update = MemberUpdate{2, true, 1, "", true};
  const auto inputs = members_.Apply(0, update);
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<NodeRestarted>(inputs[0]));
  EXPECT_TRUE(members_.Apply(0, update).empty()) << "once only";
}

TEST_F(MembershipTest, AnIncarnationWithoutStateIsReportedAsALossAndAJoin) {
  const auto inputs = members_.Apply(0, {2, true, 1, ""});
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_FALSE(std::get<NodeStateChanged>(inputs[0]).up);
  EXPECT_TRUE(std::get<NodeStateChanged>(inputs[1]).up);
}

TEST_F(MembershipTest, AnIncarnationThatIsDownIsNeverUpAgain) {
  EXPECT_EQ(members_.Apply(0, {2, false, 0, "lost"}).size(), 1u);
  EXPECT_TRUE(members_.Apply(0, {2, true, 0, ""}).empty());
  EXPECT_EQ(members_.Apply(0, {2, true, 1, ""}).size(), 1u);
  EXPECT_TRUE(members_.Apply(0, {2, false, 0, "lost"}).empty())
      << "older than the view";
}

TEST_F(MembershipTest, AnUnseenReturnIsReportedBeforeTheLossThatFollows) {
  EXPECT_EQ(members_.Apply(0, {2, false, 0, "lost"}).size(), 1u);
  const auto inputs = members_.Apply(0, {2, false, 2, "lost again"});
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_TRUE(std::get<NodeStateChanged>(inputs[0]).up);
  EXPECT_FALSE(std::get<NodeStateChanged>(inputs[1]).up);
}

TEST_F(MembershipTest, AnAgentThatIsStartedLearnsOfEachLossOnce) {
  members_.Lose(6);
  DeliverAll();
  members_.Restart(1);
  members_.Return(6);
  members_.Lose(6);
  DeliverAll();
  members_.Restart(2);
  const auto delivery = std::get<UpdateDelivery>(*queue_.Take());
  EXPECT_EQ(delivery.observer, 2u);
  EXPECT_EQ(members_.Apply(2, delivery.update).size(), 1u);
  const auto ahead = members_.UpdatesAhead(
      MessageOf(1, 2, members_.incarnation(1), members_.num_updates(1)));
  for (const MemberUpdate& update : ahead) {
    EXPECT_TRUE(members_.Apply(2, update).empty()) << update.subject;
  }
}

TEST_F(MembershipTest, TheUpdatesOfASenderPrecedeItsMessage) {
  (void)members_.Apply(1, {6, false, 0, "lost"});
  (void)members_.Apply(1, {5, false, 0, "lost"});
  const auto ahead = members_.UpdatesAhead(MessageOf(1, 0, 0, 1));
  ASSERT_EQ(ahead.size(), 2u);
  EXPECT_EQ(ahead[0].subject, 6u);
  EXPECT_EQ(ahead[1].subject, 1u) << "its sender is up";
  const auto next = members_.UpdatesAhead(MessageOf(1, 0, 0, 2));
  ASSERT_EQ(next.size(), 2u) << "only what the last message did not bring";
  EXPECT_EQ(next[0].subject, 5u);
}

TEST_F(MembershipTest, ARejoinedMemberLosesAndRegainsEachOtherOnce) {
  const TimeNs linked = members_.BeginRejoin(3);
  for (const NodeId other : {0u, 1u, 2u, 4u, 5u, 6u}) {
    EXPECT_TRUE(members_.Unlink(3, other));
    EXPECT_FALSE(members_.Unlink(3, other));
    members_.Relink(3, other, linked);
  }
  EXPECT_EQ(members_.incarnation(3), 1u);
  EXPECT_EQ(members_.start(3), 0u) << "its core is the same";
  DeliverAll();
  for (const NodeId other : {0u, 1u, 2u, 4u, 5u, 6u}) {
    EXPECT_TRUE(members_.ViewOf(3, other).up);
    EXPECT_FALSE(members_.ViewOf(3, other).unconfirmed);
    EXPECT_EQ(members_.ViewOf(other, 3).incarnation, 1u);
  }
}

TEST_F(MembershipTest, TheSidesOfAPartitionDeclareEachOtherLost) {
  members_.Partition({5, 6});
  DeliverAll();
  EXPECT_FALSE(members_.ViewOf(0, 5).up);
  EXPECT_FALSE(members_.ViewOf(6, 0).up);
  EXPECT_TRUE(members_.ViewOf(5, 6).up);
  EXPECT_TRUE(members_.ViewOf(1, 2).up);
}

}  // namespace
}  // namespace canopy::sim
