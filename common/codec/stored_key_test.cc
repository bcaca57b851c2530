#include "common/codec/stored_key.h"

#include <gtest/gtest.h>

#include <string>

#include "common/ids.h"

namespace canopy {
namespace {

TEST(StoredKey, NamesAreNoKeysOfProcesses) {
  EXPECT_TRUE(IsStoredName(ScopeNameOf("key")));
  EXPECT_FALSE(IsStoredName("key"));
  EXPECT_FALSE(IsStoredName("pmix.key"));
  EXPECT_FALSE(IsStoredName(""));
}

// Part of the protocol between agents of different releases.
TEST(StoredKey, ScopeNames) {
  EXPECT_EQ(ScopeNameOf("btl.tcp.4.1"), "\x01sbtl.tcp.4.1");
  const std::string whole(256, 'k');
  EXPECT_EQ(ScopeNameOf(whole), "\x01s" + whole);
  const std::string longest(kMaxKeyLen, 'k');
  EXPECT_EQ(ScopeNameOf(longest),
            "\x01s" + std::string(240, 'k') + "d4a2e2ccf7d369ac");
  EXPECT_NE(ScopeNameOf(longest), ScopeNameOf(longest.substr(1)));
}

}  // namespace
}  // namespace canopy
