// File accesses of a privileged process on behalf of a user.
#ifndef CANOPY_COMMON_POSIX_RUN_AS_USER_H_
#define CANOPY_COMMON_POSIX_RUN_AS_USER_H_

#include <sys/types.h>

#include <functional>

#include "common/status.h"

namespace canopy {

// The identity whose rights on files apply. There are no supplementary groups.
// So rights that the user has by such a group are missing, but no right is
// added.
struct FileUser {
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
};

// The group of the user `nobody`, for a user of whom only the number is known.
inline constexpr gid_t kNoGroup = 65534;

// Returns true if this process is root, or has only temporarily dropped root's
// identity, as slurmstepd does with seteuid.
bool IsPrivileged();

// Calls `work` with the file access rights of `user`, and returns when `work`
// has returned. Memory, locks and descriptors are those of the caller.
//
// In a privileged process, and for a user other than root, `work` runs in a
// separate thread that the C library does not know, while the caller waits with
// all signals blocked. That thread has no capabilities. A seteuid by another
// thread, which the C library applies to each thread that it knows, does not
// give it root's rights back. Its real user is still root, so the user can
// neither signal nor trace it. `work` must not start threads, wait for another
// thread, or throw.
//
// In every other case the caller itself calls `work`.
//
// kErrNoPermissions: this process is not that user and cannot act as one, or it
// may not change groups or capabilities. kErrOutOfResource: the thread could
// not be made. In both cases `work` was not called. Any thread.
Status RunAsUser(const FileUser& user, const std::function<void()>& work);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_RUN_AS_USER_H_
