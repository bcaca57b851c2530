#include "server/monitor/file_prober.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "common/event_loop.h"

namespace canopy::monitor {
namespace {

class Prober {
 public:
  void Look() { prober_.Look({7, "/"}); }
  // Returns the state of "/", or no value if there is no answer in this time.
  std::optional<FileState> Root(int64_t ns) {
    bool is_over = false;
    loop_.AddTimer(ns, [&] { is_over = true; });
    while (!state_ && !is_over) loop_.RunOnce(-1);
    return state_;
  }

 private:
  EventLoop loop_;
  std::optional<FileState> state_;
  FileProber prober_{
      &loop_, [this](uint64_t, const FileState& state) { state_ = state; }};
};

constexpr int64_t kMs = 1000 * 1000;

TEST(FileProber, AFilesStateIsReported) {
  Prober prober;
  prober.Look();
  const auto state = prober.Root(30000 * kMs);
  ASSERT_TRUE(state);
  EXPECT_TRUE(state->exists);
}

bool LimitThreads(rlim_t count) {
  rlimit limit{};
  getrlimit(RLIMIT_NPROC, &limit);
  limit.rlim_cur = count;
  return setrlimit(RLIMIT_NPROC, &limit) == 0;
}

// Runs in a process of its own, which gives up the rights to exceed the limit.
int WithoutThreads() {
  if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 2;
  if (!LimitThreads(0)) return 2;
  Prober prober;
  prober.Look();
  if (prober.Root(10 * kMs)) return 1;
  LimitThreads(1000);
  return prober.Root(30000 * kMs) ? 0 : 1;
}

TEST(FileProber, AFileWaitsUntilTheSystemAllowsAThread) {
  const pid_t child = fork();
  if (child == 0) _exit(WithoutThreads());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "not allowed to change users";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace canopy::monitor
