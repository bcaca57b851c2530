#include "common/string_util.h"

#include <gtest/gtest.h>

namespace canopy {
namespace {

TEST(WordsTest, SplitKeepsEmptyParts) {
  EXPECT_EQ(Split("a,b,,c", ','),
            (std::vector<std::string>{"a", "b", "", "c"}));
  EXPECT_EQ(Split("", ','), std::vector<std::string>{""});
}

TEST(WordsTest, WordsAreSeparatedByOneOrMoreSeparators) {
  EXPECT_EQ(WordsOf("  a\t b\n"), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_EQ(WordsOf("a:b,,c", ":,"),
            (std::vector<std::string_view>{"a", "b", "c"}));
  EXPECT_TRUE(WordsOf(" ").empty());
}

TEST(WordsTest, ReplacesEachOccurrenceOnce) {
  std::string text = "%n/%r-%n";
  ReplaceAll(&text, "%n", "%n%n");
  EXPECT_EQ(text, "%n%n/%r-%n%n");
  ReplaceAll(&text, "%r", "");
  EXPECT_EQ(text, "%n%n/-%n%n");
}

TEST(WordsTest, ParseNumberAcceptsOnlyWholeNumbersUpToALimit) {
  EXPECT_EQ(ParseNumber("17"), 17u);
  EXPECT_EQ(ParseNumber("4294967295"), 4294967295u);
  for (const char* bad : {"", "-1", "+1", "1x", " 1", "4294967296", "0x10"}) {
    EXPECT_FALSE(ParseNumber(bad).has_value()) << bad;
  }
  EXPECT_FALSE(ParseNumber("11", 10).has_value());
}

TEST(WordsTest, NearestFindsTheIntendedWord) {
  constexpr std::string_view kKnown[] = {"oversubscribe", "map-by", "bind-to",
                                         "host", "n"};
  EXPECT_EQ(Nearest("oversubcribe", kKnown), "oversubscribe");
  EXPECT_EQ(Nearest("mapby", kKnown), "map-by");
  EXPECT_EQ(Nearest("bidn-to", kKnown), "bind-to");
  EXPECT_EQ(Nearest("hots", kKnown), "host");
  EXPECT_EQ(Nearest("frobnicate", kKnown), "");
  EXPECT_EQ(Nearest("x", kKnown), "");
  EXPECT_EQ(Nearest(std::string(100000, 'a'), kKnown), "");
}

TEST(WordsTest, SplitsCommandsAsAShellDoes) {
  EXPECT_EQ(*SplitCommand("  a 'b c'  \"d \\\" e\" f\\ g ''"),
            (std::vector<std::string>{"a", "b c", "d \" e", "f g", ""}));
  EXPECT_FALSE(SplitCommand("a 'b").has_value());
  EXPECT_TRUE(SplitCommand("  ")->empty());
}

TEST(WordsTest, QuotesOnlyWhatAShellWouldChange) {
  EXPECT_EQ(ShellQuoted("/usr/bin/canopyd"), "/usr/bin/canopyd");
  EXPECT_EQ(ShellQuoted("a b"), "'a b'");
  EXPECT_EQ(ShellQuoted("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuoted(""), "''");
  EXPECT_EQ(SplitCommand(ShellQuoted("it's $HOME"))->at(0), "it's $HOME");
}

}  // namespace
}  // namespace canopy
