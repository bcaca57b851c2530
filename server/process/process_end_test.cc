// Tests the ends of processes, by themselves and on request.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "server/process/process_test_base.h"

namespace canopy::process {
namespace {

class EndTest : public ProcessTest {
 protected:
  static std::shared_ptr<JobSpec> Shell(const std::string& script,
                                        uint32_t n = 1) {
    return MakeJob({"sh", "-c", script}, n);
  }

  bool WaitForOutput(Rank rank, const std::string& text) {
    return RunUntil(
        [&] { return Output(rank).find(text) != std::string::npos; });
  }

  int ExitSignal(Rank rank = 0) {
    const int status = Recorded().exits.at(rank).wait_status;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

  // Returns the pids that a script printed, one on each line.
  std::vector<int> Pids(Rank rank = 0) {
    std::vector<int> pids;
    const std::string text = Output(rank);
    for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
      pids.push_back(atoi(text.c_str() + at));
    }
    return pids;
  }
};

TEST_F(EndTest, TheExitCodeOfEachRankIsReported) {
  environment_.for_rank = [](Rank rank) {
    return std::vector<std::string>{"CODE=" + std::to_string(rank * 51)};
  };
  ASSERT_TRUE(Run(Shell("exit $CODE", 6)));
  for (Rank rank = 0; rank < 6; ++rank) {
    const int status = Recorded().exits[rank].wait_status;
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(rank * 51));
  }
}

// The peak is that of dd, a child for which the rank has waited.
TEST_F(EndTest, TheUsageOfARankIsMeasured) {
  ASSERT_TRUE(Run(Shell("dd if=/dev/zero of=/dev/null bs=64M count=8")));
  const std::optional<core::Usage> used = Recorded().exits[0].used;
  ASSERT_TRUE(used);
  EXPECT_GE(used->peak_bytes, uint64_t{64} << 20);
  EXPECT_LT(used->peak_bytes, uint64_t{1} << 30);
  EXPECT_GT(used->cpu_us, 0u);
  EXPECT_LT(used->cpu_us, 60'000'000u);
}

// If the agent reaped the shim later, an agent that ends before could leave a
// zombie to an init process that does not reap.
TEST_F(EndTest, NoZombieRemainsOfAShimThatHasEnded) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Run(Shell("exit 0")));
    ASSERT_TRUE(Forget("job"));
    EXPECT_EQ(Children(), std::vector<int>());
    sink_.jobs.clear();
  }
}

// The child of this test is the shim.
TEST_F(EndTest, AJobEndsAlthoughItsShimIsStopped) {
  shim_answer_ms_ = 100;
  MakeAdapter();
  const auto job = Shell("trap '' TERM; echo up; while :; do sleep 1; done", 2);
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(WaitForOutput(0, "up"));
  ASSERT_EQ(Children().size(), 1u);
  ASSERT_EQ(kill(Children()[0], SIGSTOP), 0);
  adapter_->Kill({"job", {}, 100});
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(ExitSignal(0), SIGKILL);
  EXPECT_EQ(ExitSignal(1), SIGKILL);
  EXPECT_TRUE(Forget("job"));
}

// The shim answers while a process cannot end.
TEST_F(EndTest, AShimThatAnswersIsKept) {
  shim_answer_ms_ = 50;
  MakeAdapter();
  const auto job = Shell("trap '' TERM; echo up; while :; do sleep 0.1; done");
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(WaitForOutput(0, "up"));
  const std::vector<int> before = Children();
  // A kill of a rank that is not here, after which the processes go on as if
  // they could not end.
  adapter_->Kill({"job", {5}, 0});
  EXPECT_FALSE(RunUntilFor(500, [&] { return !Recorded().exits.empty(); }));
  EXPECT_EQ(Children(), before);
  adapter_->Kill({"job", {}, 0});
  EXPECT_TRUE(WaitForExits(*job));
  EXPECT_TRUE(Forget("job"));
}

TEST_F(EndTest, ASignalThatEndsAProcessIsReported) {
  ASSERT_TRUE(Run(Shell("kill -USR1 $$")));
  EXPECT_EQ(ExitSignal(), SIGUSR1);
  EXPECT_FALSE(Recorded().exits[0].core_dumped);
}

TEST_F(EndTest, NoCoreIsDumpedIfTheLimitIsZero) {
  auto job = MakeJob({ProbePath(), "abort"});
  job->cwd = runtime_dir_;
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_CORE, &none), 0);
  EXPECT_TRUE(Run(job));
  EXPECT_EQ(setrlimit(RLIMIT_CORE, &before), 0);
  EXPECT_EQ(ExitSignal(), SIGABRT);
  EXPECT_FALSE(Recorded().exits[0].core_dumped);
}

TEST_F(EndTest, SignalsReachTheNamedRanks) {
  const auto job = Shell(
      "trap 'echo got it; exit 7' USR1; echo ready; "
      "while :; do sleep 0.02; done",
      3);
  ASSERT_TRUE(Launch(job));
  for (Rank rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(WaitForOutput(rank, "ready"));
  }
  adapter_->Signal({"job", SIGUSR1, {1}});
  ASSERT_TRUE(RunUntil([&] { return Recorded().exits.contains(1); }));
  EXPECT_NE(Output(1).find("got it"), std::string::npos);
  EXPECT_EQ(WEXITSTATUS(Recorded().exits[1].wait_status), 7);
  adapter_->Signal({"job", SIGUSR1, {}});
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_NE(Output(0).find("got it"), std::string::npos);
  EXPECT_NE(Output(2).find("got it"), std::string::npos);
}

TEST_F(EndTest, SignalsReachTheWholeGroup) {
  const auto job = Shell("sleep 100 & echo $!; wait; echo waited");
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(WaitForOutput(0, "\n"));
  const int grandchild = Pids().at(0);
  adapter_->Signal({"job", SIGKILL, {0}});
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(ExitSignal(), SIGKILL);
  EXPECT_TRUE(RunUntil([&] { return !IsAlive(grandchild); }));
}

TEST_F(EndTest, KillSendsSigtermFirst) {
  const auto job = Shell(
      "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.02; done");
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(WaitForOutput(0, "ready"));
  adapter_->Kill({"job", {}, 10000});
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(WEXITSTATUS(Recorded().exits[0].wait_status), 5);
  EXPECT_EQ(Output(), "ready\nbye\n");
}

TEST_F(EndTest, KillSendsSigkillAfterTheGraceTime) {
  const auto job = MakeJob({ProbePath(), "stubborn"}, 2);
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(WaitForOutput(0, "ready"));
  ASSERT_TRUE(WaitForOutput(1, "ready"));
  const int64_t before = EventLoop::Now();
  adapter_->Kill({"job", {0}, 50});
  ASSERT_TRUE(RunUntil([&] { return Recorded().exits.contains(0); }));
  EXPECT_GE(EventLoop::Now() - before, 50'000'000);
  EXPECT_EQ(ExitSignal(0), SIGKILL);
  EXPECT_TRUE(IsAlive(environment_.pids[1]));
  adapter_->Kill({"job", {}, 0});
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(ExitSignal(1), SIGKILL);
}

TEST_F(EndTest, KillEndsStoppedProcesses) {
  const auto job = Shell("echo ready; kill -STOP $$; echo on");
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(WaitForOutput(0, "ready"));
  adapter_->Kill({"job", {}, 10000});
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(ExitSignal(), SIGTERM);
}

TEST_F(EndTest, KillReachesTheGroupOfADeadRank) {
  const auto job = Shell("sleep 100 <&- >&- 2>&- & echo $!; exit 0");
  ASSERT_TRUE(Run(job));
  const int grandchild = Pids().at(0);
  EXPECT_TRUE(IsAlive(grandchild));
  adapter_->Kill({"job", {0}, 0});
  EXPECT_TRUE(RunUntil([&] { return !IsAlive(grandchild); }));
}

TEST_F(EndTest, ForgetEndsAllDescendantsOfRanks) {
  const auto job = Shell(
      "sleep 100 <&- >&- 2>&- & echo $!; "
      "setsid sleep 100 <&- >&- 2>&- & echo $!; exit 0");
  ASSERT_TRUE(Run(job));
  const std::vector<int> grandchildren = Pids();
  ASSERT_EQ(grandchildren.size(), 2u);
  for (const int pid : grandchildren) EXPECT_TRUE(IsAlive(pid));
  EXPECT_TRUE(Forget("job"));
  for (const int pid : grandchildren) EXPECT_FALSE(IsAlive(pid));
}

TEST_F(EndTest, ForgetEndsStubbornProcesses) {
  auto job = MakeJob({ProbePath(), "stubborn"});
  job->kill_grace_seconds = 0;
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(WaitForOutput(0, "ready"));
  EXPECT_TRUE(Forget("job"));
  EXPECT_FALSE(IsAlive(environment_.pids[0]));
}

TEST_F(EndTest, AnExitWaitsForOpenStreamsOnlyForALimitedTime) {
  const auto job = Shell("sleep 100 & echo $!; exit 9");
  const int64_t before = EventLoop::Now();
  ASSERT_TRUE(Run(job));
  EXPECT_GE(EventLoop::Now() - before, 1'000'000'000);
  EXPECT_EQ(WEXITSTATUS(Recorded().exits[0].wait_status), 9);
  EXPECT_TRUE(Recorded().closed.empty());
  EXPECT_TRUE(IsAlive(Pids().at(0)));
}

TEST_F(EndTest, KillAndForgetOfOneJobDoNotAffectAnother) {
  auto first = Shell("echo ready; sleep 100");
  auto second = Shell("echo ready; sleep 100");
  first->nspace = "first";
  second->nspace = "second";
  ASSERT_TRUE(Launch(first));
  ASSERT_TRUE(Launch(second));
  EXPECT_EQ(FilesLeft().size(), 2u);
  adapter_->Kill({"first", {}, 0});
  ASSERT_TRUE(WaitForExits(*first));
  EXPECT_TRUE(Forget("first"));
  EXPECT_TRUE(sink_.jobs["second"].exits.empty());
  EXPECT_EQ(FilesLeft().size(), 1u);
}

}  // namespace
}  // namespace canopy::process
