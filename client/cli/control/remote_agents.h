// Access to remote agents: those without a control socket on this machine.
#ifndef CANOPY_CLIENT_CLI_CONTROL_REMOTE_AGENTS_H_
#define CANOPY_CLIENT_CLI_CONTROL_REMOTE_AGENTS_H_

#include <memory>

#include "client/cli/context/context.pb.h"
#include "client/cli/control/run_connection.h"
#include "common/status.h"

namespace canopy::cli {

class RemoteAgents {
 public:
  virtual ~RemoteAgents() = default;
  // Pays the cost of the first call in advance, while agents start.
  virtual void WarmUp() = 0;
  // Connects to the root of a running overlay and stores its number in
  // `*member`. Waits while the root changes.
  virtual Result<std::unique_ptr<RunConnection>> DialRoot(
      const v1::Context& overlay, int* member) = 0;
  virtual Result<std::unique_ptr<RunConnection>> DialMember(
      const v1::Context& overlay, int member) = 0;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_REMOTE_AGENTS_H_
