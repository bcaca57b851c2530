// The child processes of canopy-shim: the processes that it started, and their
// orphaned descendants, which the kernel reparents to the shim.
#ifndef CANOPY_SERVER_SHIM_CHILDREN_H_
#define CANOPY_SERVER_SHIM_CHILDREN_H_

#include <sys/types.h>

#include <utility>
#include <vector>

#include "server/shim/rank_usage.h"

namespace canopy::process {

struct Child {
  pid_t pid = 0;
  pid_t group = 0;
};

// Returns the children of this process that have not been reaped, from /proc.
std::vector<Child> ListChildren();

// Sends a signal to every child and its process group. Only children that have
// not been reaped get the signal, because a PID cannot be reused before that.
void SignalChildren(int signal);

// Sends a signal to a process group whose leader was reaped, if a child still
// belongs to the group.
void SignalOrphanedGroup(pid_t group, int signal);

struct Reaped {
  pid_t pid = 0;
  int wait_status = 0;
  RankUsage used;
};

// Reaps every child that has ended. Sets *none_left if no child remains,
// running or ended.
std::vector<Reaped> ReapChildren(bool* none_left);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_CHILDREN_H_
