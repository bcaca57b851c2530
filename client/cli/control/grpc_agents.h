// Agents reached by gRPC: agents of other machines, and a root that has taken
// over.
#ifndef CANOPY_CLIENT_CLI_CONTROL_GRPC_AGENTS_H_
#define CANOPY_CLIENT_CLI_CONTROL_GRPC_AGENTS_H_

#include <memory>

#include "client/cli/control/control_target.h"
#include "client/cli/control/remote_agents.h"

namespace canopy::cli {

// Begins the call Control.Run by gRPC, wherever the agent is, without waiting
// for the connection: if the agent cannot be reached, Read of the result
// returns false and WhyEnded has the reason. Fails only if the target's
// security cannot be set up (MakeControlChannel).
Result<std::unique_ptr<RunConnection>> DialRun(const ControlTarget& target);

class GrpcAgents : public RemoteAgents {
 public:
  void WarmUp() override;
  Result<std::unique_ptr<RunConnection>> DialRoot(const v1::Context& overlay,
                                                  int* member) override;
  Result<std::unique_ptr<RunConnection>> DialMember(const v1::Context& overlay,
                                                    int member) override;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_GRPC_AGENTS_H_
