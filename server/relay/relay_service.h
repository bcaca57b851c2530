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

// Takes one end of a connection whose other end is a tool on another machine,
// which has proved to be this agent's user. Loop thread.
using AdoptConnection = std::function<void(UniqueFd connection)>;

struct RelayOptions {
  ProcId server;     // the agent, as PMIx names it
  std::string host;  // what its machine calls itself
  AdoptConnection adopt_libpmix;
  AdoptConnection adopt_openpmix;
  // At a time, of both kinds.
  uint32_t max_connections = 128;
  BridgeOptions bridge;
};

// Made before the server starts; outlives it. `loop` outlives the service. The
// server admits nobody but who has the overlay's credentials.
class RelayService {
 public:
  RelayService(EventLoop* loop, RelayOptions options);
  ~RelayService();

  // To register with the server builder.
  grpc::Service* service();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy::relay

#endif  // CANOPY_SERVER_RELAY_RELAY_SERVICE_H_
