#include "common/text.h"

#include <gtest/gtest.h>

namespace canopy {
namespace {

TEST(TextTest, RecognisesUtf8) {
  for (const char* good : {"", "plain", "caf\xc3\xa9", "\xe2\x82\xac",
                           "\xf0\x9f\x8c\xb3", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  for (const char* bad :
       {"caf\xe9", "\x80", "\xc3", "\xc0\x80", "\xe2\x82", "\xed\xa0\x80",
        "\xf4\x90\x80\x80", "\xff", "\xe0\x80\x80"}) {
    EXPECT_FALSE(IsUtf8(bad)) << bad;
  }
}

TEST(TextTest, PrintableTextIsUnchanged) {
  EXPECT_EQ(Printable(""), "");
  EXPECT_EQ(Printable("a \\ \"b\" caf\xc3\xa9 \xf0\x9f\x8c\xb3"),
            "a \\ \"b\" caf\xc3\xa9 \xf0\x9f\x8c\xb3");
}

TEST(TextTest, ControlCharactersAndInvalidBytesAreEscaped) {
  EXPECT_EQ(Printable("two\nlines\ttab"), "two\\nlines\\ttab");
  EXPECT_EQ(Printable("\x1b[31m\x7f"), "\\x1b[31m\\x7f");
  EXPECT_EQ(Printable(std::string("nul\0", 4)), "nul\\x00");
  EXPECT_EQ(Printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(Printable("\xe2\x82x"), "\\xe2\\x82x");
  EXPECT_TRUE(IsUtf8(Printable("\xed\xa0\x80 caf\xe9")));
}

}  // namespace
}  // namespace canopy
