// Identifies the pod of the process at the other end of a Unix socket.
#ifndef CANOPY_SERVER_KUBERNETES_IDENTITY_PEER_POD_H_
#define CANOPY_SERVER_KUBERNETES_IDENTITY_PEER_POD_H_

#include <string>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::kubernetes {

struct PeerPod {
  std::string pod_uid;
  std::string container_id;  // empty: unknown
  int host_pid = 0;          // in the PID namespace of the procfs
  UniqueFd pidfd;            // readable when the process has ended
};

// The kernel provides every fact; the peer claims nothing. Users are not part
// of the identity: a pod is one trust domain, and user namespaces change the
// numbers. Two processes can still share an identity by their own will: a
// connection belongs to the process that made it, also if that process passes
// its descriptor on. Used by any thread.
class PeerPods {
 public:
  // `proc` is a procfs in whose PID namespace the peers are: "/proc", or the
  // mount of the host's procfs in an agent that has a PID namespace of its own.
  explicit PeerPods(std::string proc) : proc_(std::move(proc)) {}

  // Identifies the process that made the connection `socket`. Costs some system
  // calls and reads at most kMaxCgroupFile bytes.
  //
  // kErrLostConnection: the process has ended, although another process may
  // keep its descriptor.
  // kErrNoPermissions: the process belongs to no pod.
  // kErrNotFound: the process is in no PID namespace that `proc` shows, or
  // `proc` cannot be read.
  // kErrInvalidCred: `socket` is no connected Unix socket.
  // kErrOutOfResource: a file of `proc` is larger than the kernel makes it.
  // kErrNotSupported: the kernel is older than 6.5 and `proc` is not "/proc".
  //
  // With "/proc", older kernels are asked for the number of the process only.
  // There, a process that takes over the number of a peer which ends before
  // this call is mistaken for the peer.
  Result<PeerPod> Identify(int socket) const;

 private:
  const std::string proc_;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_IDENTITY_PEER_POD_H_
