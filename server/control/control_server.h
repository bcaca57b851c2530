// The control service on the agent's private Unix socket.
#ifndef CANOPY_SERVER_CONTROL_CONTROL_SERVER_H_
#define CANOPY_SERVER_CONTROL_CONTROL_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace canopy::control {

// Listens from Start until it is destroyed, and removes its socket then. Serves
// this user and root, as the kernel says who they are. Connections are accepted
// here and not by gRPC, which stops listening for good the first time that
// there is no descriptor for one. Some are held in reserve, so that callers are
// still answered when all others are used up. Loop thread.
class ControlServer {
 public:
  explicit ControlServer(EventLoop* loop);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // `service` outlives the server.
  Status Start(const std::string& socket_path, grpc::Service* service);

 private:
  void OnConnections();
  UniqueFd Accept();
  UniqueFd AcceptFromReserve();
  void Reserve();

  EventLoop* const loop_;
  std::string path_;
  UniqueFd listener_;
  std::vector<UniqueFd> reserve_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_CONTROL_SERVER_H_
