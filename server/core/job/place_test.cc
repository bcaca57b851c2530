#include "server/core/job/place.h"

#include <gtest/gtest.h>

#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

// Seven agents, radix 2: 0 is above 1 and 2, 1 above 3 and 4, 2 above 5 and 6.
class PlaceTest : public testing::Test {
 protected:
  PlaceTest() : tree_(7, 2), spec_(JobOn("job", {3, 4, 5})) {}
  JobPlace At(NodeId self, NodeId controller = 0,
              std::set<NodeId> lost = {}) const {
    return {self, tree_, spec_, controller, std::move(lost)};
  }

  Tree tree_;
  std::shared_ptr<const JobSpec> spec_;
};

using Nodes = std::vector<NodeId>;

TEST_F(PlaceTest, TheTreeOfAJobIsRootedAtItsController) {
  EXPECT_EQ(At(0).parent(), kNoNode);
  EXPECT_TRUE(At(0).controls());
  EXPECT_EQ(At(0).children(), (Nodes{1, 2}));
  EXPECT_EQ(At(1).parent(), 0u);
  EXPECT_EQ(At(1).children(), (Nodes{3, 4}));
  EXPECT_EQ(At(3).route(), (Nodes{1, 0}));
  // Under another controller the same edges have other directions.
  EXPECT_EQ(At(0, 5).parent(), 2u);
  EXPECT_EQ(At(0, 5).children(), Nodes{1});
  EXPECT_EQ(At(5, 5).children(), Nodes{2});
}

TEST_F(PlaceTest, LostNodesAreNotChildren) {
  EXPECT_EQ(At(0, 0, {5}).children(), Nodes{1});
  EXPECT_EQ(At(1, 0, {3, 5}).LostBelow(), Nodes{3});
  EXPECT_EQ(At(3, 0, {3}).LostBelow(), Nodes{3});
  JobPlace place = At(0);
  place.MarkLost(6);  // has no rank of the job
  EXPECT_TRUE(place.lost().empty());
  place.MarkLost(5);
  EXPECT_EQ(place.lost(), std::set<NodeId>{5});
}

TEST_F(PlaceTest, ChildrenTowardsReturnsTheChildrenOnTheRoutes) {
  const JobPlace place = At(0);
  EXPECT_EQ(place.ChildrenTowards({}), (Nodes{1, 2}));
  EXPECT_EQ(place.ChildrenTowards({2}), Nodes{2});
  EXPECT_EQ(place.ChildrenTowards({0, 1}), Nodes{1});
  EXPECT_EQ(place.ChildrenTowards({99}), Nodes());
  EXPECT_EQ(place.HopTo(5), 2u);
  EXPECT_EQ(place.HopTo(0), 0u);
}

TEST_F(PlaceTest, OnlyAgentsOnTheRouteMayEndTheJob) {
  const JobPlace place = At(3, 5);
  for (const NodeId node : {0u, 1u, 2u, 5u}) EXPECT_TRUE(place.MayEnd(node));
  for (const NodeId node : {3u, 4u, 6u}) EXPECT_FALSE(place.MayEnd(node));
}

TEST_F(PlaceTest, BelowReturnsChildrenAndProvisionalChildren) {
  JobPlace place = At(1);
  EXPECT_TRUE(place.AddReporter(3));
  EXPECT_FALSE(place.AddReporter(6));
  EXPECT_EQ(place.Below(), (Nodes{3, 4, 6}));
  tree_.SetAlive(6, false);
  EXPECT_EQ(place.Below(), (Nodes{3, 4}));
}

TEST_F(PlaceTest, UpdateReportsNewChildrenParentAndRoute) {
  JobPlace root = At(0);
  JobPlace leaf = At(3);
  JobPlace other = At(5);
  tree_.SetAlive(1, false);
  const JobPlace::Change at_root = root.Update();
  EXPECT_EQ(at_root.new_children, (Nodes{3, 4}));
  EXPECT_FALSE(at_root.parent);
  const JobPlace::Change at_leaf = leaf.Update();
  EXPECT_TRUE(at_leaf.parent);
  EXPECT_TRUE(at_leaf.route);
  EXPECT_EQ(leaf.route(), Nodes{0});
  const JobPlace::Change elsewhere = other.Update();
  EXPECT_TRUE(elsewhere.new_children.empty());
  EXPECT_FALSE(elsewhere.parent);
  EXPECT_FALSE(elsewhere.route);
}

TEST_F(PlaceTest, ANewControllerChangesTheTree) {
  JobPlace place = At(2);
  place.SetController(5);
  place.UpdateParent();
  EXPECT_EQ(place.parent(), 5u);
  EXPECT_EQ(place.children(), Nodes{0});
  EXPECT_TRUE(place.OnRoute(5));
  EXPECT_FALSE(place.OnRoute(0));
}

}  // namespace
}  // namespace canopy::core
