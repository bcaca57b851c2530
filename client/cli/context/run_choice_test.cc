#include "client/cli/context/run_choice.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "common/text.h"

namespace canopy::cli {
namespace {

v1::Context RunOf(std::string name, int64_t session, std::string directory) {
  v1::Context run;
  run.set_name(std::move(name));
  run.mutable_launcher()->set_session(session);
  run.mutable_launcher()->set_directory(std::move(directory));
  run.mutable_launcher()->set_command("./app of " + run.name());
  return run;
}

TEST(ChooseRunTest, ChoosesTheOnlyRunAnywhere) {
  const std::vector<v1::Context> runs = {RunOf("run-1", 10, "/a")};
  EXPECT_EQ(*ChooseRun(runs, {99, "/elsewhere"}), 0u);
}

TEST(ChooseRunTest, ChoosesTheOnlyRunOfThisTerminal) {
  const std::vector<v1::Context> runs = {RunOf("run-1", 10, "/a"),
                                         RunOf("run-2", 20, "/a"),
                                         RunOf("run-3", 30, "/b")};
  EXPECT_EQ(*ChooseRun(runs, {20, "/b"}), 1u);
}

TEST(ChooseRunTest, ChoosesByDirectoryIfThisTerminalHasNoRun) {
  const std::vector<v1::Context> runs = {RunOf("run-1", 10, "/a"),
                                         RunOf("run-2", 20, "/b"),
                                         RunOf("run-3", 30, "/c")};
  EXPECT_EQ(*ChooseRun(runs, {99, "/b"}), 1u);
}

TEST(ChooseRunTest, ChoosesByDirectoryAmongRunsOfThisTerminal) {
  const std::vector<v1::Context> runs = {RunOf("run-1", 10, "/a"),
                                         RunOf("run-2", 10, "/b"),
                                         RunOf("run-3", 20, "/b")};
  EXPECT_EQ(*ChooseRun(runs, {10, "/b"}), 1u);
  EXPECT_EQ(ChooseRun(runs, {10, "/c"}).code(), kErrBadParam);
}

TEST(ChooseRunTest, AnUnknownDirectoryMatchesNoRun) {
  const std::vector<v1::Context> runs = {RunOf("run-1", 10, ""),
                                         RunOf("run-2", 20, "/b")};
  EXPECT_EQ(ChooseRun(runs, {99, ""}).code(), kErrBadParam);
}

TEST(ChooseRunTest, ListsTheRunsIfSeveralRemain) {
  const std::vector<v1::Context> runs = {RunOf("run-1", 10, "/a"),
                                         RunOf("run-2", 10, "/a"),
                                         RunOf("run-3", 20, "/a")};
  const auto chosen = ChooseRun(runs, {10, "/a"});
  ASSERT_FALSE(chosen.ok());
  const std::string text = chosen.status().message();
  for (const char* part :
       {"run-1 (./app of run-1, in /a)", "run-2 (", "--context"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_EQ(text.find("run-3"), std::string::npos) << text;
}

TEST(ChooseRunTest, TheListOfRunsIsLimited) {
  std::vector<v1::Context> runs;
  for (int i = 0; i < 1000; ++i) {
    runs.push_back(RunOf("run-" + std::to_string(i), 10, "/a"));
  }
  const auto chosen = ChooseRun(runs, {10, "/a"});
  EXPECT_NE(chosen.status().message().find("and 990 more"), std::string::npos);
  EXPECT_LT(chosen.status().message().size(), 1000u);
}

TEST(DescribeLauncherTest, DescribesThisProcess) {
  const v1::Launcher launcher = DescribeLauncher("./app 5");
  EXPECT_EQ(launcher.pid(), getpid());
  EXPECT_EQ(launcher.session(), getsid(0));
  EXPECT_EQ(launcher.directory(), PlaceHere().directory);
  EXPECT_EQ(launcher.command(), "./app 5");
}

TEST(DescribeLauncherTest, ShortensTheCommandAndMakesItPrintable) {
  const v1::Launcher launcher =
      DescribeLauncher("sh -c \xff\n" + std::string(100000, 'x'));
  EXPECT_TRUE(IsUtf8(launcher.command()));
  EXPECT_EQ(launcher.command().find('\n'), std::string::npos);
  EXPECT_LT(launcher.command().size(), 100u);
}

}  // namespace
}  // namespace canopy::cli
