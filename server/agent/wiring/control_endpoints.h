// Where launchers and operators reach an agent: the control service and the
// launchers' socket on this machine, and on the network the control service and
// that for tools of other machines.
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
#include "server/relay/relay_service.h"
#include "server/security/credentials.h"

namespace canopy::agent {

// Loop thread only.
class ControlEndpoints {
 public:
  // `loop` and `job_manager` outlive it.
  ControlEndpoints(EventLoop* loop, control::JobManager* job_manager,
                   const control::AgentView& view);

  // The control service's socket in a runtime directory.
  static std::string SocketIn(const std::string& directory);

  // On the sockets in the runtime directory.
  Status StartLocal(const std::string& directory);
  // On the address of the configuration, or a port beside `link_address`. Its
  // peers are authenticated by TLS: without it there are neither of the
  // services. Once.
  Status StartNetwork(const bootstrap::v1::Config& config,
                      const std::string& link_address,
                      const security::SecurityConfig& security,
                      relay::RelayOptions relay);
  // HOST:PORT, after StartNetwork; empty before.
  const std::string& network_address() const {
    return network_server_.address();
  }

  // Before this process becomes another program: takes no more calls; answers
  // and events leave, as far as the sockets take them within a second.
  void FlushReplies();
  // Takes no more calls, and runs the loop until those under way have ended,
  // but no longer than two seconds.
  void Stop();

 private:
  EventLoop* const loop_;
  control::ControlService local_service_;
  control::ControlService network_service_;
  std::optional<relay::RelayService> relay_service_;
  control::ControlServer control_server_;
  control::RunServer run_server_;
  control::NetworkServer network_server_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_WIRING_CONTROL_ENDPOINTS_H_
