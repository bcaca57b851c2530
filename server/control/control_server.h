// The control service on the agent's private Unix socket.
#ifndef CANOPY_SERVER_CONTROL_CONTROL_SERVER_H_
#define CANOPY_SERVER_CONTROL_CONTROL_SERVER_H_

#include <future>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/control/trusted_listener.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace canopy::control {

// Listens from Start until it is destroyed. Connections are accepted here and
// not by gRPC, which stops listening for good the first time that there is no
// descriptor for one. Loop thread.
class ControlServer {
 public:
  explicit ControlServer(EventLoop* loop);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // `service` outlives the server.
  Status Start(const std::string& socket_path, grpc::Service* service);
  // Before this process becomes another program: takes no more calls, and waits
  // until what has been answered is on its way, but no longer than half a
  // second. Calls that this thread has to answer do not end meanwhile.
  void LetAnswersLeave();
  // Takes no more calls. The result is there when those under way have ended,
  // which those do not that wait for this thread. This object is of no further
  // use.
  std::future<void> Stop();

 private:
  TrustedListener listener_;
  // Shared with whoever shuts it down.
  std::shared_ptr<grpc::Server> server_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_CONTROL_SERVER_H_
