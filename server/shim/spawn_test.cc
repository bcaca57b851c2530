#include "server/shim/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "server/shim/pty.h"

namespace canopy::process {
namespace {

class SpawnTest : public testing::Test {
 protected:
  SpawnTest() {
    null_ = open("/dev/null", O_RDWR | O_CLOEXEC);
    getrlimit(RLIMIT_NOFILE, &request_.nofile);
    request_.path = "/bin/sh";
    request_.argv = argv_;
    request_.envp = envp_;
    for (int& fd : request_.stdio) fd = null_;
  }
  ~SpawnTest() override { close(null_); }

  // Runs `sh -c script` and returns its exit code.
  int Run(const char* script) {
    argv_[2] = const_cast<char*>(script);
    const SpawnResult result = Spawn(request_);
    EXPECT_EQ(result.error, 0);
    return Wait(result.pid);
  }

  static int Wait(pid_t pid) {
    int status = -1;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  void ExpectFailure(SpawnStep step, int error) {
    const SpawnResult result = Spawn(request_);
    EXPECT_EQ(result.pid, -1);
    EXPECT_EQ(result.failed, step);
    EXPECT_EQ(result.error, error);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left over";
  }

  int null_;
  char sh_[3] = "sh";
  char c_[3] = "-c";
  char* argv_[4] = {sh_, c_, nullptr, nullptr};
  char variable_[8] = "X=yes";
  char* envp_[2] = {variable_, nullptr};
  SpawnRequest request_;
};

TEST_F(SpawnTest, TheProcessGetsItsArgumentsAndEnvironment) {
  EXPECT_EQ(Run("test \"$X\" = yes && exit 42"), 42);
}

TEST_F(SpawnTest, PassesDirectoryAndDescriptors) {
  request_.cwd = "/usr";
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  const int high = fcntl(fds[1], F_DUPFD_CLOEXEC, 50);
  request_.inherited = {high};
  EXPECT_EQ(Run("pwd >&3"), 0);
  char text[16] = {};
  EXPECT_EQ(read(fds[0], text, sizeof text), 5);
  EXPECT_STREQ(text, "/usr\n");
  for (const int fd : {fds[0], fds[1], high}) close(fd);
}

TEST_F(SpawnTest, GivesAControllingTerminal) {
  const Pty pty = OpenPty({33, 77}, geteuid());
  ASSERT_TRUE(pty.master);
  for (int& fd : request_.stdio) fd = pty.slave.get();
  request_.controls_terminal = true;
  EXPECT_EQ(Run("test \"$(stty size < /dev/tty)\" = '33 77'"), 0);
  for (int& fd : request_.stdio) fd = null_;
  ExpectFailure(SpawnStep::kTerminal, ENOTTY);
}

TEST_F(SpawnTest, AFailureNamesTheStepThatFailed) {
  argv_[2] = c_;
  request_.cwd = "/none";
  ExpectFailure(SpawnStep::kDirectory, ENOENT);
  request_.cwd = nullptr;
  request_.path = "/none";
  ExpectFailure(SpawnStep::kExec, ENOENT);
  request_.path = "/etc/passwd";
  ExpectFailure(SpawnStep::kExec, EACCES);
  request_.path = "/bin/sh";
  const CpuMask none(16, 0);
  request_.cpus = &none;
  ExpectFailure(SpawnStep::kBind, EINVAL);
  request_.cpus = nullptr;
  request_.stdio[1] = 1000000;
  ExpectFailure(SpawnStep::kDescriptors, EBADF);
}

// Returns the state of a process; 'T' means stopped by a signal.
char StateOf(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  char text[256] = {};
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  const char* const after_name = n > 0 ? strrchr(text, ')') : nullptr;
  return after_name == nullptr ? '?' : after_name[2];
}

TEST_F(SpawnTest, AProcessStopsBeforeItsFirstInstructionOnRequest) {
  argv_[2] = const_cast<char*>("exit 7");
  request_.stop = true;
  const pid_t pid = Spawn(request_).pid;
  ASSERT_GT(pid, 0);
  siginfo_t info = {};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOWAIT),
            0);
  EXPECT_EQ(info.si_code, CLD_STOPPED);
  EXPECT_EQ(StateOf(pid), 'T');
  // A debugger can attach to the process and leave it running.
  ASSERT_EQ(ptrace(PTRACE_SEIZE, pid, nullptr, nullptr), 0);
  ASSERT_EQ(ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr), 0);
  ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
  EXPECT_EQ(ptrace(PTRACE_DETACH, pid, nullptr, nullptr), 0);
  EXPECT_EQ(kill(pid, SIGCONT), 0);
  EXPECT_EQ(Wait(pid), 7);
}

TEST_F(SpawnTest, AMissingProgramFailsAlsoIfAStopIsRequested) {
  request_.stop = true;
  request_.path = "/none";
  ExpectFailure(SpawnStep::kExec, ENOENT);
}

TEST_F(SpawnTest, SeveralThreadsMaySpawnAtOnce) {
  argv_[2] = const_cast<char*>("exit 7");
  std::vector<std::thread> threads;
  std::vector<pid_t> pids(40, -1);
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = t; i < pids.size(); i += 4) pids[i] = Spawn(request_).pid;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const pid_t pid : pids) EXPECT_EQ(Wait(pid), 7);
}

}  // namespace
}  // namespace canopy::process
