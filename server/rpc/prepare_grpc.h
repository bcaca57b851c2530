// gRPC's settings for the whole process.
#ifndef CANOPY_SERVER_RPC_PREPARE_GRPC_H_
#define CANOPY_SERVER_RPC_PREPARE_GRPC_H_

#include <poll.h>

namespace canopy::rpc {

// Silences gRPC, unless the environment sets GRPC_VERBOSITY. Before other
// threads read the environment.
void QuietGrpc();

// QuietGrpc, and makes gRPC wait in `poll`, by its strategy of that name. Must
// come before any other use of gRPC to have its effect, and before other
// threads read the environment. Once.
void PrepareGrpc(int (*poll)(pollfd* fds, nfds_t count, int timeout_ms));

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_PREPARE_GRPC_H_
