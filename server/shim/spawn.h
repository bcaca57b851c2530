// Starts one process like posix_spawn, and in addition binds it to CPUs, sets
// its credentials and reports the step that failed.
#ifndef CANOPY_SERVER_SHIM_SPAWN_H_
#define CANOPY_SERVER_SHIM_SPAWN_H_

#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "common/job_request.h"
#include "server/shim/cpuset.h"

namespace canopy::process {

// The user and the groups of a process.
struct Credentials {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
};

// Sets the credentials of the calling process. Returns false and sets errno on
// failure. Called only in a process with a single thread, or in a child before
// its exec.
bool AssumeCredentials(const Credentials& who);

// The parameters of a new process. The struct owns nothing; all objects must
// live until Spawn returns.
struct SpawnRequest {
  const char* path = nullptr;   // not searched in PATH
  char* const* argv = nullptr;  // null-terminated
  char* const* envp = nullptr;  // null-terminated
  const char* cwd = nullptr;    // null: the caller's directory
  int stdio[3] = {-1, -1, -1};  // become 0, 1 and 2
  std::vector<int> inherited;   // become 3, 4, ...; must be above these numbers
  const CpuMask* cpus = nullptr;             // null: the caller's mask
  const Credentials* credentials = nullptr;  // null: the caller's credentials
  rlimit nofile = {};  // RLIMIT_NOFILE, unless the policies have another one
  const ProcessPolicies* policies = nullptr;  // null: none
  // True if the process is to be stopped (SIGSTOP) before the first instruction
  // of the program, where any process of the same user may trace it.
  bool stop = false;
  // stdio[0] is a terminal, which becomes the process's controlling terminal;
  // the process leads a session of its own.
  bool controls_terminal = false;
};

enum class SpawnStep {
  kNone,
  kClone,
  kGroup,
  kBind,
  kCredentials,
  kLimits,
  kPolicies,
  kDescriptors,
  kTerminal,
  kDirectory,
  kTrace,
  kExec,
};

struct SpawnResult {
  pid_t pid = -1;  // the new process, in its own process group
  SpawnStep failed = SpawnStep::kNone;
  int error = 0;  // errno of the failed step
};

// Starts a process with default signal dispositions, an empty signal mask and,
// of the caller's descriptors, only those of the request. All other descriptors
// must be close-on-exec, and the caller must have default signal dispositions
// only. A file that the kernel cannot execute and that names no interpreter is
// passed to /bin/sh, as execvp does. Any thread; blocks until the exec.
SpawnResult Spawn(const SpawnRequest& request);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_SPAWN_H_
