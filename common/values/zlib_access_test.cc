#include "common/values/zlib_access.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace canopy {
namespace {

TEST(ZlibAccessTest, SurvivesCompression) {
  const std::string content(10000, 'x');
  const auto compressed = Compress(content);
  ASSERT_TRUE(compressed.has_value());
  EXPECT_LT(compressed->size(), 200u);
  uint32_t length = 0;
  memcpy(&length, compressed->data(), sizeof(length));
  EXPECT_EQ(length, content.size());
  EXPECT_EQ(Decompress(*compressed), content);
}

TEST(ZlibAccessTest, IncompressibleContentIsNotCompressed) {
  EXPECT_FALSE(Compress("abc").has_value());
  EXPECT_FALSE(Compress("").has_value());
}

TEST(ZlibAccessTest, MalformedInputIsRejected) {
  auto compressed = *Compress(std::string(10000, 'x'));
  EXPECT_FALSE(Decompress("").has_value());
  EXPECT_FALSE(Decompress("abcd").has_value());
  EXPECT_FALSE(Decompress(compressed, 9999).has_value());
  for (size_t size = 0; size < compressed.size(); ++size) {
    EXPECT_FALSE(Decompress(compressed.substr(0, size)).has_value());
  }
  // The length does not match the content.
  ++compressed[0];
  EXPECT_FALSE(Decompress(compressed).has_value());
  memset(compressed.data(), 0xff, 4);
  EXPECT_FALSE(Decompress(compressed, SIZE_MAX).has_value());
}

}  // namespace
}  // namespace canopy
