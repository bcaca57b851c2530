#include "client/cli/context/base64.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace canopy::cli {
namespace {

// The examples of RFC 4648, section 10.
TEST(Base64Test, HasTheFormOfTheStandard) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64("\xfb\xff\xfe"), "+//+");
}

TEST(Base64Test, EachByteSurvives) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
    EXPECT_EQ(FromBase64(Base64(bytes)), bytes);
  }
}

TEST(Base64Test, RefusesOtherTexts) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "=", "Zh==", "Zm9v=",
                           "Zm 9v", "Zm9v\n", "Zm9-", "Zg==Zg=="}) {
    EXPECT_EQ(FromBase64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace canopy::cli
