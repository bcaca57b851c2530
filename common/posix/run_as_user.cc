#include "common/posix/run_as_user.h"

#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "common/posix/raw_clone.h"

namespace canopy {
namespace {

constexpr size_t kStackSize = size_t{1} << 20;
constexpr size_t kGuardSize = size_t{64} << 10;
// The flags of a thread that shares everything with this process except its
// identity. The caller is suspended until the thread ends, so both can use the
// caller's thread-local storage.
constexpr int kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                        CLONE_THREAD | CLONE_SYSVSEM | CLONE_VFORK;

struct Order {
  FileUser user;
  const std::function<void()>* work;
  int error = 0;  // the reason why the work was not called
};

bool DropCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

// Uses raw system calls, which change only this thread. setfsuid and setfsgid
// report failure only by the resulting identity.
bool Become(const FileUser& user) {
  constexpr auto kSame = static_cast<uid_t>(-1);
  if (geteuid() != 0 && syscall(SYS_setresuid, kSame, 0, kSame) != 0) {
    return false;
  }
  if (syscall(SYS_setgroups, 0, nullptr) != 0) return false;
  syscall(SYS_setfsgid, user.gid);
  syscall(SYS_setfsuid, user.uid);
  errno = EPERM;
  return static_cast<gid_t>(syscall(SYS_setfsgid, kSame)) == user.gid &&
         static_cast<uid_t>(syscall(SYS_setfsuid, kSame)) == user.uid &&
         DropCapabilities();
}

int RunThread(void* argument) noexcept {
  auto* const order = static_cast<Order*>(argument);
  if (Become(order->user)) {
    (*order->work)();
  } else {
    order->error = errno;
  }
  return 0;
}

// Runs the order on a new thread and returns when the thread has ended. Returns
// false, with errno, if the thread could not be made.
bool RunToEnd(Order* order) {
  void* const memory = mmap(nullptr, kGuardSize + kStackSize, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return false;
  char* const stack = static_cast<char*>(memory) + kGuardSize;
  int thread = -1;
  if (mprotect(stack, kStackSize, PROT_READ | PROT_WRITE) == 0) {
    const uint64_t all = ~uint64_t{0};
    uint64_t before = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, kKernelSigsetSize);
    thread = CANOPY_CLONE(RunThread, stack + kStackSize, kThread, order);
    const int error = errno;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr,
            kKernelSigsetSize);
    errno = error;
  }
  const int error = errno;
  munmap(memory, kGuardSize + kStackSize);
  errno = error;
  return thread >= 0;
}

Status CannotActAs(const FileUser& user, int code, int error) {
  return Status(code, "cannot access files as user " +
                          std::to_string(user.uid) + ": " +
                          std::strerror(error));
}

}  // namespace

bool IsPrivileged() {
  uid_t real = 0;
  uid_t effective = 0;
  uid_t saved = 0;
  if (getresuid(&real, &effective, &saved) != 0) return true;
  return real == 0 || effective == 0 || saved == 0;
}

Status RunAsUser(const FileUser& user, const std::function<void()>& work) {
  const bool privileged = IsPrivileged();
  if (!privileged && user.uid != geteuid()) {
    return CannotActAs(user, kErrNoPermissions, EPERM);
  }
  if (!privileged || user.uid == 0) {
    work();
    return Status();
  }
  Order order = {user, &work, 0};
  if (!RunToEnd(&order)) return CannotActAs(user, kErrOutOfResource, errno);
  if (order.error == 0) return Status();
  return CannotActAs(user, kErrNoPermissions, order.error);
}

}  // namespace canopy
