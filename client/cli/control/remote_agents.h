// Access to remote agents: agents without a control socket on this machine.
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
  // Prepares the first call while agents start, so that the call is faster.
  virtual void WarmUp() = 0;
  // Connects to the root of a running overlay and stores its number in
  // `*member`. Waits while the root changes. Fails like ConnectRoot and
  // WaitUntilRoot (context_target.h).
  virtual Result<std::unique_ptr<RunConnection>> DialRoot(
      const v1::Context& overlay, int* member) = 0;
  // Begins a call at member `member`, an index of overlay.members(), without
  // waiting for the connection (RunConnection::Read reports a failure). Returns
  // kErrUnreach if the member has no address for this process: its socket on
  // this machine is gone, or it accepts no requests from other machines.
  virtual Result<std::unique_ptr<RunConnection>> DialMember(
      const v1::Context& overlay, int member) = 0;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_REMOTE_AGENTS_H_
