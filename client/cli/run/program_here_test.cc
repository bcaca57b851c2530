#include "client/cli/run/program_here.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace canopy::cli {
namespace {

class ProgramHereTest : public testing::Test {
 protected:
  ProgramHereTest() {
    base_ = testing::TempDir() + "/hereXXXXXX";
    EXPECT_NE(mkdtemp(base_.data()), nullptr);
    here_ = base_ + "/here";
    bin_ = base_ + "/bin";
    for (const std::string& path : {here_, bin_}) {
      std::filesystem::create_directory(path);
    }
  }
  ~ProgramHereTest() override { std::filesystem::remove_all(base_); }

  static void Make(const std::string& path, mode_t mode) {
    std::ofstream(path) << "#!/bin/sh\n";
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
  }
  std::string Find(const std::string& program) const {
    return ProgramHere(program, bin_, here_);
  }

  std::string base_;
  std::string here_;
  std::string bin_;
};

TEST_F(ProgramHereTest, TheWorkingDirectoryComesAfterPath) {
  Make(here_ + "/app", 0755);
  EXPECT_EQ(Find("app"), "./app");
  Make(bin_ + "/app", 0755);
  EXPECT_EQ(Find("app"), "app");
}

TEST_F(ProgramHereTest, WhatCanNotBeExecutedIsNoProgram) {
  Make(here_ + "/data", 0644);
  std::filesystem::create_directory(here_ + "/folder");
  for (const char* name : {"data", "folder", "nothing", ""}) {
    EXPECT_EQ(Find(name), name);
  }
  Make(here_ + "/app", 0755);
  Make(bin_ + "/app", 0644);
  EXPECT_EQ(Find("app"), "./app");
}

TEST_F(ProgramHereTest, ANameWithADirectoryStays) {
  Make(here_ + "/app", 0755);
  for (const char* name : {"./app", "x/app", "/app"}) {
    EXPECT_EQ(Find(name), name);
  }
}

TEST_F(ProgramHereTest, ARelativePartOfPathIsBelowTheWorkingDirectory) {
  std::filesystem::create_directory(here_ + "/sub");
  Make(here_ + "/sub/app", 0755);
  Make(here_ + "/app", 0755);
  EXPECT_EQ(ProgramHere("app", "/none:sub", here_), "app");
  EXPECT_EQ(ProgramHere("app", "", here_), "./app");
  EXPECT_EQ(ProgramHere("sh", "", here_), "sh");
}

}  // namespace
}  // namespace canopy::cli
