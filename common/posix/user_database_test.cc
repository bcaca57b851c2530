#include "common/posix/user_database.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace canopy {
namespace {

TEST(UserDatabase, AUserIsFoundByNameAndByNumber) {
  const auto root = FindUserByNumber(0);
  ASSERT_TRUE(root);
  EXPECT_EQ(root->name, "root");
  const auto games = FindUserByName("games");
  ASSERT_TRUE(games);
  EXPECT_EQ(FindUserByNumber(games->uid)->name, "games");
}

TEST(UserDatabase, WhatDoesNotExistIsNotFound) {
  EXPECT_FALSE(FindUserByName("no-such-user"));
  EXPECT_FALSE(FindUserByNumber(0xfffffff0));
  EXPECT_FALSE(FindGroup("no-such-group"));
}

TEST(UserDatabase, TheGroupsOfAUserContainTheGroupOfTheLogin) {
  const auto games = FindUserByName("games");
  ASSERT_TRUE(games);
  EXPECT_EQ(FindGroup("games"), games->gid);
  const auto groups = GroupsOf("games", games->gid);
  EXPECT_EQ(std::ranges::count(groups, games->gid), 1);
}

}  // namespace
}  // namespace canopy
