// Obtains from the kernel the identity of the other end of a TCP connection on
// this machine. The protocol carries only the peer's own claim.
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
  // Returns the owner of the peer of a connected socket; kErrNotFound if the
  // kernel no longer knows such a socket on this machine.
  virtual Result<SocketOwner> OwnerOf(int fd) = 0;
  // Returns true if the process `pid`, or a descendant of it, has the socket
  // open.
  virtual bool IsHeldBy(const SocketOwner& owner, int pid) = 0;
};

// Returns a proof that uses sock_diag, or /proc/net/tcp if that is denied, and
// searches the descriptors of the process tree in /proc. It works for peers in
// the agent's own network and pid namespaces, whose processes the agent may
// inspect. One IsHeldBy examines at most `max_lookups` descriptors, threads and
// processes, which takes about a tenth of a second; a socket beyond them is not
// found.
std::unique_ptr<PeerProof> MakeHostPeerProof(int max_lookups = 1 << 16);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_PEER_PROOF_H_
