#include "client/cli/context/key_bytes.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy::cli {
namespace {

TEST(KeyBytesTest, ClusterKeyOfReturnsTheKeyWithTheBytes) {
  const auto key = ClusterKeyOf(std::string(31, '\xa5') + '\x0f');
  ASSERT_TRUE(key.ok());
  std::string hex;
  for (int i = 0; i < 31; ++i) hex += "a5";
  EXPECT_NE(key->ToHex().find(hex + "0f"), std::string::npos);
}

TEST(KeyBytesTest, RejectsBytesOfAnotherLength) {
  EXPECT_FALSE(ClusterKeyOf("").ok());
  EXPECT_FALSE(ClusterKeyOf(std::string(33, 'x')).ok());
}

}  // namespace
}  // namespace canopy::cli
