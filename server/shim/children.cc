#include "server/shim/children.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "common/posix/unique_fd.h"

namespace canopy::process {
namespace {

// Reads the parent and process group of a process. Returns false if it is gone.
bool ReadStat(pid_t pid, pid_t* parent, pid_t* group) {
  char path[32];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  char text[512];
  const ssize_t n = read(fd.get(), text, sizeof text - 1);
  if (n <= 0) return false;
  text[n] = 0;
  // The command's name may contain any character, so the fields are parsed
  // after the last ')'.
  const char* const after_name = strrchr(text, ')');
  return after_name != nullptr &&
         sscanf(after_name + 1, " %*c %d %d", parent, group) == 2;
}

// Returns true if this process has children. Called before the scan of /proc,
// which takes longer than a short job.
bool HasChildren() {
  siginfo_t info;
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

uint64_t Microseconds(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1000000 +
         static_cast<uint64_t>(time.tv_usec);
}

RankUsage UsageOf(const rusage& used) {
  return {Microseconds(used.ru_utime) + Microseconds(used.ru_stime),
          static_cast<uint64_t>(used.ru_maxrss) << 10};
}

}  // namespace

std::vector<Child> ListChildren() {
  std::vector<Child> children;
  DIR* const proc = opendir("/proc");
  if (proc == nullptr) return children;
  const pid_t self = getpid();
  while (const dirent* entry = readdir(proc)) {
    const pid_t pid = atoi(entry->d_name);
    pid_t parent = 0;
    pid_t group = 0;
    if (pid > 0 && ReadStat(pid, &parent, &group) && parent == self) {
      children.push_back({pid, group});
    }
  }
  closedir(proc);
  return children;
}

void SignalChildren(int signal) {
  if (!HasChildren()) return;
  const pid_t own = getpgrp();
  std::set<pid_t> groups;
  for (const Child& child : ListChildren()) {
    if (child.group <= 1 || child.group == own) {
      kill(child.pid, signal);
    } else if (groups.insert(child.group).second) {
      kill(-child.group, signal);
    }
  }
}

void SignalOrphanedGroup(pid_t group, int signal) {
  for (const Child& child : ListChildren()) {
    if (child.group != group) continue;
    kill(-group, signal);
    return;
  }
}

std::vector<Reaped> ReapChildren(bool* none_left) {
  std::vector<Reaped> out;
  for (;;) {
    int status = 0;
    rusage used;
    const pid_t pid = wait4(-1, &status, WNOHANG, &used);
    if (pid < 0 && errno == EINTR) continue;
    *none_left = pid < 0;
    if (pid <= 0) return out;
    out.push_back({pid, status, UsageOf(used)});
  }
}

}  // namespace canopy::process
