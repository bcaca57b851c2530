// The control service on the agent's private Unix socket.
#ifndef CANOPY_SERVER_CONTROL_CONTROL_SERVER_H_
#define CANOPY_SERVER_CONTROL_CONTROL_SERVER_H_

#include <memory>
#include <string>

#include "common/status.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace canopy::control {

// Listens from Start until it is destroyed, and removes its socket then. Who
// may use it is decided by the directory that the socket is in.
class ControlServer {
 public:
  ControlServer();
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // `service` outlives the server.
  Status Start(const std::string& socket_path, grpc::Service* service);

 private:
  std::string path_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_CONTROL_SERVER_H_
