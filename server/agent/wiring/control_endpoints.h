// The endpoints at which launchers and operators reach an agent. On this
// machine these are the control service, the launchers' socket and, if the
// agent serves all users, the socket for their commands; on the network, the
// control service and the service for tools of other machines.
#ifndef CANOPY_SERVER_AGENT_WIRING_CONTROL_ENDPOINTS_H_
#define CANOPY_SERVER_AGENT_WIRING_CONTROL_ENDPOINTS_H_

#include <optional>
#include <string>

#include "common/event_loop.h"
#include "common/status.h"
#include "protos/bootstrap.pb.h"
#include "server/control/control_server.h"
#include "server/control/control_service.h"
#include "server/control/job_manager.h"
#include "server/control/network_server.h"
#include "server/control/run_server.h"
#include "server/control/user_gateway.h"
#include "server/relay/relay_service.h"
#include "server/security/credentials.h"

namespace canopy::agent {

// Loop thread only.
class ControlEndpoints {
 public:
  // `loop` and `job_manager` outlive this object.
  ControlEndpoints(EventLoop* loop, control::JobManager* job_manager,
                   const control::AgentView& view);

  // Returns the path of the control service's socket in a runtime directory.
  static std::string SocketIn(const std::string& directory);

  // Listens on the sockets in the runtime directory. Fails if a socket cannot
  // be created.
  Status StartLocal(const std::string& directory);
  // Listens on the socket for all users in the runtime directory. Fails like
  // UserGateway::Start.
  Status StartUsers(const bootstrap::v1::Config& config,
                    const std::string& directory,
                    const security::SecurityConfig& security);
  // Sets the address of a member's control service, for the calls of users.
  void SetMember(const bootstrap::v1::NodeInfo& member) {
    user_gateway_.SetMember(member.name(), member.control_address());
  }
  // Listens on the address of the configuration. If that is empty, listens at
  // the host of `link_address` on any free port. Peers are authenticated by
  // TLS; without TLS none of the services exists. `others` are further services
  // for agents, which outlive this object. Called once. Fails like
  // NetworkServer::Start.
  Status StartNetwork(const bootstrap::v1::Config& config,
                      const std::string& link_address,
                      const security::SecurityConfig& security,
                      relay::RelayOptions relay,
                      const std::vector<grpc::Service*>& others);
  // Returns the HOST:PORT of the network services; empty before StartNetwork.
  const std::string& network_address() const {
    return network_server_.address();
  }

  // Accepts no more calls, and sends replies and events as far as the sockets
  // accept them within a second. Called before this process executes another
  // program.
  void FlushReplies();
  // Accepts no more calls, and runs the loop for at most two seconds until the
  // running calls have ended.
  void Stop();

 private:
  EventLoop* const loop_;
  control::ControlService local_service_;
  control::ControlService network_service_;
  std::optional<relay::RelayService> relay_service_;
  control::ControlServer control_server_;
  control::RunServer run_server_;
  control::NetworkServer network_server_;
  control::UserGateway user_gateway_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_WIRING_CONTROL_ENDPOINTS_H_
