#include "server/process/job_processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "common/posix/unique_fd.h"

namespace canopy::process {
namespace {

// At least two passes are made, because a killed process may have forked just
// before, and a process within an exec briefly has no environment.
constexpr int kFewestPasses = 2;
constexpr int kMostPasses = 16;
// This is more than Linux's default limit for the environment of a new program.
constexpr size_t kMaxEnvironment = 4u << 20;

std::string ReadEnvironment(int pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/environ";
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char chunk[16384];
  ssize_t n;
  while (fd && text.size() < kMaxEnvironment &&
         (n = read(fd.get(), chunk, sizeof chunk)) > 0) {
    text.append(chunk, static_cast<size_t>(n));
  }
  return text;
}

bool HasMark(int pid, const std::string& mark) {
  if (mark.empty()) return false;
  // With a zero byte on both sides, the mark matches only whole entries.
  std::string entry(1, '\0');
  entry += mark;
  entry += '\0';
  return ('\0' + ReadEnvironment(pid) + '\0').find(entry) != std::string::npos;
}

bool BelongsTo(const JobProcesses& job, int pid) {
  // Session 0 is that of kernel threads and of processes outside this
  // container.
  const int session = getsid(pid);
  if (session <= 0) return false;
  if (session == job.session_of_shim) return true;
  if (session == job.session && job.groups.contains(getpgid(pid))) return true;
  return HasMark(pid, job.mark);
}

// Kills the job's processes that exist now. Returns the number of processes
// that were not found before.
size_t KillOnce(const JobProcesses& job, std::unordered_set<int>* known) {
  DIR* const proc = opendir("/proc");
  if (proc == nullptr) return 0;
  size_t found = 0;
  while (const dirent* entry = readdir(proc)) {
    const int pid = atoi(entry->d_name);
    if (pid <= 1 || pid == getpid() || known->contains(pid)) continue;
    if (!BelongsTo(job, pid) || kill(pid, SIGKILL) != 0) continue;
    known->insert(pid);
    ++found;
  }
  closedir(proc);
  return found;
}

}  // namespace

void KillProcesses(const JobProcesses& job) {
  std::unordered_set<int> known;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    if (KillOnce(job, &known) == 0 && pass + 1 >= kFewestPasses) return;
  }
}

}  // namespace canopy::process
