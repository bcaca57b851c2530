#include "client/cli/base/program_output.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

namespace canopy::cli {
namespace {

Result<ProgramOutput> Shell(const char* script) {
  return RunProgram("/bin/sh", {"sh", "-c", script}, /*quiet=*/true);
}

TEST(ProgramOutputTest, WhatItPrintsAndHowItEnds) {
  const auto output = Shell("echo out; echo err >&2; exit 3");
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->text, "out\n");
  EXPECT_EQ(WEXITSTATUS(output->status), 3);
}

TEST(ProgramOutputTest, ItsInputIsEmpty) {
  const auto output = Shell("cat; echo end");
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->text, "end\n");
}

TEST(ProgramOutputTest, NoSignalIsBlocked) {
  sigset_t term, before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, &before);
  const auto output = Shell("kill -TERM $$; echo survived");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->text, "");
  EXPECT_EQ(WTERMSIG(output->status), SIGTERM);
}

TEST(ProgramOutputTest, WhatIsNotThereIsNotStarted) {
  EXPECT_EQ(RunProgram("/no/such/program", {"program"}, true).code(),
            kErrJobSysOpFailed);
}

}  // namespace
}  // namespace canopy::cli
