#include "server/overlay/membership_view.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy::overlay {
namespace {

using Change = MembershipView::Change;

OverlayConfig Config(NodeId self, uint32_t members) {
  OverlayConfig config;
  config.self = self;
  config.radix = 2;
  config.incarnation = 100;
  for (NodeId id = 0; id < members; ++id) {
    config.members.push_back({"n" + std::to_string(id), ""});
  }
  return config;
}

MemberState Up(NodeId node, uint64_t incarnation, bool recovered = false) {
  return {node, incarnation, true, "", "at" + std::to_string(node), recovered};
}
MemberState Down(NodeId node, uint64_t incarnation) {
  return {node, incarnation, false, "gone", "", false};
}

Hello HelloOf(NodeId node) {
  Hello hello;
  hello.node = node;
  hello.node_name = "n" + std::to_string(node);
  hello.incarnation = 5;
  return hello;
}

TEST(MembershipViewTest, MergeReportsJoinLossAndReturn) {
  MembershipView view(Config(1, 4));
  EXPECT_EQ(view.Merge(Up(3, 5)), Change::kReturned);
  EXPECT_EQ(view.Merge(Up(3, 5)), Change::kNone);
  EXPECT_EQ(view.address(3), "at3");
  EXPECT_EQ(view.Merge(Down(3, 5)), Change::kLost);
  EXPECT_FALSE(view.tree().alive(3));
  EXPECT_EQ(view.Merge(Up(3, 5)), Change::kNone);
  EXPECT_EQ(view.Merge(Up(3, 6)), Change::kReturned);
  EXPECT_TRUE(view.tree().alive(3));
  EXPECT_EQ(view.Merge(Up(4, 1)), Change::kNone);
}

TEST(MembershipViewTest, ALossAfterAnUnseenReturnIsReportedAsSuch) {
  MembershipView view(Config(1, 4));
  EXPECT_EQ(view.Merge(Down(3, 5)), Change::kLost) << "it was in the tree";
  EXPECT_EQ(view.Merge(Down(3, 5)), Change::kNone);
  EXPECT_EQ(view.Merge(Down(3, 7)), Change::kLostAgain);
  EXPECT_EQ(view.Merge(Up(3, 8)), Change::kReturned);
  EXPECT_EQ(view.Merge(Down(3, 9)), Change::kLost);
}

// The core has been notified of the loss of all members, whatever their states.
TEST(MembershipViewTest, ALossThatPrecedesARejoinIsNoUnseenReturn) {
  MembershipView view(Config(1, 4));
  view.Merge(Down(3, 5));
  view.StartOver();
  EXPECT_EQ(view.Merge(Down(3, 5)), Change::kLost);
}

TEST(MembershipViewTest, AnAddedMemberMayBeLostBeforeItWasSeen) {
  MembershipView view(Config(1, 4));
  MemberRecord record;
  record.node = 4;
  record.version = 1;
  record.name = "n4";
  view.MergeRecord(record);
  EXPECT_EQ(view.Merge(Down(4, 0)), Change::kLost) << "it has not been up";
  EXPECT_EQ(view.Merge(Down(4, 5)), Change::kLostAgain);
  record.version = 2;
  record.service = Service::kRemoved;
  record.node = 3;
  view.MergeRecord(record);
  view.Merge(Down(3, 0));
  EXPECT_EQ(view.Merge(Down(3, 5)), Change::kLost) << "it was removed before";
}

TEST(MembershipViewTest, ASuccessorThatRecoveredIsReportedAsARestart) {
  MembershipView view(Config(1, 4));
  view.Merge(Up(0, 5));
  EXPECT_EQ(view.Merge(Up(0, 6, true)), Change::kRestarted);
  EXPECT_EQ(view.Merge(Up(0, 7, false)), Change::kReplaced);
  EXPECT_TRUE(view.tree().alive(0));
}

TEST(MembershipViewTest, ASuccessorsIncarnationExceedsItsPredecessors) {
  OverlayConfig config = Config(1, 4);
  config.incarnation = 0;
  const uint64_t now = MembershipView(config).identity().incarnation;
  EXPECT_GT(now, 0u);
  constexpr uint64_t kHour = 3600000000000;
  config.predecessor = now + kHour;
  EXPECT_GT(MembershipView(config).identity().incarnation, now + kHour);
  config.predecessor = now - kHour;
  EXPECT_LT(MembershipView(config).identity().incarnation, now + kHour);
}

TEST(MembershipViewTest, TheTreeDeterminesTheNeighbours) {
  MembershipView view(Config(1, 7));
  EXPECT_EQ(view.parent(), 0u);
  EXPECT_TRUE(view.IsNeighbor(0));
  EXPECT_TRUE(view.IsNeighbor(3));
  EXPECT_FALSE(view.IsNeighbor(2));
  view.Merge(Down(0, 1));
  EXPECT_EQ(view.parent(), kNoNode);
  EXPECT_FALSE(view.IsNeighbor(0));
  EXPECT_TRUE(view.IsNeighbor(2));
}

TEST(MembershipViewTest, TheViewReportsThatThisAgentIsLostOrDuplicated) {
  MembershipView view(Config(1, 4));
  EXPECT_EQ(view.Merge(Down(1, 99)), Change::kNone);
  EXPECT_EQ(view.Merge(Up(1, 100)), Change::kNone);
  EXPECT_EQ(view.Merge(Up(1, 101)), Change::kSelfDuplicated);
  EXPECT_EQ(view.Merge(Down(1, 100)), Change::kSelfLost);
}

TEST(MembershipViewTest, StartOverBeginsANewIncarnationThatKnowsNoOtherMember) {
  OverlayConfig config = Config(1, 4);
  config.recovered = true;
  MembershipView view(config);
  view.SetOwnAddress("here");
  view.Merge(Up(0, 5));
  view.Merge(Down(3, 5));
  view.StartOver();
  EXPECT_GT(view.identity().incarnation, 100u);
  EXPECT_FALSE(view.identity().recovered);
  EXPECT_EQ(view.table().up_count(), 1u);
  EXPECT_EQ(view.table().State(1).address, "here");
  EXPECT_TRUE(view.tree().alive(3));
  EXPECT_TRUE(view.WasSeen(3));
}

TEST(MembershipViewTest, EachLossAndReturnIsReportedOnce) {
  MembershipView view(Config(1, 4));
  EXPECT_FALSE(view.ReportUp(2));
  EXPECT_TRUE(view.ReportDown(2));
  EXPECT_FALSE(view.ReportDown(2));
  EXPECT_TRUE(view.ReportUp(2));
}

TEST(MembershipViewTest, LostAndSupersededIncarnationsAreRejected) {
  MembershipView view(Config(1, 4));
  Hello hello = HelloOf(3);
  EXPECT_TRUE(view.Admit(hello).ok());
  view.Merge(Up(3, 6));
  EXPECT_EQ(view.Admit(hello).code, kEndRefused);
  view.Merge(Down(3, 6));
  EXPECT_EQ(view.Admit(hello).code, kEndExpelled);
  hello.incarnation = 7;
  EXPECT_TRUE(view.Admit(hello).ok());
}

TEST(MembershipViewTest, NoChildIsAdmittedBeforeTheMembersAreKnown) {
  MembershipView view(Config(1, 4));
  view.StartOver();
  Hello hello = HelloOf(3);
  EXPECT_EQ(view.Admit(hello).code, kEndUnavailable);
  view.MarkSynced();
  EXPECT_TRUE(view.Admit(hello).ok());
}

TEST(MembershipViewTest, AnAddedMemberIsLostUntilItsAgentIsUp) {
  MembershipView view(Config(1, 4));
  MemberRecord record;
  record.node = 4;
  record.version = 1;
  record.name = "n4";
  EXPECT_EQ(view.Merge(Up(4, 5)), Change::kNone);
  EXPECT_EQ(view.MergeRecord(record), MembershipView::RecordChange::kAdded);
  EXPECT_EQ(view.MergeRecord(record), MembershipView::RecordChange::kNone);
  EXPECT_EQ(view.name(4), "n4");
  EXPECT_EQ(view.identity().members, 5u);
  EXPECT_FALSE(view.tree().alive(4));
  EXPECT_TRUE(view.Admit(HelloOf(4)).ok());
  EXPECT_EQ(view.Merge(Up(4, 5)), Change::kReturned);
  EXPECT_TRUE(view.ReportUp(4));
}

TEST(MembershipViewTest, ARemovedMemberIsNotAdmittedAndNotInTheTreeOfARejoin) {
  MembershipView view(Config(1, 4));
  MemberRecord record;
  record.node = 3;
  record.version = 1;
  record.service = Service::kRemoved;
  EXPECT_EQ(view.MergeRecord(record), MembershipView::RecordChange::kChanged);
  EXPECT_EQ(view.Admit(HelloOf(3)).code, kEndRemoved);
  view.StartOver();
  EXPECT_FALSE(view.tree().alive(3));
  EXPECT_TRUE(view.tree().alive(2));
}

TEST(MembershipViewTest, ANameOfAnotherMemberIsNotAdmitted) {
  MembershipView view(Config(1, 4));
  Hello hello = HelloOf(3);
  hello.node_name = "n2";
  EXPECT_EQ(view.Admit(hello).code, kEndRefused);
}

TEST(MembershipViewTest, TheOwnDepartureIsMergedOnce) {
  MembershipView view(Config(1, 4));
  EXPECT_TRUE(view.MergeOwnDeparture());
  EXPECT_FALSE(view.MergeOwnDeparture());
  EXPECT_TRUE(view.table().Down(1));
}

}  // namespace
}  // namespace canopy::overlay
