// Both ends of a TCP connection within this process.
#ifndef CANOPY_SERVER_RPC_TCP_PAIR_H_
#define CANOPY_SERVER_RPC_TCP_PAIR_H_

#include <absl/status/statusor.h>

namespace canopy::rpc {

// Both ends are non-blocking and close-on-exec. The caller closes them.
struct TcpPair {
  int near = -1;
  int far = -1;
};

// Connects two sockets over the loopback interface. Returns UNAVAILABLE if a
// system call fails (the interface is down, or descriptors are exhausted), and
// if another process has connected to the listening socket first.
absl::StatusOr<TcpPair> MakeTcpPair();

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_TCP_PAIR_H_
