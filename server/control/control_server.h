// Serves the control service on the agent's private Unix socket.
#ifndef CANOPY_SERVER_CONTROL_CONTROL_SERVER_H_
#define CANOPY_SERVER_CONTROL_CONTROL_SERVER_H_

#include <future>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/control/command_listener.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace canopy::control {

// Listens from Start until its destruction. The agent accepts the connections
// itself, because gRPC would stop listening permanently if no descriptor were
// free for one connection. Loop thread only.
class ControlServer {
 public:
  explicit ControlServer(EventLoop* loop);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // Starts to listen. `service` must outlive the server. Returns
  // kErrServerFailedRequest if gRPC cannot start the server, and fails like
  // CommandListener::Start.
  Status Start(const std::string& socket_path, grpc::Service* service);
  // Called before this process executes another program. Accepts no more calls,
  // and waits for at most half a second until the finished replies have been
  // sent. Calls that this thread must answer do not end meanwhile.
  void LetAnswersLeave();
  // Accepts no more calls. The future becomes ready when the running calls have
  // ended; calls that wait for this thread do not end before this thread
  // handles them. The object must not be used afterwards.
  std::future<void> Stop();

 private:
  CommandListener listener_;
  // The server is shared with the thread that shuts it down.
  std::shared_ptr<grpc::Server> server_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_CONTROL_SERVER_H_
