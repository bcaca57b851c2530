#include "server/process/job_processes.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace canopy::process {
namespace {

std::string Mark() { return "JOB_TEST=" + std::to_string(getpid()); }

bool HasEnvironment(int pid) {
  std::ifstream environ("/proc/" + std::to_string(pid) + "/environ");
  return environ.peek() != std::ifstream::traits_type::eof();
}

// A program that does not end, in its own process group.
class Program {
 public:
  explicit Program(std::string entry, short flags = POSIX_SPAWN_SETPGROUP) {
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, flags);
    char sleep[] = "/bin/sleep";
    char seconds[] = "1000";
    char* argv[] = {sleep, seconds, nullptr};
    char* envp[] = {entry.data(), nullptr};
    EXPECT_EQ(posix_spawn(&pid_, sleep, nullptr, &attributes, argv, envp), 0);
    posix_spawnattr_destroy(&attributes);
    while (!HasEnvironment(pid_)) sched_yield();
  }
  ~Program() {
    if (pid_ > 0) EndedBy(SIGKILL);
  }

  int pid() const { return pid_; }
  // Sends `signal` and returns the signal that has ended the program, which may
  // have ended before.
  int EndedBy(int signal) {
    kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  int pid_ = 0;
};

TEST(JobProcesses, MarkedProcessesOfAnySessionAreKilled) {
  Program in_group(Mark());
  Program in_session(Mark(), POSIX_SPAWN_SETSID);
  Program other(Mark() + "0");
  JobProcesses job;
  job.mark = Mark();
  KillProcesses(job);
  EXPECT_EQ(in_group.EndedBy(SIGTERM), SIGKILL);
  EXPECT_EQ(in_session.EndedBy(SIGTERM), SIGKILL);
  EXPECT_EQ(other.EndedBy(SIGTERM), SIGTERM);
}

TEST(JobProcesses, ProcessesOfAGroupAreKilledOnlyInTheirSession) {
  Program member("NO=MARK");
  Program in_session("NO=MARK", POSIX_SPAWN_SETSID);
  Program other("NO=MARK");
  JobProcesses job;
  job.session = getsid(0);
  job.groups = {member.pid(), in_session.pid()};
  KillProcesses(job);
  EXPECT_EQ(member.EndedBy(SIGTERM), SIGKILL);
  EXPECT_EQ(in_session.EndedBy(SIGTERM), SIGTERM);
  EXPECT_EQ(other.EndedBy(SIGTERM), SIGTERM);
}

TEST(JobProcesses, ProcessesInTheSessionOfTheirShimAreKilled) {
  Program shim("NO=MARK", POSIX_SPAWN_SETSID);
  Program other("NO=MARK", POSIX_SPAWN_SETSID);
  JobProcesses job;
  job.session_of_shim = shim.pid();
  KillProcesses(job);
  EXPECT_EQ(shim.EndedBy(SIGTERM), SIGKILL);
  EXPECT_EQ(other.EndedBy(SIGTERM), SIGTERM);
}

TEST(JobProcesses, WithoutPropertiesNoProcessIsKilled) {
  Program other("NO=MARK");
  KillProcesses({});
  EXPECT_EQ(other.EndedBy(SIGTERM), SIGTERM);
}

}  // namespace
}  // namespace canopy::process
