#include "client/cli/history/process_mark.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace canopy::cli {
namespace {

TEST(ProcessMarkTest, TheStateOfThisProcessIsRunning) {
  const ProcessMark mark = MarkOfThisProcess();
  EXPECT_EQ(mark.pid, getpid());
  EXPECT_NE(mark.start, 0);
  EXPECT_EQ(StateOf(mark), ProcessState::kRuns);
}

TEST(ProcessMarkTest, AnotherProcessWithTheSamePidDiffers) {
  ProcessMark mark = MarkOfThisProcess();
  ++mark.start;
  EXPECT_EQ(StateOf(mark), ProcessState::kEnded);
  mark = MarkOfThisProcess();
  mark.boot = "an earlier one";
  EXPECT_EQ(StateOf(mark), ProcessState::kEnded);
}

TEST(ProcessMarkTest, TheStateOfAProcessOfAnotherMachineIsElsewhere) {
  ProcessMark mark = MarkOfThisProcess();
  mark.host += "-2";
  EXPECT_EQ(StateOf(mark), ProcessState::kElsewhere);
}

TEST(ProcessMarkTest, TheStateOfAProcessThatHasEndedIsEnded) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  const pid_t child = fork();
  if (child == 0) {
    const ProcessMark mark = MarkOfThisProcess();
    _exit(write(fds[1], &mark.start, sizeof mark.start) > 0 ? 0 : 1);
  }
  ProcessMark mark = MarkOfThisProcess();
  mark.pid = child;
  ASSERT_EQ(read(fds[0], &mark.start, sizeof mark.start),
            static_cast<ssize_t>(sizeof mark.start));
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(StateOf(mark), ProcessState::kEnded);
}

}  // namespace
}  // namespace canopy::cli
