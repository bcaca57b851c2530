// A gRPC server without the services that linked libraries add to every server.
#ifndef CANOPY_SERVER_RPC_BARE_SERVER_H_
#define CANOPY_SERVER_RPC_BARE_SERVER_H_

namespace grpc {
class ServerBuilder;
}

namespace canopy::rpc {

// Removes all services that were not registered with this server: the health
// service, which is on by default, and reflection, which its library adds. Each
// of them would bring queues and threads that also poll the server's
// connections. Until this server is built, no other thread may build a server.
void MakeBare(grpc::ServerBuilder* builder);

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_BARE_SERVER_H_
