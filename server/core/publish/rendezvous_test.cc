#include "server/core/publish/rendezvous.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy::core {
namespace {

constexpr uint32_t kMembers = 40;

TEST(RendezvousTest, ExactlyOneMemberOwnsAKey) {
  Tree tree(kMembers, 2);
  tree.SetAlive(7, false);
  for (int i = 0; i < 200; ++i) {
    const std::string key = "key" + std::to_string(i);
    const KeyHomes homes = HomesOf(key, tree);
    EXPECT_NE(homes.owner, homes.second);
    for (NodeId node = 0; node < kMembers; ++node) {
      EXPECT_EQ(IsOwner(node, key, tree), node == homes.owner) << key << node;
    }
  }
}

TEST(RendezvousTest, TheLossOfAMemberMovesOnlyItsKeys) {
  const Tree before(kMembers, 2);
  Tree after(kMembers, 2);
  after.SetAlive(3, false);
  for (int i = 0; i < 200; ++i) {
    const std::string key = "key" + std::to_string(i);
    const KeyHomes homes = HomesOf(key, before);
    const NodeId owner = homes.owner == 3 ? homes.second : homes.owner;
    EXPECT_EQ(HomesOf(key, after).owner, owner);
  }
}

TEST(RendezvousTest, AKeyOfTheLastMemberHasNoSecondHome) {
  Tree tree(2, 2);
  tree.SetAlive(0, false);
  const KeyHomes homes = HomesOf("key", tree);
  EXPECT_EQ(homes.owner, 1u);
  EXPECT_EQ(homes.second, kNoNode);
}

}  // namespace
}  // namespace canopy::core
