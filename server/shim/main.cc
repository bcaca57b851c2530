// canopy-shim, which an agent starts for one job. See protocol.h.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "common/preload/preload_list.h"
#include "server/shim/job_holder.h"
#include "server/shim/stage.h"

namespace canopy::process {
namespace {

bool IsSocket(int fd) {
  struct stat st;
  return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

bool HasSockets() { return IsSocket(kShimAgentFd) && IsSocket(kShimListenFd); }

// Closes the descriptors above kShimDirFd, which were inherited from the agent.
void CloseOthers() {
  const unsigned first = kShimDirFd + 1;
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
#endif
  std::vector<int> others;
  DIR* const dir = opendir("/proc/self/fd");
  if (dir == nullptr) return;
  while (const dirent* entry = readdir(dir)) {
    const int fd = atoi(entry->d_name);
    if (fd >= static_cast<int>(first) && fd != dirfd(dir)) others.push_back(fd);
  }
  closedir(dir);
  for (const int fd : others) close(fd);
}

void OwnDescriptors() {
  for (const int fd : {kShimAgentFd, kShimListenFd, kShimDirFd}) {
    fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
}

// Raises the limit of the shim, which needs a few descriptors for each process.
// Returns the limit for the processes: `soft`, or the previous limit if `soft`
// is 0.
rlimit RaiseFileLimit(rlim_t soft) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  rlimit raised = limit;
  raised.rlim_cur = raised.rlim_max;
  setrlimit(RLIMIT_NOFILE, &raised);
  if (soft != 0) limit.rlim_cur = std::min(soft, limit.rlim_max);
  return limit;
}

// Sets default dispositions for all signals. Uses the system call, because
// glibc hides two signals, which posix_spawn leaves ignored even if default
// dispositions are requested.
void SetDefaultDispositions() {
  const uint64_t zeros[4] = {};
  for (int number = 1; number < NSIG; ++number) {
    syscall(SYS_rt_sigaction, number, zeros, nullptr, sizeof(uint64_t));
  }
}

// Sets default dispositions, which processes inherit. The shim receives its
// signals through the returned descriptor.
int TakeSignals() {
  SetDefaultDispositions();
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) {
    sigaddset(&wanted, number);
  }
  sigset_t blocked = wanted;
  sigaddset(&blocked, SIGPIPE);
  sigprocmask(SIG_SETMASK, &blocked, nullptr);
  return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

void OnSignals(int fd, JobHolder* holder) {
  signalfd_siginfo info[16];
  bool child = false;
  bool terminate = false;
  ssize_t n;
  while ((n = read(fd, info, sizeof info)) > 0) {
    for (size_t i = 0; i < static_cast<size_t>(n) / sizeof info[0]; ++i) {
      (info[i].ssi_signo == SIGCHLD ? child : terminate) = true;
    }
  }
  if (terminate) holder->OnTerminate();
  if (child) holder->OnChildSignal();
}

int Run(const char* socket_name, rlim_t open_files) {
  CloseOthers();
  OwnDescriptors();
  const rlimit nofile = RaiseFileLimit(open_files);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const UniqueFd signals(TakeSignals());
  EventLoop loop;
  JobHolder holder(&loop,
                   {UniqueFd(kShimAgentFd), UniqueFd(kShimListenFd),
                    SocketFile(UniqueFd(kShimDirFd), socket_name)},
                   nofile);
  loop.Watch(signals.get(), EPOLLIN,
             [&](uint32_t) { OnSignals(signals.get(), &holder); });
  loop.Run();
  loop.Unwatch(signals.get());
  return 0;
}

}  // namespace
}  // namespace canopy::process

// Arguments: the name of the listening socket, the namespace (for users who
// list processes), and the soft limit on open files of a process (0 or none:
// the shim's own). Or the arguments that stage.h describes.
int main(int argc, char** argv) {
  if (argc > 0 && argv[0] == std::string_view(canopy::preload::kStageProgram)) {
    return canopy::process::RunStage(argc, argv);
  }
  if (argc < 2 || !canopy::process::HasSockets()) {
    fprintf(stderr, "%s: is started by canopyd, not by hand\n",
            argc > 0 ? argv[0] : "canopy-shim");
    return 2;
  }
  const rlim_t open_files =
      argc > 3 ? strtoull(argv[3], nullptr, 10) : rlim_t{0};
  return canopy::process::Run(argv[1], open_files);
}
