// The agent's side of relayed tools: the gRPC service of protos/relay.proto.
#ifndef CANOPY_SERVER_RELAY_RELAY_SERVICE_H_
#define CANOPY_SERVER_RELAY_RELAY_SERVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/ids.h"
#include "common/posix/unique_fd.h"
#include "server/relay/byte_bridge.h"

namespace grpc {
class Service;
}

namespace canopy::relay {

// Takes over one end of a connection. The other end is a tool on another
// machine that has authenticated itself as this agent's user. Called on the
// loop thread.
using AdoptConnection = std::function<void(UniqueFd connection)>;

struct RelayOptions {
  ProcId server;     // the agent, as PMIx names it
  std::string host;  // the host name of its machine
  AdoptConnection adopt_libpmix;
  AdoptConnection adopt_openpmix;
  // The maximum number of connections at a time, those of libpmix and those of
  // OpenPMIx together.
  uint32_t max_connections = 128;
  BridgeOptions bridge;
};

// Created before the server starts and destroyed after it. `loop` must outlive
// the service. The server must admit only clients with the overlay's
// credentials.
class RelayService {
 public:
  RelayService(EventLoop* loop, RelayOptions options);
  ~RelayService();

  // Returns the service, to be registered with the server builder.
  grpc::Service* service();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy::relay

#endif  // CANOPY_SERVER_RELAY_RELAY_SERVICE_H_
