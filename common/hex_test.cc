#include "common/hex.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy {
namespace {

TEST(HexTest, EncodesAndDecodes) {
  const std::string bytes("\x00\x0f\xa0\xff", 4);
  EXPECT_EQ(ToHex(bytes), "000fa0ff");
  EXPECT_EQ(FromHex("000fa0ff"), bytes);
  EXPECT_EQ(FromHex("000FA0fF"), bytes);
  EXPECT_EQ(ToHex(""), "");
  EXPECT_EQ(FromHex(""), "");
}

TEST(HexTest, TextThatIsNotHexIsRejected) {
  for (const char* text : {"0", "000", "0g", "g0", "-1", "+1", " 1", "0x"}) {
    EXPECT_FALSE(FromHex(text)) << text;
  }
}

}  // namespace
}  // namespace canopy
