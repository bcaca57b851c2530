// File accesses of a privileged process in the name of a user.
#ifndef CANOPY_COMMON_POSIX_RUN_AS_USER_H_
#define CANOPY_COMMON_POSIX_RUN_AS_USER_H_

#include <sys/types.h>

#include <functional>

#include "common/status.h"

namespace canopy {

// Whose rights on files count. There are no supplementary groups: a user may
// have rights by such a group that are then missing, and never has one too
// many.
struct FileUser {
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
};

// The group of nobody, for a user of whom only the number is known.
inline constexpr gid_t kNoGroup = 65534;

// Whether this process is root, or has only put root's identity aside, as
// slurmstepd does for a while with seteuid.
bool IsPrivileged();

// Calls `work` with the rights of `user` on files, and returns when `work` has
// returned. All threads' locks, memory and descriptors are those of the caller.
//
// In a privileged process, and for a user who is not root, `work` runs in a
// thread of its own that the C library does not know, while the caller waits
// with all signals blocked. That thread has no capability, and a seteuid of
// another thread, which the C library carries out in each thread that it knows,
// does not give it root's rights back. Its real user is still root, so the user
// can neither signal nor trace it. `work` must not start threads, wait for
// another thread, or throw.
//
// In every other case the caller calls `work` itself.
//
// kErrNoPermissions: this process is not that user and cannot act as one, or it
// may not change groups or capabilities. kErrOutOfResource: there is no room
// for the thread. `work` has not been called then. Any thread.
Status RunAsUser(const FileUser& user, const std::function<void()>& work);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_RUN_AS_USER_H_
