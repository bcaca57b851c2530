#include "client/cli/told_members.h"

#include <gtest/gtest.h>

namespace canopy::cli {
namespace {

// Of seven members, two below each, all are up.
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

std::vector<int> Told(const ToldMembers& told) {
  std::vector<int> out;
  for (int i = 0; i < 7; ++i) {
    if (told.Has(i)) out.push_back(i);
  }
  return out;
}

TEST(ToldMembers, TheRootTellsAll) {
  ToldMembers told(7);
  told.Add(0);
  told.AddBelow(SevenUp(), 0);
  EXPECT_EQ(Told(told), (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(ToldMembers, OneThatIsNotTheRootTellsThoseBelowIt) {
  ToldMembers told(7);
  told.Add(1);
  told.AddBelow(SevenUp(), 1);
  EXPECT_EQ(Told(told), (std::vector<int>{1, 3, 4}));
}

TEST(ToldMembers, OneThatDoesNotAnswerTellsNobody) {
  control::v1::StatusReply status = SevenUp();
  status.mutable_nodes(1)->set_away(true);
  ToldMembers told(7);
  told.Add(0);
  told.AddBelow(status, 0);
  EXPECT_EQ(Told(told), (std::vector<int>{0, 2, 5, 6}));
  EXPECT_TRUE(told.MayHave(1));
  EXPECT_FALSE(told.MayHave(3));
}

TEST(ToldMembers, ALostOneIsNotTold) {
  control::v1::StatusReply status = SevenUp();
  status.mutable_nodes(2)->set_up(false);
  status.mutable_nodes(2)->set_parent(-1);
  ToldMembers told(7);
  told.Add(0);
  told.AddBelow(status, 0);
  EXPECT_FALSE(told.Has(2));
  EXPECT_FALSE(told.MayHave(2));
}

TEST(ToldMembers, NonsenseIsNotBelieved) {
  control::v1::StatusReply status = SevenUp();
  status.mutable_nodes(3)->set_parent(9);
  status.mutable_nodes(4)->set_parent(6);
  status.add_nodes()->set_up(true);
  ToldMembers told(7);
  told.Add(0);
  told.AddBelow(status, 0);
  EXPECT_EQ(Told(told), (std::vector<int>{0, 1, 2, 5, 6}));
}

}  // namespace
}  // namespace canopy::cli
