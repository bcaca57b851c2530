// The socket of an agent for the commands of all users of its machine.
#ifndef CANOPY_SERVER_CONTROL_USER_GATEWAY_H_
#define CANOPY_SERVER_CONTROL_USER_GATEWAY_H_

#include <future>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/control/command_listener.h"
#include "server/control/user_connections.h"
#include "server/security/credentials.h"

namespace grpc {
class Server;
}

namespace canopy::control {

// Forwards calls of the control service to the members that they name
// (common/user_calls.h), each as a call of the user whom the kernel has
// identified for its connection. What that user may do is decided by the agent
// that executes the call. The connections and calls of each user are limited,
// and a connection without calls is closed after a minute. Loop thread only,
// unless noted otherwise.
class UserGateway {
 public:
  struct Options {
    std::string own_name;               // of this agent's member
    std::string own_socket;             // of this agent's control service
    security::SecurityConfig security;  // of calls to other members
  };

  explicit UserGateway(EventLoop* loop);
  ~UserGateway();
  UserGateway(const UserGateway&) = delete;
  UserGateway& operator=(const UserGateway&) = delete;

  // Listens at `path`, to which every user may connect. Returns
  // kErrServerFailedRequest if gRPC cannot start the server, and fails like
  // ListenUnix.
  Status Start(const std::string& path, Options options);
  // Sets the address of a member's control service; empty: it cannot be
  // reached. Any thread.
  void SetMember(const std::string& name, const std::string& address);
  // As the functions of ControlServer with these names.
  void LetAnswersLeave();
  std::future<void> Stop();

 private:
  class Service;

  UserConnections connections_;
  CommandListener listener_;
  std::shared_ptr<Service> service_;
  std::shared_ptr<grpc::Server> server_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_USER_GATEWAY_H_
