#include "server/kubernetes/api/json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

namespace canopy::kubernetes {
namespace {

TEST(JsonTest, ReadsMembersOfTheirTypes) {
  const auto object = ParseJson(
      R"({"text":"a","number":-5,"large":9223372036854775807,"flag":true,
          "list":[1,2],"object":{"a":1}})");
  ASSERT_TRUE(object);
  EXPECT_EQ(TextAt(*object, "text"), "a");
  EXPECT_EQ(IntAt(*object, "number"), -5);
  EXPECT_EQ(IntAt(*object, "large"), INT64_MAX);
  EXPECT_TRUE(BoolAt(*object, "flag", false));
  EXPECT_EQ(ElementsOf(At(*object, "list")).size(), 2u);
  EXPECT_EQ(MembersOf(At(*object, "object")).size(), 1u);
}

TEST(JsonTest, ReadsDefaultsForMembersOfOtherTypes) {
  for (const char* text :
       {"{}", "[]", "null", "1", "\"a\"", R"({"a":null})", R"({"a":1.5})",
        R"({"a":18446744073709551615})", R"({"b":"c"})"}) {
    const auto value = ParseJson(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(TextAt(*value, "a"), "") << text;
    EXPECT_EQ(IntAt(*value, "a"), std::nullopt) << text;
    EXPECT_TRUE(BoolAt(*value, "a", true)) << text;
    EXPECT_TRUE(At(At(*value, "a"), "b").is_null()) << text;
    EXPECT_TRUE(ElementsOf(At(*value, "a")).empty()) << text;
    EXPECT_TRUE(MembersOf(At(*value, "a")).empty()) << text;
  }
}

TEST(JsonTest, RejectsTextThatIsNotJson) {
  for (const char* text : {"", "{", "{}{}", "{'a':1}", "[1,]", "nul",
                           "\"\xff\"", "\"\\ud800\"", "// a\n1"}) {
    EXPECT_EQ(ParseJson(text), std::nullopt) << text;
  }
}

TEST(JsonTest, LimitsTheDepthOutsideOfStrings) {
  const std::string deepest =
      std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']');
  EXPECT_TRUE(ParseJson(deepest));
  EXPECT_FALSE(ParseJson("[" + deepest + "]"));
  EXPECT_TRUE(ParseJson("\"\\\"" + std::string(500, '[') + "\""));
  EXPECT_TRUE(ParseJson("[\"\\\\\"," + deepest.substr(2) + "]") ==
              std::nullopt);
}

TEST(JsonTest, WritesTextThatIsNotUtf8) {
  EXPECT_EQ(JsonText({{"a", "\xff"}}), "{\"a\":\"\xef\xbf\xbd\"}");
}

TEST(JsonTest, ShownTextIsOneLineOfBoundedLength) {
  EXPECT_EQ(ShownText("a\nb\x1b"), "a\\nb\\x1b");
  EXPECT_EQ(ShownText("abcdef", 3), "abc");
  EXPECT_EQ(ShownText("ab\xc3\xa4", 3), "ab");
  EXPECT_EQ(ShownText("a\xc3\xa4g", 3), "a\xc3\xa4");
  EXPECT_EQ(ShownText("\x80\x80\x80\x80", 2), "");
}

}  // namespace
}  // namespace canopy::kubernetes
