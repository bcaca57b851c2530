#include "server/core/modex/key_owners.h"

#include <gtest/gtest.h>

#include "common/codec/encoder.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

TEST(KeyOwners, TheLowestRankOwnsAKey) {
  KeyOwners owners;
  EXPECT_EQ(owners.Find("a"), std::nullopt);
  owners.Add("a", 5);
  owners.Add("a", 3);
  owners.Add("a", 4);
  EXPECT_EQ(owners.Find("a"), 3u);
  EXPECT_EQ(owners.size(), 1u);
}

TEST(KeyOwners, AddsAllKeysOfARank) {
  KeyOwners owners;
  const std::string two =
      std::string(Kval("a").view()) + std::string(Kval("b").view());
  owners.AddAll(two, 1);
  owners.AddAll("\xff", 0);
  EXPECT_EQ(owners.Find("a"), 1u);
  EXPECT_EQ(owners.Find("b"), 1u);
  EXPECT_EQ(owners.size(), 2u);
}

TEST(KeyOwners, DeletedKeysAreNotAdded) {
  KeyOwners owners;
  Encoder deleted;
  deleted.PutString("b");
  deleted.PutUint16(PMIX_UNDEF);
  const std::string two = std::string(Kval("a").view()) + deleted.Take();
  owners.AddPut(two, 1);
  EXPECT_EQ(owners.Find("a"), 1u);
  EXPECT_EQ(owners.Find("b"), std::nullopt);
  owners.AddAll(two, 1);
  EXPECT_EQ(owners.Find("b"), 1u);
}

}  // namespace
}  // namespace canopy::core
