#include "client/cli/base/program_output.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace canopy::cli {
namespace {

Result<ProgramOutput> Shell(const char* script) {
  return RunProgram("/bin/sh", {"sh", "-c", script}, /*quiet=*/true);
}

TEST(ProgramOutputTest, ReturnsTheOutputAndTheStatus) {
  const auto output = Shell("echo out; echo err >&2; exit 3");
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->text, "out\n");
  EXPECT_EQ(WEXITSTATUS(output->status), 3);
}

TEST(ProgramOutputTest, TheProgramsInputIsEmpty) {
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

TEST(ProgramOutputTest, AMissingProgramIsAnError) {
  EXPECT_EQ(RunProgram("/no/such/program", {"program"}, true).code(),
            kErrJobSysOpFailed);
}

TEST(ProgramOutputTest, TheOutputIsReadUntilTheProgramEndsOrIsStopped) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  int told = 0;
  const StopSource stop{ends[0], [&] {
                          char c;
                          return read(ends[0], &c, 1) == 1 && ++told == 2;
                        }};
  const auto whole =
      RunProgramUntil("/bin/sh", {"sh", "-c", "echo a; echo b; exit 4"}, stop);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->text, "a\nb\n");
  EXPECT_EQ(WEXITSTATUS(whole->status), 4);
  ASSERT_EQ(write(ends[1], "xx", 2), 2);
  EXPECT_EQ(RunProgramUntil("/bin/sleep", {"sleep", "1000"}, stop).code(),
            kErrJobCanceled);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace canopy::cli
