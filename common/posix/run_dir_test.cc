#include "common/posix/run_dir.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace canopy {
namespace {

TEST(RunDirTest, TheNameContainsThePidAndTheAttempt) {
  EXPECT_EQ(RunDirName(4711, 1), "run-4711");
  EXPECT_EQ(RunDirName(4711, 2), "run-4711-2");
  for (const int attempt : {1, 2, 100}) {
    EXPECT_TRUE(IsRunDirName(RunDirName(4194304, attempt))) << attempt;
  }
}

TEST(RunDirTest, IsRunDirNameRejectsNamesOfOtherForms) {
  for (const char* name :
       {"", "run", "run-", "run-x", "run-1x", "run-1-", "run-1-x", "run-0",
        "run-1-0", "run-1-2-3", "running-1", "relay-4711", "run-12345678901"}) {
    EXPECT_FALSE(IsRunDirName(name)) << name;
  }
}

TEST(RunDirTest, ThePathIsBelowTheUsersDirectory) {
  const std::string own = "/tmp/canopy-" + std::to_string(geteuid());
  EXPECT_TRUE(IsRunDirPath(own + "/run-4711"));
  EXPECT_TRUE(IsRunDirPath(own + "/run-4711-2"));
  EXPECT_FALSE(IsRunDirPath(own + "/5ea2c6c9"));
  EXPECT_FALSE(IsRunDirPath(own + "0/run-4711"));
  EXPECT_FALSE(IsRunDirPath("/tmp/run-4711"));
  EXPECT_FALSE(IsRunDirPath("run-4711"));
  EXPECT_FALSE(IsRunDirPath(own + "/run-4711/0"));
}

}  // namespace
}  // namespace canopy
