// Two ends of a TCP connection within this process.
#ifndef CANOPY_SERVER_RPC_TCP_PAIR_H_
#define CANOPY_SERVER_RPC_TCP_PAIR_H_

#include <absl/status/statusor.h>

namespace canopy::rpc {

// Neither end blocks, nor survives an exec. The caller's to close.
struct TcpPair {
  int near = -1;
  int far = -1;
};

// Over the loopback interface. UNAVAILABLE when that is down, or descriptors
// are scarce.
absl::StatusOr<TcpPair> MakeTcpPair();

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_TCP_PAIR_H_
