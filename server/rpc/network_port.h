// A port of gRPC that this process listens on itself.
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

// gRPC stops listening for good the first time that there is no descriptor for
// a connection, and serves whoever comes, however many. So connections are
// accepted here (server/net/network_listener.h) and handed over to the server,
// which does their TLS handshake. A connection is silent until its first call:
// one that brings none in time is ended. Loop thread only, but for Heard; the
// loop outlives it.
class NetworkPort {
 public:
  struct Options {
    // Lines for the log, at a limited rate. May be null.
    std::function<void(const std::string& line)> log;
    // As of net::NetworkListener.
    uint32_t unacknowledged_ms = 0;
    net::SilenceLimits limits = net::kNetworkLimits;
  };

  NetworkPort(EventLoop* loop, Options options);
  // Close.
  ~NetworkPort();
  NetworkPort(const NetworkPort&) = delete;
  NetworkPort& operator=(const NetworkPort&) = delete;

  // Reserves HOST:PORT. kErrUnreach: in use, or not an address of this host.
  Status Listen(const std::string& address);
  // 0 before Listen, and after Close.
  int port() const;

  // Connects the port with the server that `builder` is about to build.
  void AddTo(grpc::ServerBuilder* builder,
             std::shared_ptr<grpc::ServerCredentials> credentials);
  // The same, and each call of that server counts as Heard, at some cost for
  // each call.
  void AddWithCallsTo(grpc::ServerBuilder* builder,
                      std::shared_ptr<grpc::ServerCredentials> credentials);

  // Once the server is built: accepts from the next round on.
  void Open();
  // Before the server is shut down: accepts no more.
  void Close();

  // A call has come from that peer (grpc::ServerContext::peer). Any thread.
  void Heard(const std::string& peer);

 private:
  struct Shared;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_NETWORK_PORT_H_
