// Tests restarts of ranks whose processes have ended.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "server/process/process_test_base.h"

namespace canopy::process {
namespace {

class RestartTest : public ProcessTest {
 protected:
  RestartTest() {
    orphan_ms_ = 60000;
    MakeAdapter();
  }

  static std::shared_ptr<JobSpec> Shell(const std::string& script) {
    auto job = MakeJob({"sh", "-c", script});
    job->max_restarts = 9;
    return job;
  }

  bool WaitForExit() {
    return RunUntil([&] { return Recorded().exits.contains(0); });
  }
  // Discards the records about the last process and restarts the rank.
  void Restart(uint32_t incarnation) {
    Recorded().exits.clear();
    Recorded().closed.clear();
    adapter_->Restart({"job", 0, incarnation});
  }
};

TEST_F(RestartTest, OutputExitAndEnvironmentOfARestartedProcessAreItsOwn) {
  environment_.for_rank = [](Rank) {
    return std::vector<std::string>{"NAME=value"};
  };
  ASSERT_TRUE(Launch(Shell("echo $$ $NAME; exit 3")));
  ASSERT_TRUE(WaitForExit());
  EXPECT_EQ(Recorded().exits[0].incarnation, 0u);
  const std::string first = Output();
  const int pid = environment_.pids[0];
  Restart(1);
  ASSERT_TRUE(WaitForExit());
  EXPECT_EQ(Recorded().exits[0].incarnation, 1u);
  EXPECT_EQ(WEXITSTATUS(Recorded().exits[0].wait_status), 3);
  EXPECT_NE(environment_.pids[0], pid);
  EXPECT_EQ(Output(),
            first + std::to_string(environment_.pids[0]) + " value\n");
  EXPECT_EQ(Recorded().closed.size(), 2u);
  ASSERT_TRUE(Forget("job"));
}

TEST_F(RestartTest, ARestartedProcessGetsTheEndOfTheInput) {
  auto job = Shell("cat; exit 3");
  ASSERT_TRUE(Launch(job));
  adapter_->Feed({"job", {0}, Bytes(std::string("text")), 4});
  adapter_->Feed({"job", {0}, {}, 4});
  ASSERT_TRUE(WaitForExit());
  Restart(1);
  ASSERT_TRUE(WaitForExit());
  EXPECT_EQ(Output(), "text");
}

TEST_F(RestartTest, ARestartedProcessInheritsNewDescriptors) {
  std::vector<int> kept;
  environment_.fd_for_rank = [&](Rank) {
    int fds[2];
    EXPECT_EQ(pipe(fds), 0);
    kept.push_back(fds[0]);
    return ProcessEnvironment::InheritedFd{fds[1], "FD"};
  };
  ASSERT_TRUE(Launch(Shell("echo hello >&$FD; exit 3")));
  ASSERT_TRUE(WaitForExit());
  Restart(1);
  ASSERT_TRUE(WaitForExit());
  ASSERT_EQ(kept.size(), 2u);
  for (const int fd : kept) {
    char text[8] = "";
    EXPECT_EQ(read(fd, text, sizeof text), 6) << text;
    close(fd);
  }
}

// A remaining process of the group would write into the output of the next
// process.
TEST_F(RestartTest, ARestartKillsTheGroupOfTheLastProcess) {
  ASSERT_TRUE(Launch(Shell("sleep 1000 & echo $!; exit 3")));
  ASSERT_TRUE(WaitForExit());
  const int left = std::stoi(Output());
  EXPECT_TRUE(IsAlive(left));
  Restart(1);
  EXPECT_TRUE(RunUntil([&] { return !IsAlive(left); }));
  ASSERT_TRUE(WaitForExit());
}

TEST_F(RestartTest, TheUsageOfARankIncludesItsEarlierProcesses) {
  const std::string mark = runtime_dir_ + "/mark";
  ASSERT_TRUE(Launch(Shell("rmdir " + mark + " 2>&- || { mkdir " + mark +
                           "; dd if=/dev/zero of=/dev/null bs=64M count=2; }; "
                           "exit 3")));
  ASSERT_TRUE(WaitForExit());
  const core::Usage first = Recorded().exits[0].used.value();
  EXPECT_GE(first.peak_bytes, uint64_t{64} << 20);
  Restart(1);
  ASSERT_TRUE(WaitForExit());
  const core::Usage both = Recorded().exits[0].used.value();
  EXPECT_EQ(both.peak_bytes, first.peak_bytes);
  EXPECT_GT(both.cpu_us, first.cpu_us);
}

TEST_F(RestartTest, ARepeatedRestartStartsNoProcess) {
  ASSERT_TRUE(Launch(Shell("echo x; exit 3")));
  ASSERT_TRUE(WaitForExit());
  Restart(1);
  adapter_->Restart({"job", 0, 1});
  ASSERT_TRUE(WaitForExit());
  Restart(1);
  Restart(2);
  ASSERT_TRUE(WaitForExit());
  EXPECT_EQ(Recorded().exits[0].incarnation, 2u);
  EXPECT_EQ(Output(), "x\nx\nx\n");
}

TEST_F(RestartTest, ASuccessorRecoversTheIncarnationOfARank) {
  ASSERT_TRUE(Launch(Shell("echo $$; sleep 1000")));
  ASSERT_TRUE(RunUntil([&] { return !Output().empty(); }));
  kill(environment_.pids[0], SIGKILL);
  ASSERT_TRUE(WaitForExit());
  Restart(1);
  const std::string first = Output();
  ASSERT_TRUE(RunUntil([&] { return Output() != first; }));
  sink_.jobs.clear();
  MakeAdapter();
  std::vector<RecoveredJob> found;
  bool called = false;
  adapter_->Recover([&](std::vector<RecoveredJob> jobs) {
    called = true;
    found = std::move(jobs);
  });
  ASSERT_TRUE(RunUntil([&] { return called; }));
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].ranks.size(), 1u);
  EXPECT_EQ(found[0].ranks[0].incarnation, 1u);
  EXPECT_EQ(found[0].ranks[0].phase, RankPhase::kRunning);
  adapter_->ResumeReports("job");
  kill(found[0].ranks[0].pid, SIGKILL);
  ASSERT_TRUE(WaitForExit());
  EXPECT_EQ(Recorded().exits[0].incarnation, 1u);
}

TEST_F(RestartTest, ARestartWithoutAShimReportsAnExit) {
  ASSERT_TRUE(Launch(Shell("exit 3")));
  ASSERT_TRUE(WaitForExit());
  for (const int pid : Children()) kill(pid, SIGKILL);
  Recorded().order.clear();
  ASSERT_TRUE(RunUntil([&] { return FilesLeft().empty(); }));
  Restart(1);
  ASSERT_TRUE(WaitForExit());
  EXPECT_EQ(WTERMSIG(Recorded().exits[0].wait_status), SIGKILL);
  EXPECT_EQ(Recorded().exits[0].incarnation, 1u);
}

TEST_F(RestartTest, ArgvZeroCanContainTheRank) {
  auto job = MakeJob({"sh", "-c", "tr '\\0' ' ' </proc/$$/cmdline"}, 2);
  job->process.index_argv = true;
  ASSERT_TRUE(Run(job));
  EXPECT_TRUE(Output(0).starts_with("sh-0 -c")) << Output(0);
  EXPECT_TRUE(Output(1).starts_with("sh-1 -c")) << Output(1);
}

}  // namespace
}  // namespace canopy::process
