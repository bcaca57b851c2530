// A TCP port of a gRPC server, on which this process listens itself.
#ifndef CANOPY_SERVER_RPC_NETWORK_PORT_H_
#define CANOPY_SERVER_RPC_NETWORK_PORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/net/network_listener.h"

namespace grpc {
class ServerBuilder;
class ServerCredentials;
}  // namespace grpc

namespace canopy::rpc {

// gRPC stops listening for good the first time that it has no descriptor for a
// connection, and it serves any number of connections from anyone. So
// connections are accepted here (server/net/network_listener.h) and then passed
// to the server, which makes the TLS handshake. A connection counts as silent
// until its first call, and is closed if no call comes in time. Loop thread
// only, except Heard. The loop must outlive this object.
class NetworkPort {
 public:
  struct Options {
    // Gets lines for the log, at a limited rate. May be null.
    std::function<void(const std::string& line)> log;
    // See net::NetworkListener::Options.
    uint32_t unacknowledged_ms = 0;
    net::SilenceLimits limits = net::kNetworkLimits;
  };

  NetworkPort(EventLoop* loop, Options options);
  // Calls Close.
  ~NetworkPort();
  NetworkPort(const NetworkPort&) = delete;
  NetworkPort& operator=(const NetworkPort&) = delete;

  // Reserves HOST:PORT. Returns kErrUnreach if it is in use or not an address
  // of this host.
  Status Listen(const std::string& address);
  // Returns 0 before Listen and after Close.
  int port() const;

  // Connects the port to the server that `builder` is about to build.
  void AddTo(grpc::ServerBuilder* builder,
             std::shared_ptr<grpc::ServerCredentials> credentials);
  // Like AddTo; in addition, each call of that server counts as Heard, which
  // has some cost for each call.
  void AddWithCallsTo(grpc::ServerBuilder* builder,
                      std::shared_ptr<grpc::ServerCredentials> credentials);

  // Accepts connections from the next round on. Called when the server is
  // built.
  void Open();
  // Stops accepting connections. Called before the server is shut down.
  void Close();

  // Records that a call has come from this peer (in the notation of
  // grpc::ServerContext::peer). Any thread.
  void Heard(const std::string& peer);

 private:
  struct Shared;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_NETWORK_PORT_H_
