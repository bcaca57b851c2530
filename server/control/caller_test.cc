#include "server/control/caller.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace canopy::control {
namespace {

TEST(Caller, OwnUserOwnsTheAgents) {
  const Caller own = OwnUser();
  EXPECT_EQ(own.uid, geteuid());
  EXPECT_TRUE(own.user.empty());
  EXPECT_TRUE(own.MayControl(own.uid + 1));
  EXPECT_TRUE(own.owns_agents);
}

TEST(Caller, RootIsAnOperatorAndOthersAreNot) {
  const Result<Caller> root = FindUser("root", "");
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(root->uid, 0u);
  EXPECT_TRUE(root->is_operator);
  EXPECT_TRUE(root->owns_agents);
  const Result<Caller> games = FindUser("games", "");
  ASSERT_TRUE(games.ok());
  EXPECT_FALSE(games->is_operator);
  EXPECT_TRUE(games->MayControl(games->uid));
  EXPECT_FALSE(games->MayControl(0));
}

TEST(Caller, MembersOfTheGroupAreOperators) {
  const Result<Caller> games = FindUser("games", "games");
  EXPECT_TRUE(games->is_operator);
  EXPECT_FALSE(games->owns_agents);
  EXPECT_FALSE(FindUser("games", "mail")->is_operator);
  EXPECT_FALSE(FindUser("games", "no-such-group")->is_operator);
}

TEST(Caller, UnknownUsersAreRefused) {
  EXPECT_EQ(FindUser("no-such-user", "").code(), kErrNoPermissions);
  EXPECT_EQ(FindUser("", "").code(), kErrNoPermissions);
  EXPECT_EQ(NameOfUser(0xfffffff0).code(), kErrNoPermissions);
}

TEST(Caller, NamesAndNumbersBelongTogether) {
  EXPECT_EQ(*NameOfUser(0), "root");
  EXPECT_EQ(*NameOfUser(FindUser("games", "")->uid), "games");
}

}  // namespace
}  // namespace canopy::control
