// A gRPC server without what linked libraries add to every one.
#ifndef CANOPY_SERVER_RPC_BARE_SERVER_H_
#define CANOPY_SERVER_RPC_BARE_SERVER_H_

namespace grpc {
class ServerBuilder;
}

namespace canopy::rpc {

// Leaves this server no service but those registered with it: no health, which
// is on by default, and no reflection, which its library adds. Either would
// bring queues and threads of its own that poll the server's connections too.
// Until the server is built, no other thread may build one.
void MakeBare(grpc::ServerBuilder* builder);

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_BARE_SERVER_H_
