// Starts one process: what posix_spawn does, plus CPU binding, credentials and
// an exact account of what failed.
#ifndef CANOPY_SERVER_SHIM_SPAWN_H_
#define CANOPY_SERVER_SHIM_SPAWN_H_

#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "server/shim/cpuset.h"

namespace canopy::process {

// Whom a process runs as.
struct Credentials {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
};

// Gives the calling process these credentials; false with errno. Only in a
// process of a single thread, or in a child before its exec.
bool AssumeCredentials(const Credentials& who);

// Everything a new process is given. Nothing is owned; all must live until
// Spawn returns.
struct SpawnRequest {
  const char* path = nullptr;     // no search
  char* const* argv = nullptr;    // null-terminated
  char* const* envp = nullptr;    // null-terminated
  const char* cwd = nullptr;      // null: stay
  int stdio[3] = {-1, -1, -1};    // become 0, 1 and 2
  std::vector<int> inherited;     // become 3, 4, ...; each above them all
  const CpuMask* cpus = nullptr;  // null: as the caller's
  const Credentials* credentials = nullptr;  // null: as the caller's
  rlimit nofile = {};                        // RLIMIT_NOFILE
  // Stopped (SIGSTOP) before the first instruction of the program, and any
  // process of the same user may trace it.
  bool stop = false;
};

enum class SpawnStep {
  kNone,
  kClone,
  kGroup,
  kBind,
  kCredentials,
  kLimits,
  kDescriptors,
  kDirectory,
  kTrace,
  kExec,
};

struct SpawnResult {
  pid_t pid = -1;  // the new process, in its own process group
  SpawnStep failed = SpawnStep::kNone;
  int error = 0;  // errno of the failed step
};

// The process has default signal dispositions, an empty signal mask and, of
// the caller's descriptors, those of the request only (all others must be
// close-on-exec). A file that the kernel can not execute and that names no
// interpreter is given to /bin/sh, as execvp does. Any thread; blocks until
// the exec. The caller must have no signal dispositions other than default.
SpawnResult Spawn(const SpawnRequest& request);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_SPAWN_H_
