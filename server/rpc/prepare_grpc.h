// gRPC's settings for the whole process.
#ifndef CANOPY_SERVER_RPC_PREPARE_GRPC_H_
#define CANOPY_SERVER_RPC_PREPARE_GRPC_H_

#include <poll.h>

namespace canopy::rpc {

// Silences gRPC, unless the environment sets GRPC_VERBOSITY. Must be called
// before other threads read the environment.
void QuietGrpc();

// Calls QuietGrpc and makes gRPC wait in `poll`, with its strategy of that
// name. Takes effect only before any other use of gRPC. Must be called once,
// before other threads read the environment.
void PrepareGrpc(int (*poll)(pollfd* fds, nfds_t count, int timeout_ms));

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_PREPARE_GRPC_H_
