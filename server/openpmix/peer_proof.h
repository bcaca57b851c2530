// Identity of the other end of a TCP connection on this machine, from the
// kernel. The protocol carries only the peer's own claim.
#ifndef CANOPY_SERVER_OPENPMIX_PEER_PROOF_H_
#define CANOPY_SERVER_OPENPMIX_PEER_PROOF_H_

#include <memory>

#include "common/status.h"
#include "server/net/socket_owner.h"

namespace canopy::openpmix {

using net::SocketOwner;

class PeerProof {
 public:
  virtual ~PeerProof() = default;
  // Of the peer of a connected socket. kErrNotFound when the kernel knows no
  // such socket on this machine any more.
  virtual Result<SocketOwner> OwnerOf(int fd) = 0;
  // True when that process, or one that descends from it, has the socket open.
  virtual bool IsHeldBy(const SocketOwner& owner, int pid) = 0;
};

// Asks sock_diag, or /proc/net/tcp where that is refused, and looks at the
// descriptors of the process tree in /proc. For peers in the agent's own
// network and pid namespaces, and of a user whose processes it may look at.
// Looks at `max_lookups` descriptors, threads and processes for one IsHeldBy, a
// tenth of a second at most; a socket beyond them is not found.
std::unique_ptr<PeerProof> MakeHostPeerProof(int max_lookups = 1 << 16);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_PEER_PROOF_H_
