// Stream sockets in the file system, and who is at the other end.
#ifndef CANOPY_COMMON_POSIX_UNIX_SOCKET_H_
#define CANOPY_COMMON_POSIX_UNIX_SOCKET_H_

#include <sys/types.h>

#include <string>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy {

// What the kernel says about the process that made the connection.
struct PeerCredentials {
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
  pid_t pid = 0;   // 0: in no pid namespace that we can see
  UniqueFd pidfd;  // none on kernels before 6.5
};

// A listening, non-blocking socket at `path`, to which those may connect whom
// `mode` lets write, by default its owner alone. The socket is bound under a
// temporary name and renamed when it listens, so that a socket left there by an
// earlier process is replaced at once, and those who mounted the directory find
// the new one. No other user may be able to write the directory: then a link in
// it would be followed. kErrBadParam when the path is too long for a socket,
// kErrUnreach when the socket cannot be made.
Result<UniqueFd> ListenUnix(const std::string& path, int backlog,
                            mode_t mode = 0600);

// A connected, blocking socket.
Result<UniqueFd> ConnectUnix(const std::string& path);

Result<PeerCredentials> GetPeerCredentials(int fd);
// The user alone, which needs no descriptor.
Result<uid_t> GetPeerUser(int fd);

// True while the process behind a pidfd runs; true when there is no pidfd.
bool IsAlive(const UniqueFd& pidfd);

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_UNIX_SOCKET_H_
