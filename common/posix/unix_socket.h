// Stream sockets in the file system, and the credentials of their peers.
#ifndef CANOPY_COMMON_POSIX_UNIX_SOCKET_H_
#define CANOPY_COMMON_POSIX_UNIX_SOCKET_H_

#include <sys/types.h>

#include <string>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy {

// The kernel's information about the process that made the connection.
struct PeerCredentials {
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
  pid_t pid = 0;   // 0: in no PID namespace that is visible here
  UniqueFd pidfd;  // none on kernels before 6.5
};

// Makes a listening, non-blocking socket at `path`. Users with write permission
// by `mode` may connect, by default only its owner. The socket is bound under a
// temporary name and renamed when it listens. The rename atomically replaces a
// socket that an earlier process left there, and processes that have mounted
// the directory find the new one. No other user may have write access to the
// directory, because a link in it would be followed. kErrBadParam: the path is
// too long for a socket; kErrUnreach: the socket cannot be made.
Result<UniqueFd> ListenUnix(const std::string& path, int backlog,
                            mode_t mode = 0600);

// Returns a connected, blocking, close-on-exec socket. Waits while the
// listener's backlog is full. kErrBadParam: the path is too long for a socket;
// kErrUnreach: no process listens there, or a system call failed.
Result<UniqueFd> ConnectUnix(const std::string& path);

// Returns the credentials of the process that made the connection `fd`.
Result<PeerCredentials> GetPeerCredentials(int fd);
// Returns only the user, which needs no descriptor.
Result<uid_t> GetPeerUser(int fd);

// Returns true while the process of the pidfd runs, and always if there is no
// pidfd.
bool IsAlive(const UniqueFd& pidfd);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_UNIX_SOCKET_H_
