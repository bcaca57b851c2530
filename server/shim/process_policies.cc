#include "server/shim/process_policies.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/posix/raw_clone.h"

namespace canopy::process {
namespace {

// Sets a soft limit. Uses system calls, because the child may share the memory
// of its parent.
CANOPY_NO_SANITIZE bool SetSoftLimit(const ResourceLimit& wanted) {
  rlimit limit = {};
  if (syscall(SYS_prlimit64, 0, wanted.resource, nullptr, &limit) != 0) {
    return false;
  }
  limit.rlim_cur = wanted.soft < limit.rlim_max ? wanted.soft : limit.rlim_max;
  return syscall(SYS_prlimit64, 0, wanted.resource, &limit, nullptr) == 0;
}

}  // namespace

CANOPY_NO_SANITIZE bool ApplyPolicies(const ProcessPolicies& policies) {
  if (policies.umask) syscall(SYS_umask, *policies.umask);
  for (const ResourceLimit& limit : policies.limits) {
    if (!SetSoftLimit(limit)) return false;
  }
  const auto& nice = policies.nice;
  return !nice || syscall(SYS_setpriority, PRIO_PROCESS, 0, nice->value) == 0;
}

std::string PolicyFailure(const ProcessPolicies& policies, int error) {
  if (policies.nice && (error == EACCES || error == EPERM)) {
    return "nice value " + std::to_string(policies.nice->value) +
           " is lower than this user may have here (see RLIMIT_NICE in "
           "'man setrlimit')";
  }
  return std::string("cannot set the umask and the resource limits: ") +
         std::strerror(error);
}

}  // namespace canopy::process
