// The processes that canopy-shim is parent of: those it started, and orphaned
// descendants of theirs that the kernel gave to it.
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

// Children of this process, not yet reaped, from /proc.
std::vector<Child> ListChildren();

// Sends a signal to every child and its process group. Only children that were
// not reaped are named to the kernel, so no number can have been reused.
void SignalChildren(int signal);

// Sends a signal to a process group whose leader was reaped, if a child is
// still in it.
void SignalOrphanedGroup(pid_t group, int signal);

struct Reaped {
  pid_t pid = 0;
  int wait_status = 0;
  RankUsage used;
};

// Reaps every child that has ended. Sets *none_left when there is no child any
// more, ended or not.
std::vector<Reaped> ReapChildren(bool* none_left);

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_CHILDREN_H_
