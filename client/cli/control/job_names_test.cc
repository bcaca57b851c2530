#include "client/cli/control/job_names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace canopy::cli {
namespace {

TEST(JobNamesTest, ByWholeNameOrItsEnd) {
  const std::vector<std::string> names = {"c-aa-1", "c-aa-2", "c-bb-2"};
  EXPECT_EQ(*ChooseJob(names, "c-aa-2"), "c-aa-2");
  EXPECT_EQ(*ChooseJob(names, "1"), "c-aa-1");
  EXPECT_EQ(*ChooseJob(names, "bb-2"), "c-bb-2");
  EXPECT_EQ(ChooseJob(names, "2").code(), kErrBadParam);
  EXPECT_EQ(ChooseJob(names, "b-2").code(), kErrNotFound);
  EXPECT_EQ(ChooseJob({}, "").code(), kErrNotFound);
}

TEST(JobNamesTest, Signals) {
  for (const char* word : {"TERM", "SIGTERM", "sigterm", "15"}) {
    EXPECT_EQ(ParseSignal(word), 15) << word;
  }
  EXPECT_EQ(ParseSignal("USR1"), 10);
  for (const char* word : {"", "0", "65", "NOSUCH", "-9", "SIG"}) {
    EXPECT_FALSE(ParseSignal(word).has_value()) << word;
  }
}

}  // namespace
}  // namespace canopy::cli
