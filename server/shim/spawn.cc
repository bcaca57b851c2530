#include "server/shim/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#include "common/posix/raw_clone.h"
#include "server/shim/process_policies.h"

namespace canopy::process {
namespace {

constexpr size_t kStackSize = 64u << 10;

// The data shared with the child, which runs in the caller's memory until its
// exec.
struct Child {
  const SpawnRequest* request;
  char* const* sh_argv;
  SpawnStep step;
  int error;
};

CANOPY_NO_SANITIZE int Fail(Child* child, SpawnStep step) {
  child->step = step;
  child->error = errno;
  return 127;
}

CANOPY_NO_SANITIZE bool PlaceDescriptors(const SpawnRequest& r) {
  for (int i = 0; i < 3; ++i) {
    if (dup2(r.stdio[i], i) < 0) return false;
  }
  int next = 3;
  for (const int fd : r.inherited) {
    if (dup2(fd, next++) < 0) return false;
  }
  return true;
}

// Makes this process stop at its exec, where any process may trace it. A traced
// process is stopped by its exec. If the kernel allows processes to trace only
// their descendants (Yama), PR_SET_PTRACER permits any process to trace this
// one; the permission survives the exec. Without Yama the call has no effect.
CANOPY_NO_SANITIZE bool LetTrace() {
  syscall(SYS_prctl, PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  return syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0) == 0;
}

CANOPY_NO_SANITIZE int RunChild(void* arg) {
  auto* const child = static_cast<Child*>(arg);
  const SpawnRequest& r = *child->request;
  const bool grouped =
      r.controls_terminal ? syscall(SYS_setsid) >= 0 : setpgid(0, 0) == 0;
  if (!grouped) return Fail(child, SpawnStep::kGroup);
  if (r.cpus != nullptr &&
      syscall(SYS_sched_setaffinity, 0, r.cpus->size() * sizeof(uint64_t),
              r.cpus->data()) != 0) {
    return Fail(child, SpawnStep::kBind);
  }
  if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &r.nofile, nullptr) != 0) {
    return Fail(child, SpawnStep::kLimits);
  }
  if (r.credentials != nullptr && !AssumeCredentials(*r.credentials)) {
    return Fail(child, SpawnStep::kCredentials);
  }
  if (r.policies != nullptr && !ApplyPolicies(*r.policies)) {
    return Fail(child, SpawnStep::kPolicies);
  }
  if (!PlaceDescriptors(r)) return Fail(child, SpawnStep::kDescriptors);
  if (r.controls_terminal && syscall(SYS_ioctl, 0, TIOCSCTTY, 0) != 0) {
    return Fail(child, SpawnStep::kTerminal);
  }
  if (r.cwd != nullptr && chdir(r.cwd) != 0) {
    return Fail(child, SpawnStep::kDirectory);
  }
  if (r.stop && !LetTrace()) return Fail(child, SpawnStep::kTrace);
  const uint64_t none = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, kKernelSigsetSize);
  execve(r.path, r.argv, r.envp);
  if (errno == ENOEXEC) execve(child->sh_argv[0], child->sh_argv, r.envp);
  return Fail(child, SpawnStep::kExec);
}

// Returns the arguments for "sh path args".
std::vector<char*> ShellArgv(const SpawnRequest& r) {
  static char shell[] = "/bin/sh";
  std::vector<char*> out = {shell, const_cast<char*>(r.path)};
  if (r.argv[0] != nullptr) {
    for (char* const* a = r.argv + 1; *a != nullptr; ++a) out.push_back(*a);
  }
  out.push_back(nullptr);
  return out;
}

// Waits for the stop at the exec, and leaves the process in a stop that any
// debugger can take over and that SIGCONT ends. A process that was killed
// meanwhile remains to be reaped.
void LeaveStopped(pid_t pid) {
  siginfo_t info = {};
  while (waitid(P_PID, static_cast<id_t>(pid), &info,
                WSTOPPED | WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
  ptrace(PTRACE_DETACH, pid, nullptr, SIGSTOP);
}

}  // namespace

// Uses system calls, because glibc's wrappers change all threads of the caller.
CANOPY_NO_SANITIZE bool AssumeCredentials(const Credentials& who) {
  return syscall(SYS_setgroups, who.groups.size(), who.groups.data()) == 0 &&
         syscall(SYS_setresgid, who.gid, who.gid, who.gid) == 0 &&
         syscall(SYS_setresuid, who.uid, who.uid, who.uid) == 0;
}

SpawnResult Spawn(const SpawnRequest& request) {
  const std::vector<char*> sh_argv = ShellArgv(request);
  Child child = {&request, sh_argv.data(), SpawnStep::kNone, 0};
  SpawnResult result;
  void* const stack = mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return {-1, SpawnStep::kClone, errno};
  const uint64_t all = ~uint64_t{0};
  uint64_t old = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, kKernelSigsetSize);
  const pid_t pid =
      CANOPY_CLONE(RunChild, static_cast<char*>(stack) + kStackSize,
                   CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
  const int clone_error = errno;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, nullptr, kKernelSigsetSize);
  munmap(stack, kStackSize);
  if (pid < 0) return {-1, SpawnStep::kClone, clone_error};
  if (child.step != SpawnStep::kNone) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return {-1, child.step, child.error};
  }
  if (request.stop) LeaveStopped(pid);
  result.pid = pid;
  return result;
}

}  // namespace canopy::process
