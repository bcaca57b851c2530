#include "server/process/child_reaper.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace canopy::process {
namespace {

class ChildReaperTest : public testing::Test {
 protected:
  // Starts a child that ends when it is killed.
  static int Fork() {
    const int pid = fork();
    if (pid == 0) {
      for (;;) pause();
    }
    return pid;
  }

  static bool IsGone(int pid) {
    return waitpid(pid, nullptr, WNOHANG) < 0 && errno == ECHILD;
  }

  void RunUntilReaped() {
    const int64_t deadline = EventLoop::Now() + 60'000'000'000;
    while (reaper_.pending() > 0 && EventLoop::Now() < deadline) {
      loop_.RunOnce(1000);
    }
  }

  EventLoop loop_;
  ChildReaper reaper_{&loop_};
};

TEST_F(ChildReaperTest, AChildThatHasEndedIsReapedAtOnce) {
  const int pid = Fork();
  kill(pid, SIGKILL);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  reaper_.Reap(pid);
  EXPECT_EQ(reaper_.pending(), 0u);
  EXPECT_TRUE(IsGone(pid));
}

TEST_F(ChildReaperTest, AChildThatStillRunsIsPendingUntilItEnds) {
  const int first = Fork();
  const int second = Fork();
  reaper_.Reap(first);
  reaper_.Reap(second);
  EXPECT_EQ(reaper_.pending(), 2u);
  loop_.RunOnce(0);
  EXPECT_EQ(reaper_.pending(), 2u);
  kill(second, SIGKILL);
  while (reaper_.pending() > 1) loop_.RunOnce(1000);
  EXPECT_TRUE(IsGone(second));
  kill(first, SIGKILL);
  RunUntilReaped();
  EXPECT_TRUE(IsGone(first));
}

TEST_F(ChildReaperTest, ReapsChildrenAlsoIfDescriptorsAreExhausted) {
  const int pid = Fork();
  // The reference is made here, because sanitizers open descriptors to inspect
  // an object with virtual functions.
  ChildReaper& reaper = reaper_;
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none = {0, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  reaper.Reap(pid);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(reaper.pending(), 1u);
  kill(pid, SIGKILL);
  RunUntilReaped();
  EXPECT_TRUE(IsGone(pid));
}

}  // namespace
}  // namespace canopy::process
