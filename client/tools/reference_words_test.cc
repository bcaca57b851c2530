#include "client/tools/reference_words.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace canopy::tools {
namespace {

TEST(ReferenceWordsTest, AKeyMayHaveQualifiers) {
  EXPECT_EQ(ReadQueryWord("PMIX_JOB_SIZE")->key, "PMIX_JOB_SIZE");
  const auto word = ReadQueryWord("k[A=1,2;B;C=x=y]");
  ASSERT_TRUE(word);
  EXPECT_EQ(word->key, "k");
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(word->qualifiers, (Pairs{{"A", "1,2"}, {"B", ""}, {"C", "x=y"}}));
  for (const char* const wrong : {"", "[A]", "k[A", "k[]", "k[=1]"}) {
    EXPECT_FALSE(ReadQueryWord(wrong)) << wrong;
  }
}

TEST(ReferenceWordsTest, ADurationEndsWithItsSeconds) {
  EXPECT_EQ(ReadDuration("2"), 2u);
  EXPECT_EQ(ReadDuration("1:00:05"), 3605u);
  EXPECT_EQ(ReadDuration("1:0:0:0:0"), 30u * 24 * 3600);
  for (const char* const wrong :
       {"", "0", "1:", "1:2:3:4:5:6", "2000:0:0:0:0", "1h"}) {
    EXPECT_FALSE(ReadDuration(wrong)) << wrong;
  }
}

TEST(ReferenceWordsTest, TargetsAreProcessesOrJobs) {
  const auto targets = ReadTargets("a:b:3,c:*");
  ASSERT_TRUE(targets);
  EXPECT_EQ(*targets, (std::vector<Target>{{"a:b", 3}, {"c", UINT32_MAX}}));
  for (const char* const wrong : {"", "a", ":1", "a:", "a:1,", "a:x"}) {
    EXPECT_FALSE(ReadTargets(wrong)) << wrong;
  }
}

TEST(ReferenceWordsTest, SignalsHaveNamesAndNumbers) {
  for (const char* const text : {"SIGTERM", "TERM", "15", "-15"}) {
    EXPECT_EQ(ReadSignal(text), SIGTERM) << text;
  }
  for (const char* const wrong : {"", "0", "-", "SIGNO", "1000"}) {
    EXPECT_FALSE(ReadSignal(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace canopy::tools
