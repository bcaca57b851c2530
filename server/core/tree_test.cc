#include "server/core/tree.h"

#include <gtest/gtest.h>

#include <random>

namespace canopy::core {
namespace {

using Nodes = std::vector<NodeId>;

TEST(Tree, ParentsAndChildrenOfAFullTreeFollowFromTheRadix) {
  const Tree tree(10, 3);
  EXPECT_EQ(tree.root(), 0u);
  EXPECT_EQ(tree.parent(0), kNoNode);
  EXPECT_EQ(tree.parent(3), 0u);
  EXPECT_EQ(tree.parent(4), 1u);
  EXPECT_EQ(tree.children(0), (Nodes{1, 2, 3}));
  EXPECT_EQ(tree.children(1), (Nodes{4, 5, 6}));
  EXPECT_EQ(tree.children(2), (Nodes{7, 8, 9}));
  EXPECT_TRUE(tree.children(3).empty());
}

TEST(Tree, AnAddedMemberIsLostUntilItIsSetAliveAndMovesNoOther) {
  Tree tree(4, 3);
  tree.Grow(6);
  EXPECT_EQ(tree.size(), 6u);
  EXPECT_FALSE(tree.alive(5));
  EXPECT_TRUE(tree.children(1).empty());
  tree.SetAlive(5, true);
  EXPECT_EQ(tree.children(1), (Nodes{5}));
  EXPECT_EQ(tree.children(0), (Nodes{1, 2, 3}));
  tree.Grow(2);
  EXPECT_EQ(tree.size(), 6u);
}

TEST(Tree, ASingleMemberIsTheRoot) {
  const Tree tree(1, 32);
  EXPECT_EQ(tree.root(), 0u);
  EXPECT_EQ(tree.parent(0), kNoNode);
  EXPECT_TRUE(tree.children(0).empty());
  EXPECT_EQ(tree.LowestCommonAncestor(Nodes{0}), 0u);
}

TEST(Tree, TheChildrenOfALostMemberMoveToItsParent) {
  Tree tree(15, 2);
  tree.SetAlive(1, false);
  EXPECT_EQ(tree.parent(3), 0u);
  EXPECT_EQ(tree.parent(4), 0u);
  EXPECT_EQ(tree.children(0), (Nodes{2, 3, 4}));
  tree.SetAlive(3, false);
  EXPECT_EQ(tree.children(0), (Nodes{2, 4, 7, 8}));
  EXPECT_EQ(tree.NextHop(0, 8), 8u);
  tree.SetAlive(1, true);
  EXPECT_EQ(tree.children(1), (Nodes{4, 7, 8}));
}

TEST(Tree, TheLowestLivingMemberReplacesALostRoot) {
  Tree tree(7, 2);
  tree.SetAlive(0, false);
  EXPECT_EQ(tree.root(), 1u);
  EXPECT_EQ(tree.parent(1), kNoNode);
  EXPECT_EQ(tree.parent(2), 1u);
  EXPECT_EQ(tree.parent(5), 2u);
  EXPECT_EQ(tree.children(1), (Nodes{2, 3, 4}));
  tree.SetAlive(1, false);
  EXPECT_EQ(tree.root(), 2u);
  EXPECT_EQ(tree.children(2), (Nodes{3, 4, 5, 6}));
}

TEST(Tree, WithoutLivingMembersThereIsNoRoot) {
  Tree tree(2, 2);
  tree.SetAlive(0, false);
  tree.SetAlive(1, false);
  EXPECT_EQ(tree.root(), kNoNode);
  tree.SetAlive(1, true);
  EXPECT_EQ(tree.root(), 1u);
  tree.SetAlive(0, true);
  EXPECT_EQ(tree.root(), 0u);
}

TEST(Tree, VersionChangesOnlyWithTheTree) {
  Tree tree(4, 2);
  const uint64_t before = tree.version();
  tree.SetAlive(2, true);
  tree.SetAlive(9, false);
  EXPECT_EQ(tree.version(), before);
  tree.SetAlive(2, false);
  EXPECT_NE(tree.version(), before);
  EXPECT_FALSE(tree.alive(9));
}

TEST(Tree, FindsTheLowestCommonAncestor) {
  const Tree tree(15, 2);
  EXPECT_EQ(tree.LowestCommonAncestor(Nodes{}), kNoNode);
  EXPECT_EQ(tree.LowestCommonAncestor(Nodes{8, 9}), 1u);
  EXPECT_EQ(tree.LowestCommonAncestor(Nodes{7, 8}), 3u);
  EXPECT_EQ(tree.LowestCommonAncestor(Nodes{3, 8}), 3u);
  EXPECT_EQ(tree.LowestCommonAncestor(Nodes{13, 14, 7}), 0u);
}

TEST(Tree, WithLetRootDecideTheRootIsTheTopOfAllCollectives) {
  Tree tree(15, 2);
  EXPECT_EQ(tree.TopOf(Nodes{8, 9}), 1u);
  tree.LetRootDecide();
  EXPECT_EQ(tree.TopOf(Nodes{8, 9}), 0u);
  EXPECT_EQ(tree.TopOf(Nodes{8}), 0u);
  EXPECT_EQ(tree.TopOf(Nodes{}), kNoNode);
  tree.SetAlive(0, false);
  EXPECT_EQ(tree.TopOf(Nodes{8, 9}), 1u);
}

// Checks properties that must hold whichever members are lost.
void CheckShape(const Tree& tree) {
  uint32_t living = 0;
  uint32_t edges = 0;
  for (NodeId n = 0; n < tree.size(); ++n) {
    if (!tree.alive(n)) continue;
    ++living;
    for (const NodeId child : tree.children(n)) {
      EXPECT_TRUE(tree.alive(child));
      EXPECT_EQ(tree.parent(child), n);
      EXPECT_EQ(tree.NextHop(n, child), child);
      EXPECT_EQ(tree.NextHop(child, n), n);
      ++edges;
    }
    EXPECT_TRUE(tree.InSubtree(tree.root(), n));
    EXPECT_TRUE(tree.InSubtree(n, n));
  }
  if (living > 0) {
    EXPECT_EQ(edges, living - 1);
  }
}

TEST(Tree, AfterAnyLossesTheMembersFormOneTree) {
  std::mt19937 rng(1);
  for (const uint32_t radix : {2u, 3u, 32u}) {
    Tree tree(70, radix);
    for (int i = 0; i < 200; ++i) {
      tree.SetAlive(rng() % tree.size(), rng() % 3 == 0);
      CheckShape(tree);
    }
  }
}

TEST(Tree, NextHopsLeadToEveryTarget) {
  std::mt19937 rng(2);
  Tree tree(60, 2);
  for (int i = 0; i < 15; ++i) tree.SetAlive(rng() % 60, false);
  for (NodeId a = 0; a < 60; ++a) {
    for (NodeId b = 0; b < 60; ++b) {
      if (!tree.alive(a) || !tree.alive(b)) continue;
      NodeId at = a;
      for (int hops = 0; at != b && hops < 60; ++hops) at = tree.NextHop(at, b);
      EXPECT_EQ(at, b);
      const NodeId top = tree.LowestCommonAncestor(Nodes{a, b});
      EXPECT_TRUE(tree.InSubtree(top, a));
      EXPECT_TRUE(tree.InSubtree(top, b));
    }
  }
}

TEST(Tree, TheLeaderIsTheFirstLivingMemberInService) {
  Tree tree(4, 2);
  EXPECT_EQ(tree.leader(), 0u);
  tree.SetInService(0, false);
  EXPECT_EQ(tree.leader(), 1u);
  EXPECT_EQ(tree.root(), 0u) << "the tree does not change";
  tree.SetAlive(1, false);
  EXPECT_EQ(tree.leader(), 2u);
  tree.SetInService(2, false);
  tree.SetInService(3, false);
  EXPECT_EQ(tree.leader(), 0u) << "none is in service";
  tree.SetAlive(0, false);
  EXPECT_EQ(tree.leader(), 2u) << "the root leads";
  tree.SetInService(9, false);
  tree.SetInService(3, true);
  EXPECT_EQ(tree.leader(), 3u);
  tree.SetAlive(2, false);
  tree.SetAlive(3, false);
  EXPECT_EQ(tree.leader(), kNoNode);
}

}  // namespace
}  // namespace canopy::core
