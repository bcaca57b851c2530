// Determines the user at the other end of a TCP connection within this machine.
// The kernel provides the information.
#ifndef CANOPY_SERVER_NET_SOCKET_OWNER_H_
#define CANOPY_SERVER_NET_SOCKET_OWNER_H_

#include <cstdint>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::net {

struct SocketOwner {
  uint32_t uid = 0;
  uint64_t inode = 0;  // inode of the socket at the other end
};

// Uses sock_diag, or searches /proc/net/tcp if that is refused. Finds only
// sockets of its own network namespace. Used by one thread at a time.
class SocketOwners {
 public:
  SocketOwners();

  // Returns the owner of the peer of a connected TCP socket. kErrNotFound: the
  // kernel has no such socket on this machine; kErrNotSupported: the kernel
  // gives no information.
  Result<SocketOwner> OwnerOf(int fd) const;

 private:
  UniqueFd diag_;
};

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_SOCKET_OWNER_H_
