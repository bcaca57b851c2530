// Tests one job from Prepare to Forget, with real processes.
#include "server/process/process_adapter.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "server/process/process_test_base.h"

namespace canopy::process {
namespace {

class ShellTest : public ProcessTest {
 protected:
  static std::shared_ptr<JobSpec> Shell(const std::string& script,
                                        uint32_t n = 1) {
    return MakeJob({"sh", "-c", script}, n);
  }
};

TEST_F(ShellTest, RunsAProgramToItsEnd) {
  ASSERT_TRUE(Run(Shell("echo out; echo err >&2; exit 3")));
  EXPECT_EQ(Recorded().started[0].procs, 1u);
  EXPECT_EQ(Output(0, 2), "out\n");
  EXPECT_EQ(Output(0, 4), "err\n");
  const core::ProcExit exit = Recorded().exits[0];
  ASSERT_TRUE(WIFEXITED(exit.wait_status));
  EXPECT_EQ(WEXITSTATUS(exit.wait_status), 3);
  EXPECT_FALSE(exit.core_dumped);
  EXPECT_EQ(Recorded().closed.size(), 2u);
  EXPECT_EQ(Recorded().order.back(), "exit 0");
}

TEST_F(ShellTest, ProcessesAreReportedBeforeAndAfterTheirPidIsKnown) {
  ASSERT_TRUE(Run(Shell("exit 0", 2)));
  const std::vector<core::LocalProcesses>& told = Recorded().processes;
  ASSERT_EQ(told.size(), 2u);
  ASSERT_EQ(told[0].processes.size(), 2u);
  ASSERT_EQ(told[1].processes.size(), 2u);
  for (const auto& process : told[0].processes) EXPECT_EQ(process.pid, 0);
  for (const auto& process : told[1].processes) EXPECT_GT(process.pid, 0);
}

TEST_F(ShellTest, ForgetRemovesTheFilesOfTheJob) {
  ASSERT_TRUE(Run(Shell("exit 0")));
  EXPECT_EQ(FilesLeft().size(), 1u);
  EXPECT_TRUE(Forget("job"));
  EXPECT_TRUE(FilesLeft().empty());
}

TEST_F(ShellTest, RunsManyProcesses) {
  const auto job = Shell("echo $RANK", 256);
  environment_.for_rank = [](Rank rank) {
    return std::vector<std::string>{"RANK=" + std::to_string(rank)};
  };
  ASSERT_TRUE(Run(job));
  EXPECT_EQ(Recorded().started[0].procs, 256u);
  EXPECT_EQ(environment_.pids.size(), 256u);
  for (Rank rank = 0; rank < 256; ++rank) {
    EXPECT_EQ(Output(rank), std::to_string(rank) + "\n");
    EXPECT_EQ(Recorded().exits[rank].wait_status, 0);
  }
}

}  // namespace
}  // namespace canopy::process
