// The user at the other end of a TCP connection of this machine, from the
// kernel.
#ifndef CANOPY_SERVER_NET_SOCKET_OWNER_H_
#define CANOPY_SERVER_NET_SOCKET_OWNER_H_

#include <cstdint>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::net {

struct SocketOwner {
  uint32_t uid = 0;
  uint64_t inode = 0;  // of the socket at the other end
};

// Asks sock_diag, or searches /proc/net/tcp where that is refused. Knows the
// sockets of its own network namespace. One thread at a time.
class SocketOwners {
 public:
  SocketOwners();

  // Of the peer of a connected TCP socket. kErrNotFound when the kernel knows no
  // such socket on this machine any more, kErrNotSupported when it does not say.
  Result<SocketOwner> OwnerOf(int fd) const;

 private:
  UniqueFd diag_;
};

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_SOCKET_OWNER_H_
