#include "common/posix/start_thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace canopy {
namespace {

TEST(StartThread, TheThreadRunsTheBody) {
  bool ran = false;
  auto thread = StartThread([&] { ran = true; });
  ASSERT_TRUE(thread.ok());
  thread->join();
  EXPECT_TRUE(ran);
}

// Runs in a process of its own, because it gives up the rights to raise the
// limit again.
int WithoutThreads() {
  if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 2;
  const rlimit none{0, 0};
  if (setrlimit(RLIMIT_NPROC, &none) != 0) return 2;
  const auto thread = StartThread([] {});
  const bool named = thread.status().message().find("cannot start a thread") !=
                     std::string::npos;
  return thread.code() == kErrOutOfResource && named ? 0 : 1;
}

TEST(StartThread, ARefusedThreadIsAnError) {
  const pid_t child = fork();
  if (child == 0) _exit(WithoutThreads());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "not allowed to change users";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace canopy
