#include "common/request/pty_input.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace canopy {
namespace {

TEST(PtyInputTest, TextAndSizesAreDecodedFromPiecesOfAnyLength) {
  const std::string typed = "ls\r\xff\xffW\x03";
  const std::string stream = EncodePtyText(typed) + EncodePtySize({50, 80}) +
                             "x" + EncodePtySize({256, 65535});
  for (size_t length = 1; length <= stream.size(); ++length) {
    PtyInputDecoder decoder;
    std::string text;
    std::optional<PtySize> size;
    for (size_t at = 0; at < stream.size(); at += length) {
      text += decoder.Decode(stream.substr(at, length), &size);
    }
    EXPECT_EQ(text, typed + "x") << length;
    ASSERT_TRUE(size.has_value()) << length;
    EXPECT_EQ(size->rows, 256u);
    EXPECT_EQ(size->columns, 65535u);
  }
}

TEST(PtyInputTest, ASizeIsConvertedToAndFromText) {
  EXPECT_EQ(PtySizeText({24, 80}), "24x80");
  const auto size = ParsePtySize("24x80");
  ASSERT_TRUE(size.has_value());
  EXPECT_EQ(size->rows, 24u);
  EXPECT_EQ(size->columns, 80u);
  for (const char* text : {"", "x", "24", "24x", "x80", "24x80x1", "70000x1"}) {
    EXPECT_FALSE(ParsePtySize(text).has_value()) << text;
  }
}

TEST(PtyInputTest, UnknownSequencesAreDropped) {
  PtyInputDecoder decoder;
  std::optional<PtySize> size;
  EXPECT_EQ(decoder.Decode("a\xffQb", &size), "ab");
  EXPECT_FALSE(size.has_value());
}

}  // namespace
}  // namespace canopy
