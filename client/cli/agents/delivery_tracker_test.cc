#include "client/cli/agents/delivery_tracker.h"

#include <gtest/gtest.h>

namespace canopy::cli {
namespace {

// Returns the tree of seven members, each with up to two children; all are up.
control::v1::StatusReply SevenUp() {
  control::v1::StatusReply status;
  for (int i = 0; i < 7; ++i) {
    control::v1::NodeStatus* node = status.add_nodes();
    node->set_node(static_cast<uint32_t>(i));
    node->set_up(true);
    node->set_parent(i == 0 ? -1 : (i - 1) / 2);
  }
  return status;
}

std::vector<int> Told(const DeliveryTracker& delivery) {
  std::vector<int> out;
  for (int i = 0; i < 7; ++i) {
    if (delivery.Has(i)) out.push_back(i);
  }
  return out;
}

TEST(DeliveryTracker, TheRootForwardsToAllMembers) {
  DeliveryTracker delivery(7);
  delivery.Add(0);
  delivery.AddBelow(SevenUp(), 0);
  EXPECT_EQ(Told(delivery), (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(DeliveryTracker, AnotherMemberForwardsToItsSubtree) {
  DeliveryTracker delivery(7);
  delivery.Add(1);
  delivery.AddBelow(SevenUp(), 1);
  EXPECT_EQ(Told(delivery), (std::vector<int>{1, 3, 4}));
}

TEST(DeliveryTracker, AMemberThatDoesNotAnswerForwardsNothing) {
  control::v1::StatusReply status = SevenUp();
  status.mutable_nodes(1)->set_away(true);
  DeliveryTracker delivery(7);
  delivery.Add(0);
  delivery.AddBelow(status, 0);
  EXPECT_EQ(Told(delivery), (std::vector<int>{0, 2, 5, 6}));
  EXPECT_TRUE(delivery.MayHave(1));
  EXPECT_FALSE(delivery.MayHave(3));
}

TEST(DeliveryTracker, ALostMemberReceivesNothing) {
  control::v1::StatusReply status = SevenUp();
  status.mutable_nodes(2)->set_up(false);
  status.mutable_nodes(2)->set_parent(-1);
  DeliveryTracker delivery(7);
  delivery.Add(0);
  delivery.AddBelow(status, 0);
  EXPECT_FALSE(delivery.Has(2));
  EXPECT_FALSE(delivery.MayHave(2));
}

TEST(DeliveryTracker, NodesWithImpossibleParentsAreIgnored) {
  control::v1::StatusReply status = SevenUp();
  status.mutable_nodes(3)->set_parent(9);
  status.mutable_nodes(4)->set_parent(6);
  status.add_nodes()->set_up(true);
  DeliveryTracker delivery(7);
  delivery.Add(0);
  delivery.AddBelow(status, 0);
  EXPECT_EQ(Told(delivery), (std::vector<int>{0, 1, 2, 5, 6}));
}

}  // namespace
}  // namespace canopy::cli
